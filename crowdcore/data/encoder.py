"""Encoding a column that comes in pieces, in bounded memory."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dictionary import (
    Codes,
    NumberColumn,
    as_numbers,
    as_text,
    begins_with_numbers,
    compact,
    distinct,
    renumber,
    strings,
)

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read


_AGAIN = 1 << 17  # numbers that become texts again at once
NEAR = 1 << 12  # further names of a list among which those of a piece are looked up


class _Pieces:
    """Numbers that come in pieces, stored in one array, which grows if they are more than expected."""

    def __init__(self, dtype: type[np.generic], expected: int) -> None:
        self._array, self._n = np.empty(expected, dtype), 0

    def __len__(self) -> int:
        return self._n

    def add(self, piece: AnyArray) -> None:
        begin, self._n = self._n, self._n + len(piece)
        if self._n > len(self._array):
            self._array.resize(self._n, refcheck=False)
        self._array[begin : self._n] = piece

    def take(self) -> AnyArray:
        """Return all pieces, and empty this."""
        taken, self._array, self._n = self._array[: self._n], self._array[:0].copy(), 0
        return taken


class Encoder:
    """Encodes a column that comes in pieces; it keeps one code per row and the distinct values.

    Numbers that mostly differ, such as ratings, are kept as numbers, which takes less than their texts.

    Args:
        listed: distinct names (large_string) that the column is likely to hold in this order: while it does, each
            piece is looked up among the next of them, and no table of all names is made.
        n_rows: number of rows, if known.
    """

    def __init__(self, listed: Arrow = None, n_rows: int = 0) -> None:
        self._listed, self._at = listed, 0
        self._codes = _Pieces(np.int32, n_rows)  # index of each row among the values of its piece
        self._ends: list[int] = []  # of the pieces
        self._values: list[Arrow] = []  # of the pieces
        self._numbers = _Pieces(np.float64, n_rows)
        self._kind: Arrow = None  # of the column that the numbers are from

    def add(self, column: Arrow) -> None:
        """Take the next rows: a pyarrow (chunked) array of any flat type."""
        kind = column.type
        if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
            raise DataError(f"holds {kind}, not names or numbers")
        if not self._values and self._kind in (None, kind):
            column = self._add_numbers(column)
            if not len(column):
                return
        before = self._numbers.take()
        for at in range(0, len(before), _AGAIN):
            self._encode(pa.array(before[at : at + _AGAIN]).cast(self._kind))
        self._encode(column)

    def _add_numbers(self, column: Arrow) -> Arrow:
        """Take the next rows as numbers, chunk by chunk; returns the rows from the first other chunk on."""
        if not len(self._numbers) and not begins_with_numbers(column):
            return column
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        for place, chunk in enumerate(chunks):
            numbers = as_numbers(chunk, known=True)
            if numbers is None:
                return pa.chunked_array(chunks[place:])
            self._numbers.add(numbers)
            self._kind = column.type
        return column[:0]

    def _encode(self, column: Arrow) -> None:
        kind = column.type
        if pa.types.is_dictionary(kind):
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                used = chunk.indices.dictionary_encode()  # a dictionary may hold values unused, twice or missing
                values = chunk.dictionary.take(used.dictionary).dictionary_encode()
                self._keep([values.indices.take(used.indices)], values.dictionary)
            return
        if pa.types.is_null(kind):
            column = column.cast(pa.large_string())
        if pa.types.is_float16(kind):
            column = column.cast(pa.float32())
        encoded = column.dictionary_encode()
        chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
        if chunks:  # they share their dictionary
            self._keep([chunk.indices for chunk in chunks], chunks[0].dictionary)

    def _keep(self, indices: list[Arrow], values: Arrow) -> None:
        """Take a piece: the places of its rows among its values."""
        number = self._look_up(values)
        if number is None and self._listed is not None:
            self._unlist(values.type)
        for part in indices:
            codes = np.asarray(part.fill_null(-1)).astype(np.int32, copy=False)
            self._codes.add(codes if number is None else renumber(codes, number))
        if number is None:
            self._values.append(values)
            self._ends.append(len(self._codes))

    def _look_up(self, names: Arrow) -> IntArray | None:
        """Places of names in the list, where they are among its next; None as soon as some are not."""
        if self._listed is None or names.type not in (pa.string(), pa.large_string()):
            return None
        near = self._listed[self._at : self._at + 2 * len(names) + NEAR]
        place = pc.index_in(names.cast(near.type), value_set=near)
        if place.null_count:
            return None
        number = np.asarray(place) + np.int32(self._at)
        self._at = int(number.max(initial=self._at))
        return number

    def _unlist(self, kind: Arrow) -> None:
        """Give up the list: the pieces encoded by it become one with values of its own."""
        if len(self._codes):
            piece = compact(self._listed, self._codes.take())
            self._codes.add(piece.codes)
            self._values.append(piece.values.cast(kind))
            self._ends.append(len(self._codes))
        self._listed = None

    def finish(self) -> Codes:
        """Return all rows over one dictionary, its values as strings, and empty the encoder."""
        if len(self._numbers):
            return NumberColumn(self._numbers.take(), self._kind)
        codes = self._codes.take()
        if self._listed is not None:
            return compact(self._listed, codes)
        if not self._values:
            return Codes(strings([]), codes)
        pieces, self._values = self._values, []
        if len(pieces) > 1:
            each = [pa.DictionaryArray.from_arrays(np.arange(len(p), dtype=np.int32), p, safe=False) for p in pieces]
            try:
                unified = pa.chunked_array(each).unify_dictionaries().chunks
            except pa.ArrowException as error:
                raise DataError(f"holds more text than can be read ({error})") from None
            for number, begin, end in zip(unified, [0, *self._ends], self._ends, strict=False):
                own = codes[begin:end]
                own[:] = renumber(own, np.asarray(number.indices))
            pieces = [unified[0].dictionary]
        values = as_text(pieces[0])
        if values.null_count or pa.types.is_floating(pieces[0].type):  # NaN; 0 and -0
            return distinct(values, codes)
        return Codes(values, codes)


def encode(column: Arrow) -> Codes:
    """Encode a whole pyarrow (chunked) array."""
    encoder = Encoder()
    encoder.add(column)
    return encoder.finish()
