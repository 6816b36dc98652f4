"""Dictionary-encoded columns of names, cleaned on their distinct values; the spelling of numbers and of formulas.

Codes are counted and looked up block by block, since NumPy would widen all of them to eight bytes at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read

_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff\xad"))  # of no width, as copied from web pages
MINUS_ONE = ("-1", "-1.0")
_LOOK = 1000  # rows that decide whether a closer look pays


def as_numbers(column: Arrow, known: bool = False) -> FloatArray | None:
    """(n,) float64 of a pyarrow (chunked) array of doubles or texts; None if they are better kept as names.

    Names are better where most repeat (of doubles, nine in ten), some are missing, or a text is not the shortest
    spelling of its number and could not be made again from it. ``known``: earlier rows were numbers that mostly differ.
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
    """Return whether `as_numbers` takes the first rows of a column."""
    return as_numbers(column.slice(0, _LOOK)) is not None


def _numbers(column: Arrow, text: bool) -> FloatArray | None:
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    if text and not pc.all(pc.equal(numbers.cast(column.type), column)).as_py():
        return None
    array = np.asarray(numbers)
    known = np.isfinite(array).all() and not np.signbit(array[array == 0]).any()  # 0 and -0 are one number, two texts
    return array if known else None


def numbered(column: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct numbers in order of first appearance, and (n,) int32 index of each row's number among them."""
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
    """Floating-point numbers in their shortest spelling."""
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


_RISKY = r"^'*[=+\-@\t\r]|^''"
_ESCAPED = r"^'[=+\-@\t\r']"
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def escape(values: Arrow) -> Arrow:
    """Add the apostrophe to risky texts of a pyarrow string array."""
    risky = pc.and_not(pc.match_substring_regex(values, _RISKY), pc.match_substring_regex(values, _NUMBER))
    if not pc.any(risky).as_py():
        return values
    mark, nothing = (pa.scalar(text, values.type) for text in ("'", ""))
    return pc.if_else(risky, pc.binary_join_element_wise(mark, values, nothing), values)


def unescape(values: Arrow) -> Arrow:
    """Remove the apostrophe."""
    escaped = pc.match_substring_regex(values, _ESCAPED)
    if not pc.any(escaped).as_py():
        return values
    return pc.if_else(escaped, pc.utf8_slice_codeunits(values, 1), values)


def neutralise(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of a frame whose text cells and column names are safe to open in a spreadsheet; numbers stay."""
    safe = {}
    for number, (_, column) in enumerate(frame.items()):
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
            safe[number] = column
        else:
            text = pa.array([None if pd.isna(v) else str(v) for v in column], pa.large_string())
            safe[number] = pd.Series(escape(text).to_pandas().to_numpy(object), index=frame.index)
    result = pd.DataFrame(safe, index=frame.index)
    result.columns = pd.Index(escape(pa.array([str(c) for c in frame.columns], pa.large_string())).to_pylist())
    return result


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A CSV in UTF-8 whose texts no spreadsheet takes for a formula."""
    return neutralise(frame).to_csv(index=False).encode()


def fold_name(name: str) -> str:
    """One name without case, accents, width and needless blanks."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    return " ".join("".join(c for c in letters if not "\u0300" <= c <= "\u036f").split()) or name.strip()


Whole: TypeAlias = Literal["keep", "all", "mixed"]

_INTEGER = r"^-?[0-9]{1,15}$"
_WRITTEN_AS_FLOAT = r"^-?[0-9]{1,15}\.0+$"
_PADDED_ZERO = r"\.0+$"


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of strings.

    Args:
        values: pyarrow large_string: distinct, none missing, each occurs, in order of first appearance.
        codes: (n,) int32 index into ``values``, -1 = missing.
    """

    values: Arrow
    codes: IntArray

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> BoolArray:
        """(n,) mask of the rows without a value."""
        return np.asarray(self.codes < 0)

    @property
    def counts(self) -> IntArray:
        """(n_values,) rows that hold each value."""
        return counted(self.codes, len(self.values))

    @property
    def first_rows(self) -> IntArray:
        """(n_values,) the row in which each value appears first."""
        return first_rows(self.codes, len(self.values))

    def take(self, rows: AnyArray) -> Codes:
        """The column at some rows, ascending."""
        return compact(self.values, self.codes[rows])

    def holds(self, words: Iterable[str]) -> bool:
        """Return whether a value is one of some words; blanks around it do not count."""
        return bool(pc.any(pc.is_in(pc.utf8_trim_whitespace(self.values), value_set=strings(words))).as_py())


class NumberColumn(Codes):
    """A column of numbers that mostly differ, none missing; their names are made only when they are needed.

    Args:
        numbers: (n,) float64.
        kind: pyarrow type in which a number is its name.
    """

    def __init__(self, numbers: FloatArray, kind: Arrow) -> None:
        for name, value in (("numbers", numbers), ("kind", kind)):
            object.__setattr__(self, name, value)

    numbers: FloatArray
    kind: Arrow

    @cached_property
    def _numbered(self) -> tuple[FloatArray, IntArray]:
        return numbered(self.numbers)

    @property
    def distinct(self) -> FloatArray:
        """The distinct numbers, in order of first appearance."""
        return self._numbered[0]

    @cached_property
    def values(self) -> Arrow:
        """Names of the distinct numbers."""
        values = pa.array(self.distinct)
        return as_text(values if pa.types.is_floating(self.kind) else values.cast(self.kind))

    @property
    def codes(self) -> IntArray:
        """(n,) int32 index into ``values``."""
        return self._numbered[1]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def missing(self) -> BoolArray:
        """(n,) all False."""
        return np.zeros(len(self), bool)

    def take(self, rows: AnyArray) -> NumberColumn:
        """The column at some rows, ascending."""
        return NumberColumn(self.numbers[rows], self.kind)

    def holds(self, words: Iterable[str]) -> bool:
        """Return whether a number equals one of some words."""
        numbers = pd.to_numeric(pd.Series([*words], dtype=object), errors="coerce")
        return any((self.numbers == number).any() for number in numbers)


def strings(values: Iterable[str | None]) -> Arrow:
    """A pyarrow large_string array of Python strings; refuses lone surrogates, which no file can hold."""
    try:
        return pa.array(list(values), pa.large_string())
    except UnicodeEncodeError as error:
        raise DataError(f"A name holds characters that are not text: {error.object!r}") from None


def arrow_column(values: pd.Series) -> Arrow:
    """A pyarrow array of a column of a frame; raises an ArrowException where its values have no common type."""
    if not isinstance(values.dtype, pd.DatetimeTZDtype):
        return pa.array(values, from_pandas=True)
    kind = pa.timestamp(values.dtype.unit, pa.lib.tzinfo_to_string(values.dtype.tz))
    return pa.array(values.dt.tz_convert(None), from_pandas=True).cast(kind)  # pandas is to change what pyarrow reads


def distinct(values: Arrow, codes: IntArray) -> Codes:
    """Merge equal values; rows whose value is missing become -1."""
    merged = values.dictionary_encode()
    return Codes(merged.dictionary, renumber(codes, np.asarray(merged.indices.fill_null(-1))))


def compact(values: Arrow, codes: IntArray, out: IntArray | None = None) -> Codes:
    """The column of some distinct values, of which some may not occur and the order need not be that in the rows.

    Its codes may be put into ``out``, which may be ``codes``.
    """
    first = first_rows(codes, len(values))
    kept = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    if len(kept) == len(values) and (np.diff(kept) == 1).all():
        return Codes(values, codes)
    number = np.full(len(values), -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return Codes(values.take(pa.array(kept)), renumber(codes, number, out))


@dataclass(frozen=True, eq=False)
class Cleaned:
    """Result of cleaning a column.

    Args:
        codes: the cleaned column.
        trimmed: rows whose value lost surrounding blanks or an apostrophe, or was put into normal form (NFC).
        renumbered: a value like ``1.0`` was read as ``1``.
        merged: pairs (as written, read as) of different spellings that became one value.
        merged_rows: rows that hold a spelling that was merged into another.
    """

    codes: Codes
    trimmed: IntArray
    renumbered: bool
    merged: tuple[tuple[str, str], ...]
    merged_rows: IntArray


def clean(raw: Codes, missing: Iterable[str] = (), escaped: bool = False, whole: Whole = "keep") -> Cleaned:
    """Trim blanks, normalise Unicode, take empty values and ``missing`` as missing; undo our writers' apostrophe.

    ``whole`` reads ``1.0`` as ``1``: never (``keep``), if all values are written so (``all``), or if all values are
    whole numbers in either spelling (``mixed``).
    """
    none = np.empty(0, np.int64)
    values = raw.values
    if _needs_trimming(values):
        tidy = pc.utf8_trim_whitespace(_compose(values))
        values = values if tidy.equals(values) else tidy
    if escaped:
        values = unescape(values)
    trimmed = none if values is raw.values else _rows_with(raw, pc.not_equal(values, raw.values))
    gone = pc.is_in(values, value_set=strings(["", *missing]))
    if pc.any(gone).as_py():
        values = pc.if_else(gone, pa.scalar(None, pa.large_string()), values)
    renumbered = whole != "keep" and _are_whole_numbers(values, whole == "mixed")
    if renumbered:
        values = pc.replace_substring_regex(values, _PADDED_ZERO, "")
    if values is raw.values:
        return Cleaned(raw, none, False, (), none)
    codes = distinct(values, raw.codes)
    lost = len(values) - values.null_count - len(codes.values)
    merged, rows = _merged(raw, values) if lost else ((), none)
    return Cleaned(codes, trimmed, renumbered, merged, rows)


def _needs_trimming(values: Arrow) -> bool:
    """Return whether any byte is a blank or outside ASCII: a cheap test before the thorough work."""
    data = values.buffers()[2]
    if data is None:
        return False
    raw = np.frombuffer(data, np.uint8)
    return bool(len(raw)) and bool(raw.min() <= 32 or raw.max() >= 127)


def _compose(values: Arrow) -> Arrow:
    """Normal form C of the values that are not ASCII (pyarrow's leaves them decomposed), without invisible letters."""
    ascii_only = pc.string_is_ascii(values)
    if pc.all(ascii_only).as_py():
        return values
    foreign = pc.invert(ascii_only)
    return pc.replace_with_mask(
        values,
        foreign,
        strings(unicodedata.normalize("NFC", v.translate(_UNSEEN)) for v in values.filter(foreign).to_pylist()),
    )


def _are_whole_numbers(values: Arrow, mixed: bool) -> bool:
    """Return whether values like ``1.0`` are whole numbers: all are written so (or, if ``mixed``, as ``1``)."""
    first = next((v for v in values[:100].to_pylist() if v is not None), "")
    if not re.match(r"^-?[0-9]+(\.0+)?$", first):
        return False
    as_float = pc.match_substring_regex(values, _WRITTEN_AS_FLOAT)
    fits = pc.or_(as_float, pc.match_substring_regex(values, _INTEGER)) if mixed else as_float
    return bool(pc.all(fits).as_py() and pc.any(as_float).as_py())


def _rows_with(raw: Codes, chosen: Arrow) -> IntArray:
    """Rows whose raw value is chosen."""
    flags = np.append(np.asarray(chosen.fill_null(False)), False)
    return np.flatnonzero(flags[raw.codes]) if flags.any() else np.empty(0, np.int64)


def _merged(raw: Codes, values: Arrow) -> tuple[tuple[tuple[str, str], ...], IntArray]:
    """Spellings merged into another one (the value itself, or else the first), and their rows."""
    merged = np.asarray(values.dictionary_encode().indices.fill_null(-1))
    as_read = np.asarray(pc.equal(raw.values, values).fill_null(False))
    order = np.argsort(~as_read, kind="stable")
    _, first = np.unique(merged[order], return_index=True)
    later = merged >= 0
    later[order[first]] = False
    flags = pa.array(later)
    before, after = raw.values.filter(flags).to_pylist(), values.filter(flags).to_pylist()
    return tuple(zip(before, after, strict=True)), _rows_with(raw, flags)


def natural_order(names: list[str]) -> list[int]:
    """Indices that sort names as people do: whole numbers by value, ``w2`` before ``w10``."""
    if all(re.match(_INTEGER, name) for name in names):
        return sorted(range(len(names)), key=lambda i: (int(names[i]), names[i]))
    return sorted(range(len(names)), key=lambda i: (_natural_key(names[i]), names[i]))


def _natural_key(name: str) -> list[Any]:
    parts: list[Any] = re.split(r"([0-9]+)", name)
    for i in range(1, len(parts), 2):
        digits = parts[i].lstrip("0")
        parts[i] = (len(digits), digits)
    return parts


BLOCK = 1 << 18

_SUMMED = 1 << 16  # values computed and summed at once


def first_rows(codes: IntArray, size: int) -> IntArray:
    """(size,) row in which each code appears first, ``len(codes)`` where it does not."""
    first = np.full(size + 1, len(codes))  # the last is that of missing values
    for stop in range(len(codes), 0, -BLOCK):
        part = slice(max(stop - BLOCK, 0), stop)
        first[codes[part][::-1]] = np.arange(part.start, stop)[::-1]
    return first[:-1]


def counted(codes: IntArray, size: int) -> IntArray:
    """(size,) number of times that each code occurs; -1 is not counted."""
    counts = np.zeros(size + 1, np.int64)
    for begin in range(0, len(codes), BLOCK):
        counts += np.bincount(codes[begin : begin + BLOCK] + 1, minlength=size + 1)
    return counts[1:]


def counted_sorted(codes: IntArray, size: int) -> IntArray:
    """(size,) number of times that each code occurs, of codes that ascend from 0 on."""
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(codes), BLOCK):
        block = codes[begin : begin + BLOCK]
        of_block = np.bincount(block - block[0])
        counts[block[0] : block[0] + len(of_block)] += of_block
    return counts


def summed(codes: IntArray, values: FloatArray | Callable[[slice], FloatArray], size: int) -> FloatArray:
    """(size,) sum of the values of each code, added in `numpy.bincount`'s order; a function makes them by slice."""
    total, some = np.zeros(size), values if callable(values) else values.__getitem__
    for begin in range(0, len(codes), _SUMMED):
        at = slice(begin, min(begin + _SUMMED, len(codes)))
        np.add.at(total, codes[at].astype(np.intp), some(at))
    return total


def sum_of(values: Callable[[slice], FloatArray], begin: int, end: int) -> float:
    """Sum of the values of the rows ``begin:end``, added pairwise as `numpy.sum` does."""
    if end - begin <= _SUMMED:
        return float(values(slice(begin, end)).sum())
    half = begin + (end - begin) // 16 * 8
    return sum_of(values, begin, half) + sum_of(values, half, end)


def gather(table: AnyArray, codes: IntArray, out: AnyArray | None = None) -> AnyArray:
    """``table[codes]``, written into ``out``, which may be ``codes``, if given."""
    gathered = np.empty(len(codes), table.dtype) if out is None else out
    for begin in range(0, len(codes), BLOCK):
        gathered[begin : begin + BLOCK] = table[codes[begin : begin + BLOCK]]
    return gathered


def renumber(codes: IntArray, number: IntArray, out: IntArray | None = None) -> IntArray:
    """(n,) int32 ``number`` of each code, -1 of -1; the codes themselves if each is its own number.

    Like `gather`, it can write into ``out``, which may be ``codes``.
    """
    if codes.dtype == np.int32 and (number == np.arange(len(number))).all():
        return codes
    return gather(np.append(np.asarray(number, np.int32), np.int32(-1)), codes, out)
