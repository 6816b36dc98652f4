"""The annotations as one long table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.dictionary import strings
from crowdcore.data.tables.base import Arrow
from crowdcore.data.writers.tables import check_names, names_column, write_table

__all__ = ["annotation_table", "write_long"]


def annotation_table(dataset: CrowdDataset, gold: bool = False) -> Arrow:
    """A pyarrow table: task, worker, label, the extra columns, and on request each task's gold and split."""
    classes = strings(dataset.classes)
    columns = {
        "task": names_column(dataset.task, pa.array(dataset.task_ids.astype("str"))),
        "worker": names_column(dataset.worker, pa.array(dataset.worker_ids.astype("str"))),
        "label": names_column(dataset.label, classes),
    }
    if dataset.extra is not None:
        columns |= {str(name): pa.array(dataset.extra[name], from_pandas=True) for name in dataset.extra}
    if gold and dataset.has_gold:
        known = dataset.gold[dataset.task]
        columns["gold"] = names_column(np.ma.masked_less(known, 0), classes)
    if gold and (dataset.split >= 0).any():
        part = dataset.split[dataset.task].astype(np.int32)
        columns["split"] = names_column(np.ma.masked_less(part, 0), strings(SPLITS))
    return pa.table(columns)


def write_long(dataset: CrowdDataset, path: str | Path) -> Path:
    """Write the annotations as a long CSV or Parquet file (by the ending of ``path``).

    Each row holds the annotation's true class and split where known. Tasks without annotations, the class order,
    features and media are not in such a file; `write_folder` keeps all of them.

    Args:
        dataset: what to write.
        path: the file; replaced at once if it exists.

    Raises:
        DataError: names that would not be read back as they are.
        SettingError: another ending.
    """
    path = Path(path)
    check_names(dataset, listed=False)
    write_table(annotation_table(dataset, gold=True), path)
    return path
