"""Frames on their way to the screen and to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["containing", "csv"]


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
