"""Counting and looking up by codes, block by block: NumPy makes each index eight bytes long, and else all at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdcore.core.types import AnyArray, FloatArray, IntArray

BLOCK = 1 << 18

_SUMMED = 1 << 16  # values that are made at once to be summed


def first_rows(codes: IntArray, size: int) -> IntArray:
    """(size,) row in which each code appears first, their number where it does not."""
    first = np.full(size + 1, len(codes))  # the last is that of missing values
    for stop in range(len(codes), 0, -BLOCK):
        part = slice(max(stop - BLOCK, 0), stop)
        first[codes[part][::-1]] = np.arange(part.start, stop)[::-1]
    return first[:-1]


def counted(codes: IntArray, size: int) -> IntArray:
    """(size,) how often each code occurs; -1 is not counted."""
    counts = np.zeros(size + 1, np.int64)
    for begin in range(0, len(codes), BLOCK):
        counts += np.bincount(codes[begin : begin + BLOCK] + 1, minlength=size + 1)
    return counts[1:]


def counted_sorted(codes: IntArray, size: int) -> IntArray:
    """(size,) how often each code occurs, of codes that ascend from 0 on."""
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(codes), BLOCK):
        block = codes[begin : begin + BLOCK]
        found = np.bincount(block - block[0])
        counts[block[0] : block[0] + len(found)] += found
    return counts


def summed(codes: IntArray, values: FloatArray | Callable[[slice], FloatArray], size: int) -> FloatArray:
    """(size,) sum of the values of each code, added in their order as `numpy.bincount` does; or of what makes them."""
    total, some = np.zeros(size), values if callable(values) else values.__getitem__
    for begin in range(0, len(codes), _SUMMED):
        at = slice(begin, min(begin + _SUMMED, len(codes)))
        np.add.at(total, codes[at].astype(np.intp), some(at))
    return total


def sum_of(values: Callable[[slice], FloatArray], begin: int, end: int) -> float:
    """Sum of the values of the rows ``begin:end``, added in the order of `numpy.sum`, halves of halves."""
    if end - begin <= _SUMMED:
        return float(values(slice(begin, end)).sum())
    half = begin + (end - begin) // 16 * 8
    return sum_of(values, begin, half) + sum_of(values, half, end)


def gather(table: AnyArray, codes: IntArray, out: AnyArray | None = None) -> AnyArray:
    """``table[codes]``, put into ``out``, which may be ``codes``, if that is given."""
    found = np.empty(len(codes), table.dtype) if out is None else out
    for begin in range(0, len(codes), BLOCK):
        found[begin : begin + BLOCK] = table[codes[begin : begin + BLOCK]]
    return found


def renumber(codes: IntArray, number: IntArray, out: IntArray | None = None) -> IntArray:
    """(n,) int32 ``number`` of each code, -1 of -1; where each code is its own number, the codes as they are.

    Like `gather` it can put them into ``out``, which may be ``codes``.
    """
    if codes.dtype == np.int32 and (number == np.arange(len(number))).all():
        return codes
    return gather(np.append(np.asarray(number, np.int32), np.int32(-1)), codes, out)
