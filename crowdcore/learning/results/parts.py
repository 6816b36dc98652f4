"""The files of a result: ``result.json``, ``history.parquet``, ``arrays.safetensors``, ``model.safetensors``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray


class Parts(NamedTuple):
    """What is written, one file each; nothing is pickled.

    Attributes:
        head: plain values, for JSON.
        arrays: name -> array.
        model: parameter -> (S, ...).
        curves: name -> (epochs, S).
    """

    head: dict[str, Any]
    arrays: dict[str, AnyArray]
    model: dict[str, AnyArray]
    curves: dict[str, AnyArray]

    def write(self, folder: Path) -> Path:
        """Write all files to a folder; returns it."""
        from safetensors.numpy import save_file  # what a result is can be told without this package

        folder.mkdir(parents=True, exist_ok=True)
        for arrays, file in ((self.arrays, "arrays"), (self.model, "model")):
            save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / f"{file}.safetensors")
        columns = {f"{name}/{s}": rows[:, s] for name, rows in self.curves.items() for s in range(rows.shape[1])}
        pd.DataFrame(columns).to_parquet(folder / "history.parquet")
        (folder / "result.json").write_text(json.dumps(self.head, indent=1), encoding="utf-8")
        return folder

    @staticmethod
    def format_of(folder: Path) -> object:
        """The format that a folder's head names; None where there is no head that can be read."""
        try:
            return json.loads((folder / "result.json").read_text(encoding="utf-8")).get("format")
        except (OSError, ValueError, AttributeError):
            return None

    @classmethod
    def read(cls, folder: Path, noun: str) -> Parts:
        """Read what `write` wrote.

        Raises:
            DataError: no such files, or broken ones.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            head = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            arrays, model = load_file(folder / "arrays.safetensors"), load_file(folder / "model.safetensors")
            table = pd.read_parquet(folder / "history.parquet")
        except (OSError, ValueError, SafetensorError) as error:
            raise DataError(f"There is no {noun} that can be read: {error}", file=folder) from error
        columns: dict[str, list[str]] = {}
        for column in table.columns:
            columns.setdefault(column.rpartition("/")[0], []).append(column)
        return cls(head, arrays, model, {name: table[seeds].to_numpy() for name, seeds in columns.items()})
