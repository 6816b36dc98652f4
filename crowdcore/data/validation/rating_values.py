"""What the labels of a file of ratings are, before anybody says their range or the order of their words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.data.dictionary import clean
from crowdcore.data.settings import RatingSettings
from crowdcore.data.validation.examine import open_source, read_source

_WORDS = 50  # more of them are no levels


@dataclass(frozen=True)
class RatingValues:
    """The labels that a file of ratings holds.

    Args:
        columns: the columns of the file.
        roles: role -> column.
        low, high: of those that are numbers, None if fewer than half of the distinct ones are.
        words: the others, the first 50, in their order in the file.
    """

    columns: tuple[str, ...]
    roles: dict[str, str]
    low: float | None
    high: float | None
    words: tuple[str, ...]


def rating_values(path: str | Path, **mapping: Any) -> RatingValues:
    """The distinct labels of a file of ratings; ``mapping`` as for `examine_ratings`, the range may be missing.

    Raises:
        MappingError: the columns do not say what they hold.
        DataError: no table, or a damaged one.
    """
    settings = RatingSettings(**mapping)
    raw = read_source(open_source(path, settings), settings, None)
    found = clean(raw.label, raw.missing, raw.escaped).codes.values.to_pandas()
    numbers = pd.to_numeric(found, errors="coerce").replace([np.inf, -np.inf], np.nan)
    known = numbers.dropna()
    words = tuple(found[numbers.isna()][:_WORDS])
    if 2 * len(known) < len(found) or known.empty:
        return RatingValues(raw.columns, raw.roles, None, None, tuple(found[:_WORDS]))
    return RatingValues(raw.columns, raw.roles, float(known.min()), float(known.max()), words)
