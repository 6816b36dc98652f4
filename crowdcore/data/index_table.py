"""What datasets of every kind of label are: an index table of tasks and workers, one row per annotation."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.lookups import counted, counted_sorted

NO_SPLIT = -1


class IndexTable:
    """Base of frozen dataclasses with tasks, workers, and annotations sorted by task."""

    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    task: IntArray
    worker: IntArray
    gold: AnyArray
    split: IntArray
    extra: pd.DataFrame | None
    file_row: IntArray | None

    def __reduce__(self) -> tuple[Any, ...]:
        parts = fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        return type(self), tuple(getattr(self, part.name) for part in parts)  # read-only again when unpickled

    def freeze(self, label: str, dtype: type[np.generic], unknown: float) -> None:
        """Make the arrays read-only and of one type; without gold or split every task's is unknown.

        Args:
            label: name of the column of labels; gold has its ``dtype``.
            dtype: of labels.
            unknown: gold of a task of which it is not known.
        """
        n = len(self.task_ids)
        gold = np.full(n, unknown, dtype) if self.gold is None else self.gold
        split = np.full(n, NO_SPLIT, np.int8) if self.split is None else self.split
        for name, values, kind in (
            ("task", self.task, np.int32),
            ("worker", self.worker, np.int32),
            (label, getattr(self, label), dtype),
            ("gold", gold, dtype),
            ("split", split, np.int8),
        ):
            array = np.ascontiguousarray(values, dtype=kind).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "task_ids", pd.Index(self.task_ids))
        object.__setattr__(self, "worker_ids", pd.Index(self.worker_ids))

    def check_rows(self, noun: str) -> None:
        """Refuse rows out of order, or numbers of rows in the file for other rows.

        Raises:
            DataError: either.
        """
        if self.file_row is not None and len(self.file_row) != len(self.task):
            raise DataError(f"`file_row` must have one entry for each of the {self.n_annotations} {noun}s")
        if len(self.task) and (self.task[1:] < self.task[:-1]).any():
            raise DataError("`task` must be ascending", f"Sort the {noun}s by task first.")

    @property
    def n_tasks(self) -> int:
        """N, tasks without an annotation included."""
        return len(self.task_ids)

    @property
    def n_workers(self) -> int:
        """R."""
        return len(self.worker_ids)

    @property
    def n_annotations(self) -> int:
        """A, repeats included."""
        return len(self.task)

    @cached_property
    def task_start(self) -> IntArray:
        """(n_tasks + 1,) int64: task i's annotations are ``task_start[i]:task_start[i + 1]``."""
        return np.concatenate([[0], np.cumsum(counted_sorted(self.task, self.n_tasks))])

    @property
    def labels_per_task(self) -> IntArray:
        """(n_tasks,) annotations of each task."""
        return np.diff(self.task_start)

    @cached_property
    def labels_per_worker(self) -> IntArray:
        """(n_workers,) annotations of each worker."""
        return counted(self.worker, self.n_workers)

    @property
    def annotated(self) -> BoolArray:
        """(n_tasks,) which tasks have at least one annotation."""
        return np.asarray(self.task_start[1:] > self.task_start[:-1])

    def with_extra(self, label: str, values: Any) -> pd.DataFrame:
        """Task and worker (categorical ids), the labels under their name, then the extra columns."""
        columns = {
            "task": pd.Categorical.from_codes(self.task, self.task_ids),
            "worker": pd.Categorical.from_codes(self.worker, self.worker_ids),
            label: values,
        }
        frame = pd.DataFrame(columns)
        return frame if self.extra is None else pd.concat([frame, self.extra.reset_index(drop=True)], axis=1)
