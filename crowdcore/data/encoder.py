"""Encoding a column that comes in pieces, in bounded memory."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.data.dictionary import Codes, NumberColumn, distinct, strings
from crowdcore.data.numerals import as_numbers, as_text

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read


class Encoder:
    """Encodes a column that comes in pieces; what it keeps is one code per row and the distinct values.

    Numbers that mostly differ, such as ratings, are kept as numbers, which takes less than their texts.
    """

    def __init__(self) -> None:
        self._pieces: list[Arrow] = []
        self._numbers: list[FloatArray] = []
        self._kind: Arrow = None  # of the column that the numbers are from

    def add(self, column: Arrow) -> None:
        """Take the next rows: a pyarrow (chunked) array of any flat type."""
        kind = column.type
        if pa.types.is_nested(kind):
            raise DataError(f"holds {kind}, not names or numbers")
        if not self._pieces and self._kind in (None, kind):
            numbers = as_numbers(column, known=bool(self._numbers))
            if numbers is not None:
                self._numbers.append(numbers)
                self._kind = kind
                return
        before, self._numbers = self._numbers, []
        for numbers in before:
            self._encode(pa.array(numbers).cast(self._kind))
        self._encode(column)

    def _encode(self, column: Arrow) -> None:
        kind = column.type
        if pa.types.is_dictionary(kind):
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                used = chunk.indices.dictionary_encode()  # a dictionary may hold values unused, twice or missing
                values = chunk.dictionary.take(used.dictionary).dictionary_encode()
                self._pieces.append(
                    pa.DictionaryArray.from_arrays(values.indices.take(used.indices), values.dictionary)
                )
            return
        if pa.types.is_null(kind):
            column = column.cast(pa.large_string())
        if pa.types.is_float16(kind):
            column = column.cast(pa.float32())
        encoded = column.dictionary_encode()
        chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
        if chunks:  # they share their dictionary
            indices = pa.chunked_array([chunk.indices for chunk in chunks]).combine_chunks()
            self._pieces.append(pa.DictionaryArray.from_arrays(indices, chunks[0].dictionary, safe=False))

    def finish(self) -> Codes:
        """All rows over one dictionary, its values as strings; the encoder is empty then.

        Raises:
            DataError: text that is not UTF-8, or more of it than can be held.
        """
        if self._numbers:
            numbers, self._numbers = np.concatenate(self._numbers), []
            return NumberColumn(numbers, self._kind)
        if not self._pieces:
            return Codes(strings([]), np.empty(0, np.int32))
        chunks, self._pieces = self._pieces, []  # so that they go once they are one
        if len(chunks) > 1:
            try:
                chunks = pa.chunked_array(chunks).unify_dictionaries().chunks
            except pa.ArrowException as error:
                raise DataError(f"holds more text than can be read ({error})") from None
        pieces = [np.asarray(chunk.indices.fill_null(-1)) for chunk in chunks]
        values = as_text(chunks[0].dictionary)
        codes = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        if values.null_count or pa.types.is_floating(chunks[0].dictionary.type):  # NaN; 0 and -0
            return distinct(values, codes)
        return Codes(values, codes)


def encode(column: Arrow) -> Codes:
    """Encode a whole pyarrow (chunked) array."""
    encoder = Encoder()
    encoder.add(column)
    return encoder.finish()
