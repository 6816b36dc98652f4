"""A result as a folder: ``result.json``, ``history.parquet``, ``arrays.safetensors``, ``model.safetensors``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results.result import Result, TrainingResult
from crowdcore.learning.training.inputs import Preparation

_FORMATS: Mapping[Any, type[Result]] = {kind.FORMAT: kind for kind in (TrainingResult, RatingsResult)}


def load_result(folder: Path | str) -> TrainingResult | Any:
    """Read what `Result.save` wrote.

    Returns:
        A `TrainingResult`, or a `RatingsResult` where the labels are numbers.

    Raises:
        DataError: no result there, or broken files.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(folder)
    try:
        head = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        arrays, model = load_file(folder / "arrays.safetensors"), load_file(folder / "model.safetensors")
        table = pd.read_parquet(folder / "history.parquet")
        kind = _FORMATS.get(head.pop("format", None))
    except (OSError, ValueError, AttributeError, TypeError, SafetensorError) as error:
        raise DataError(f"There is no training result that can be read: {error}", file=folder) from error
    if kind is None:
        raise DataError("This result was written by another version of crowdcore", file=folder)
    columns: dict[str, list[str]] = {}
    for column in table.columns:
        columns.setdefault(column.rpartition("/")[0], []).append(column)
    parts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head.items() if k != "image"}
    parts |= {name: arrays[name] for name in kind.ARRAYS if name in arrays}
    parts |= {name: _nested(name, arrays) for name in kind.TABLES}
    if "image" in head:
        parts["preparation"] = Preparation(head["image"], arrays["preparation.mean"], arrays["preparation.scale"])
    return kind(**parts, curves={name: table[seeds].to_numpy() for name, seeds in columns.items()}, model=model)


def load_ratings_result(folder: Path | str) -> RatingsResult:
    """`load_result` of a result on ratings.

    Raises:
        DataError: no such result there, or broken files.
    """
    result = load_result(folder)
    if not isinstance(result, RatingsResult):
        raise DataError("This is not a result of ratings", file=folder)
    return result


def _nested(name: str, arrays: Mapping[str, AnyArray]) -> dict[str, Any]:
    """Table of that name, from arrays by their path."""
    table: dict[str, Any] = {}
    for path, array in arrays.items():
        first, *keys = path.split(".", 2) if name == "workers" else path.split(".", 1)
        if first == name:
            inner = table
            for key in keys[:-1]:
                inner = inner.setdefault(key, {})
            inner[keys[-1]] = array
    return table
