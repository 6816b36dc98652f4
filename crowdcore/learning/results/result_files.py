"""A result as a folder: ``result.json``, ``history.parquet``, ``arrays.safetensors``, ``model.safetensors``."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training.inputs import Preparation

__all__ = ["load_result", "save_result"]

_FORMAT = 1
_ARRAYS = (
    "task",
    "split",
    "gold",
    "valid_label",
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
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, AnyArray] = {n: getattr(result, n) for n in _ARRAYS if getattr(result, n) is not None}
    arrays |= {f"{table}.{name}": v for table in _TABLES for name, v in getattr(result, table).items()}
    arrays |= {"preparation.mean": result.preparation.mean, "preparation.scale": result.preparation.scale}
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / "arrays.safetensors")
    save_file({k: np.ascontiguousarray(v) for k, v in result.model.items()}, folder / "model.safetensors")
    columns = {f"{name}/{s}": rows[:, s] for name, rows in result.curves.items() for s in range(rows.shape[1])}
    pd.DataFrame(columns).to_parquet(folder / "history.parquet")
    plain = {f.name: getattr(result, f.name) for f in fields(result) if f.name not in _APART}
    head: dict[str, Any] = {"format": _FORMAT, "image": result.preparation.image, **plain}
    (folder / "result.json").write_text(json.dumps(head, indent=1), encoding="utf-8")
    return folder


def load_result(folder: Path | str) -> TrainingResult:
    """Read what `TrainingResult.save` wrote.

    Raises:
        DataError: no result there, or broken files.
    """
    folder = Path(folder)
    try:
        head = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        arrays, model = load_file(folder / "arrays.safetensors"), load_file(folder / "model.safetensors")
        table = pd.read_parquet(folder / "history.parquet")
    except (OSError, ValueError, SafetensorError) as error:
        raise DataError(f"There is no training result that can be read: {error}", file=folder) from error
    if head.pop("format") != _FORMAT:
        raise DataError("This result was written by another version of crowdcore", file=folder)
    n = len(head["seeds"])
    names = dict.fromkeys(c.rsplit("/", 1)[0] for c in table.columns)
    parts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head.items() if k != "image"}
    parts |= {name: arrays[name] for name in _ARRAYS if name in arrays}
    for kind in _TABLES:
        parts[kind] = {k.removeprefix(f"{kind}."): v for k, v in arrays.items() if k.startswith(f"{kind}.")}
    if not parts["names"]:  # written before classes could be named by gold
        order = np.tile(np.arange(len(head["classes"])), (n, 1))
        parts["names"] = {"selected": order, "last": order}
    return TrainingResult(
        **parts,
        curves={name: table[[f"{name}/{s}" for s in range(n)]].to_numpy() for name in names},
        preparation=Preparation(head["image"], arrays["preparation.mean"], arrays["preparation.scale"]),
        model=model,
    )
