"""Repeated labels of a worker on a task: counted, and reduced on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.lookups import BLOCK


@dataclass(frozen=True, eq=False)
class Repeats:
    """Annotations of the same worker on the same task.

    Args:
        rows: rows of all pairs that repeat, grouped by pair, in file order within a pair.
        start: (n_pairs + 1,) where each pair begins in ``rows``.
        contradicting: (n_pairs,) whether a pair's labels differ.
    """

    rows: IntArray
    start: IntArray
    contradicting: IntArray

    @property
    def n_repeats(self) -> int:
        """Annotations beyond the first of each pair."""
        return len(self.rows) - len(self.start) + 1


def find_repeats(task: IntArray, worker: IntArray, label: AnyArray, n_workers: int) -> Repeats:
    """Find repeats among annotations sorted by task."""
    twice = _twice(task, worker, n_workers)
    if not len(twice):
        return Repeats(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, bool))
    concerned = np.zeros(int(task[-1]) + 1, bool)
    concerned[twice // n_workers] = True
    near = np.flatnonzero(concerned[task])
    key = task[near].astype(np.int64) * n_workers + worker[near]
    chosen = np.isin(key, twice)
    rows, key = near[chosen], key[chosen]
    order = np.argsort(key, kind="stable")
    rows, start = rows[order], np.flatnonzero(np.diff(key[order], prepend=-1))
    given = label[rows]
    differ = np.minimum.reduceat(given, start) != np.maximum.reduceat(given, start)
    return Repeats(rows, np.append(start, len(rows)), differ)


def _twice(task: IntArray, worker: IntArray, n_workers: int) -> IntArray:
    """``task * n_workers + worker`` of the pairs that stand there again, block by block of tasks."""
    found, begin = [np.empty(0, np.int64)], 0
    while begin < len(task):
        end = int(np.searchsorted(task, task[min(begin + BLOCK, len(task)) - 1], "right"))
        key = task[begin:end].astype(np.int64)
        key *= n_workers
        key += worker[begin:end]
        key.sort()
        found.append(key[1:][key[1:] == key[:-1]])
        begin = end
    return np.concatenate(found)


def reduce_repeats(repeats: Repeats, label: AnyArray, how: Literal["first", "last", "majority"]) -> IntArray:
    """The rows to drop so that each pair keeps its first, its last or its most frequent (ties: earlier) label."""
    if how == "first":
        kept = repeats.start[:-1]
    elif how == "last":
        kept = repeats.start[1:] - 1
    else:
        kept = _majority(repeats, label)
    drop = np.ones(len(repeats.rows), bool)
    drop[kept] = False
    return repeats.rows[drop]


def _majority(repeats: Repeats, label: AnyArray) -> IntArray:
    """Position in ``rows`` of the first annotation with each pair's most frequent label."""
    pair = np.repeat(np.arange(len(repeats.start) - 1), np.diff(repeats.start))
    position = np.arange(len(pair))
    order = np.lexsort((position, label[repeats.rows], pair))
    new = np.diff(pair[order], prepend=-1) != 0
    new |= np.diff(label[repeats.rows][order], prepend=-1) != 0
    begin = np.flatnonzero(new)
    count = np.diff(begin, append=len(order))
    first = order[begin]
    best = np.lexsort((first, -count, pair[first]))
    leader = np.flatnonzero(np.diff(pair[first][best], prepend=-1) != 0)
    return np.asarray(first[best][leader])
