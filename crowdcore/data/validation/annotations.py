"""Aligned arrays of annotations, and sorting them by task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class Annotations:
    """Annotations by number.

    Args:
        rows: (n,) row of the file, from 0; None = 0, 1, 2 …
        task: (n,) task number.
        worker: (n,) worker number.
        label: (n,) class number, or rating.
    """

    rows: IntArray | None
    task: IntArray
    worker: IntArray
    label: AnyArray

    def at(self, chosen: IntArray | None) -> Annotations:
        """Some of them; None = all."""
        if chosen is None:
            return self
        rows = chosen if self.rows is None else self.rows[chosen]
        return Annotations(rows, self.task[chosen], self.worker[chosen], self.label[chosen])

    def sorted(self, n_tasks: int) -> Annotations:
        """By task, in file order within a task: a counting sort, O(annotations + tasks)."""
        if bool((self.task[1:] >= self.task[:-1]).all()):
            return self
        from scipy.sparse import coo_array

        n = len(self.task)
        rows = np.arange(n, dtype=np.int32)
        return self.at(coo_array((np.zeros(n, np.int8), (self.task, rows)), shape=(n_tasks, n)).tocsr().indices)
