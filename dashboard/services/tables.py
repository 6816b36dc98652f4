"""Frames and folders on their way to the screen and to a file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["containing", "csv", "zipped"]


def containing(frame: pd.DataFrame, words: str) -> pd.DataFrame:
    """The rows in which every word occurs somewhere, whatever its case."""
    for word in words.split():
        hit = np.zeros(len(frame), bool)
        for column in frame.columns:
            hit |= frame[column].astype(str).str.contains(word, case=False, regex=False).to_numpy(bool)
        frame = frame.loc[hit]
    return frame


def csv(frame: pd.DataFrame) -> bytes:
    """A CSV in UTF-8 whose texts no spreadsheet takes for a formula."""
    from crowdcore.data.formulas import neutralise

    return neutralise(frame).to_csv(index=False).encode()


def zipped(folder: Path, within: str = "") -> bytes:
    """The files of a folder as a ZIP, in which they lie in a folder of that name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(f for f in folder.rglob("*") if f.is_file()):
            packed.write(file, Path(within) / file.relative_to(folder))
    return out.getvalue()
