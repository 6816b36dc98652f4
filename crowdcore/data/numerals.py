"""Numbers and their spelling: values of any type as text, and texts that are numbers which mostly differ as numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read

_LOOK = 1000  # rows that tell whether a closer look pays


def as_numbers(column: Arrow, known: bool = False) -> FloatArray | None:
    """(n,) float64 from a pyarrow (chunked) array of doubles or of texts; None where names are the better choice.

    That is so where most repeat (of doubles, whose names would have to be made, nine in ten), some are missing, or a
    text is not the shortest spelling of its number, from which it could not be made again.

    Args:
        column: the rows.
        known: rows before these are numbers that mostly differ.
    """
    kind = column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if column.null_count or not (text or pa.types.is_float64(kind)):
        return None
    begin = column.slice(0, _LOOK)
    if not known and ((2 if text else 10) * len(begin.unique()) < _LOOK or _numbers(begin, text) is None):
        return None
    return _numbers(column, text)


def begins_with_numbers(column: Arrow) -> bool:
    """Whether `as_numbers` takes the first rows of a column."""
    return as_numbers(column.slice(0, _LOOK)) is not None


def _numbers(column: Arrow, text: bool) -> FloatArray | None:
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    if text and not pc.all(pc.equal(numbers.cast(column.type), column)).as_py():
        return None
    found = np.asarray(numbers)
    known = np.isfinite(found).all() and not np.signbit(found[found == 0]).any()  # 0 and -0 are one number, two texts
    return found if known else None


def numbered(column: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct numbers in order of first appearance, and (n,) int32 which of them each row holds."""
    order = np.argsort(column, kind="stable").astype(np.int32)
    ascending = column[order]
    begins = np.append(True, ascending[1:] != ascending[:-1])
    del ascending
    first = order[begins]  # of each distinct number, ascending: the row in which it appears first
    is_first = np.zeros(len(column), bool)
    is_first[first] = True
    rank = np.cumsum(is_first, dtype=np.int32)[first] - 1
    codes = np.empty_like(order)
    codes[order] = rank[np.cumsum(begins, dtype=np.int32) - 1]
    return column[is_first], codes


def as_text(values: Arrow) -> Arrow:
    """Distinct values of any flat type as strings; NaN becomes missing, 3.0 becomes ``3`` when all are whole."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.large_string())
    if pa.types.is_decimal(kind):
        return pa.array([None if v is None else f"{v.normalize():f}" for v in values.to_pylist()], pa.large_string())
    if pa.types.is_floating(kind):
        return _floats_as_text(values)
    try:
        text = values.cast(pa.large_string())
        text.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"holds text that is not UTF-8 ({error})") from None
    return text


def _floats_as_text(values: Arrow) -> Arrow:
    """Floating-point numbers in their shortest spelling.

    Raises:
        DataError: whole numbers so large that two of them may have become one.
    """
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0  # so that -0 is 0
    known = numbers[~np.isnan(numbers)]
    exact = 2.0 ** {32: 24, 64: 53}[values.type.bit_width]
    whole = bool(np.isfinite(known).all() and (known == np.round(known)).all())
    large = known[np.abs(known) >= exact]
    if whole and len(large):
        raise DataError(
            f"holds whole numbers such as {large[0]:.0f} in a floating-point type that cannot tell them apart from "
            f"their neighbours; write them as integers or as text"
        )
    shortest = pa.array(numbers if exact > 2**24 else numbers.astype(np.float32), from_pandas=True)
    return shortest.cast(pa.int64() if whole else shortest.type).cast(pa.large_string())
