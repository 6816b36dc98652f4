"""Ratings as a table of tasks × workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.dictionary import strings
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.tables.base import RESERVED
from crowdcore.data.writers.long import gold_column
from crowdcore.data.writers.tables import check_names, write_table


def write_wide(dataset: RatingDataset, path: str | Path) -> Path:
    """Write ratings as a wide CSV or Parquet file (by the ending of ``path``): a row a task, a column a worker.

    Read it back with the range and ``workers=[…]``; gold stands in the column ``gold``. Tasks come with and without
    ratings; splits, further columns and media do not: `write_folder` keeps them.

    Args:
        dataset: what to write.
        path: the file; replaced at once if it exists.

    Raises:
        DataError: a worker rated a task twice, or is called like one of our columns.
        SettingError: another ending.
    """
    path = Path(path)
    check_names(dataset, listed=False)
    taken = sorted({*RESERVED} & {*map(str, dataset.worker_ids)})
    if taken:
        raise DataError(f"A worker is called {taken[0]!r}, like another column of this table", "Write a long table.")
    cell = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    if len(np.unique(cell)) < len(cell):
        raise DataError(
            f"A worker of {dataset.name} rated a task twice",
            "Write a long table, or read the ratings with repeats='first'.",
        )
    order = np.argsort(dataset.worker, kind="stable")
    columns = {"task": strings(map(str, dataset.task_ids))}
    start = np.searchsorted(dataset.worker[order], np.arange(dataset.n_workers + 1))
    for number, name in enumerate(dataset.worker_ids):
        rows = order[start[number] : start[number + 1]]
        given = np.full(dataset.n_tasks, np.nan)
        given[dataset.task[rows]] = dataset.rating[rows]
        columns[str(name)] = pa.array(given, from_pandas=True)
    if (~np.isnan(dataset.gold)).any():
        columns["gold"] = gold_column(dataset)
    write_table(pa.table(columns), path)
    return path
