"""Aligned arrays of annotations, and sorting them by task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.lookups import gather


@dataclass(eq=False)
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
        rows = chosen if self.rows is None else gather(self.rows, chosen)
        return Annotations(rows, *(gather(part, chosen) for part in (self.task, self.worker, self.label)))

    def sort(self, n_tasks: int) -> Annotations:
        """These, from now on by task, in file order within a task: a counting sort, O(annotations + tasks)."""
        if bool((self.task[1:] >= self.task[:-1]).all()):
            return self
        from scipy.sparse import coo_array

        n = len(self.task)
        rows = np.arange(n, dtype=np.int32)
        order = coo_array((np.zeros(n, np.int8), (self.task, rows)), shape=(n_tasks, n)).tocsr().indices
        del rows
        self.rows = order if self.rows is None else gather(self.rows, order)
        for name in ("task", "worker", "label"):  # one after the other: what it was goes at once
            setattr(self, name, gather(getattr(self, name), order))
        return self
