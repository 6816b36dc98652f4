"""Aggregated labels: one row per task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.dictionary import strings
from crowdcore.data.writers.tables import check_names, names_column, write_table


def write_aggregated(
    dataset: CrowdDataset,
    labels: IntArray,
    path: str | Path,
    *,
    posterior: FloatArray | None = None,
    difficulty: FloatArray | None = None,
    foil: IntArray | None = None,
) -> Path:
    """Write what an aggregator found as CSV or Parquet: ``task``, ``label``, and what else is given.

    That is ``p(<class>)`` for each class, the ``difficulty`` of the task, and its ``foil``, the class that it misleads
    to.

    Args:
        dataset: whose tasks the labels are of.
        labels: (n_tasks,) class numbers; tasks with -1 have no row.
        path: the file; replaced at once if it exists.
        posterior: (n_tasks, C) probabilities to add as columns.
        difficulty: (n_tasks,) larger is harder.
        foil: (n_tasks,) class numbers, -1 for none.

    Raises:
        SettingError: arrays of another shape, or another ending.
    """
    path = Path(path)
    labels = np.asarray(labels)
    for name, values in (("labels", labels), ("difficulty", difficulty), ("foil", foil)):
        if values is not None and values.shape != (dataset.n_tasks,):
            raise SettingError(name, f"have the shape ({dataset.n_tasks},)", values.shape)
    if posterior is not None and posterior.shape != (dataset.n_tasks, dataset.n_classes):
        raise SettingError("posterior", f"have the shape ({dataset.n_tasks}, {dataset.n_classes})", posterior.shape)
    check_names(dataset, listed=False)
    known = np.flatnonzero(labels >= 0)
    columns = {
        "task": names_column(known.astype(np.int32), pa.array(dataset.task_ids.astype("str"))),
        "label": names_column(labels[known].astype(np.int32), strings(dataset.classes)),
    }
    if posterior is not None:
        columns |= {f"p({name})": pa.array(posterior[known, c]) for c, name in enumerate(dataset.classes)}
    if difficulty is not None:
        columns["difficulty"] = pa.array(difficulty[known])
    if foil is not None:
        columns["foil"] = names_column(
            pa.array(foil[known], pa.int32(), mask=foil[known] < 0), strings(dataset.classes)
        )
    write_table(pa.table(columns), path)
    return path
