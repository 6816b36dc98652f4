"""The numbers that labels say, and the range that they must lie in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dictionary import Codes, NumberColumn, strings
from crowdcore.data.lookups import gather
from crowdcore.data.readers import Raw
from crowdcore.data.settings import RatingSettings
from crowdcore.data.tables.base import Arrow

_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?$"  # as Arrow reads it; other ways to write one are left to pandas


def rating_range(raw: Raw, settings: RatingSettings) -> tuple[float, float]:
    """The range that was given, that of the levels, or that of the folder.

    Raises:
        DataError: none of them says it.
    """
    if settings.low is not None and settings.high is not None:
        return settings.low, settings.high
    if settings.levels is not None:
        return 1.0, float(len(settings.levels))
    if raw.rating_range is None and raw.classes is not None:
        listed = ", ".join(raw.classes[:5]) + (" …" if len(raw.classes) > 5 else "")
        remedy = "Read them with load_dataset or read_dataset; if they are numbers, pass low=… and high=…."
        raise DataError(f"The labels are classes ({listed}), not ratings", remedy, file=raw.path)
    if raw.rating_range is None:
        remedy = (
            "Pass it with low=… and high=…; of words such as bad and good, list all with levels=…, from low to high."
        )
        raise DataError("The range of the ratings is not known", remedy, file=raw.path)
    return raw.rating_range


def rating_numbers(column: Codes, settings: RatingSettings, low: float, high: float) -> FloatArray:
    """(n,) the number that each row says, NaN where it says none, and where it is missing."""
    if settings.levels is None and isinstance(column, NumberColumn):
        return column.numbers
    return gather(numbers_by_value(column, settings, low, high), column.codes)


def numbers_by_value(column: Codes, settings: RatingSettings, low: float, high: float) -> FloatArray:
    """(n_values + 1,) the number that each distinct label says, NaN where it says none, and for a missing one."""
    if settings.levels is not None:
        place = np.asarray(pc.index_in(column.values, value_set=strings(settings.levels)).fill_null(-1))
        values = np.append(np.linspace(low, high, len(settings.levels)), np.nan)[place]
    else:
        values = column.distinct if isinstance(column, NumberColumn) else _as_numbers(column.values)
    return np.append(values, np.nan)


def inside_range(numbers: FloatArray, low: float, high: float) -> BoolArray:
    """Which numbers can be given."""
    return np.asarray((numbers >= low) & (numbers <= high))


def _as_numbers(values: Arrow) -> FloatArray:
    """(n,) the number that each string says, NaN where it says none."""
    plain = np.asarray(pc.match_substring_regex(values, _NUMBER).fill_null(False))
    if plain.all():
        return np.asarray(values.cast(pa.float64()))
    numbers = np.full(len(values), np.nan)
    numbers[plain] = np.asarray(values.filter(pa.array(plain)).cast(pa.float64()))
    numbers[~plain] = pd.to_numeric(values.filter(pa.array(~plain)).to_pandas(), errors="coerce")
    return numbers
