"""A result as a folder: ``result.json``, ``history.parquet``, ``arrays.safetensors``, ``model.safetensors``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray
from crowdcore.learning.results.parts import Parts
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training.inputs import Preparation

_FORMAT = 1
_ARRAYS = (
    "task",
    "split",
    "gold",
    "valid_label",
    "sentence",
    "selected_epoch",
    "last_epoch",
    "worker_confusion",
    "common_confusion",
    "omega",
    "worker_weight",
    "group",
    "correction",
    "difficulty",
    "q",
    "kept_epochs",
)
_TABLES = ("probabilities", "last", "kept", "names", "start_loss")
_APART = {"curves", "model", "preparation", *_ARRAYS, *_TABLES}


def save_result(result: TrainingResult, folder: Path) -> Path:
    """Write a result; nothing is pickled."""
    arrays: dict[str, AnyArray] = {n: getattr(result, n) for n in _ARRAYS if getattr(result, n) is not None}
    arrays |= {f"{table}.{name}": v for table in _TABLES for name, v in getattr(result, table).items()}
    arrays |= {"preparation.mean": result.preparation.mean, "preparation.scale": result.preparation.scale}
    plain = {f.name: getattr(result, f.name) for f in fields(result) if f.name not in _APART}
    head = {"format": _FORMAT, "image": result.preparation.image, **plain}
    return Parts(head, arrays, result.model, result.curves).write(folder)


def load_result(folder: Path | str) -> TrainingResult:
    """Read what `TrainingResult.save` wrote.

    Raises:
        DataError: no result there, or broken files.
    """
    folder = Path(folder)
    head, arrays, model, curves = Parts.read(folder, "training result")
    if head.pop("format") != _FORMAT:
        raise DataError("This result was written by another version of crowdcore", file=folder)
    parts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head.items() if k != "image"}
    parts |= {name: arrays[name] for name in _ARRAYS if name in arrays}
    for kind in _TABLES:
        parts[kind] = {k.removeprefix(f"{kind}."): v for k, v in arrays.items() if k.startswith(f"{kind}.")}
    if not parts["names"]:  # written before classes could be named by gold
        order = np.tile(np.arange(len(head["classes"])), (len(head["seeds"]), 1))
        parts["names"] = {"selected": order, "last": order}
    return TrainingResult(
        **parts,
        curves=curves,
        preparation=Preparation(head["image"], arrays["preparation.mean"], arrays["preparation.scale"]),
        model=model,
    )
