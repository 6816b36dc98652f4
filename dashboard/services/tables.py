"""Frames on their way to the screen and to a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["containing", "csv"]

_FORMULA = re.compile(r"^[=+\-@\t\r]")


def containing(frame: pd.DataFrame, words: str) -> pd.DataFrame:
    """The rows in which every word occurs somewhere, whatever its case."""
    for word in words.split():
        hit = False
        for column in frame.columns:
            hit |= frame[column].astype(str).str.contains(word, case=False, regex=False).to_numpy()
        frame = frame[hit]
    return frame


def csv(frame: pd.DataFrame) -> bytes:
    """A CSV in UTF-8 whose texts no spreadsheet takes for a formula."""
    safe = frame.copy()
    for column in safe.columns:
        if not safe[column].dtype.kind in "biufM":
            safe[column] = [f"'{v}" if isinstance(v, str) and _FORMULA.match(v) else v for v in safe[column]]
    return safe.to_csv(index=False).encode()
