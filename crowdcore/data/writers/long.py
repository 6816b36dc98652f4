"""The annotations as one long table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.dictionary import arrow_column, strings
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.tables.base import RESERVED, Arrow
from crowdcore.data.writers.tables import check_names, names_column, write_table


def annotation_table(dataset: CrowdDataset | RatingDataset, complete: bool = False) -> Arrow:
    """A pyarrow table: task, worker, label or rating, extra columns; ``complete``: also gold, split, file row."""
    columns = {
        "task": names_column(dataset.task, pa.array(dataset.task_ids.astype("str"))),
        "worker": names_column(dataset.worker, pa.array(dataset.worker_ids.astype("str"))),
    }
    if isinstance(dataset, RatingDataset):
        columns["rating"] = pa.array(dataset.rating)
    else:
        columns["label"] = names_column(dataset.label, strings(dataset.classes))
    if dataset.extra is not None:
        taken = (*RESERVED, *columns)
        columns |= {str(name): _extra_column(dataset.extra[name], str(name), taken) for name in dataset.extra}
    if complete and dataset.has_gold:
        columns["gold"] = gold_column(dataset).take(pa.array(dataset.task))
    if complete and (dataset.split >= 0).any():
        part = dataset.split[dataset.task].astype(np.int32)
        columns["split"] = names_column(np.ma.masked_less(part, 0), strings(SPLITS))
    if complete and dataset.file_row is not None:
        columns["file_row"] = pa.array(dataset.file_row)
    return pa.table(columns)


def gold_column(dataset: CrowdDataset | RatingDataset) -> Arrow:
    """The true class or rating of each task, missing where it is unknown."""
    if isinstance(dataset, RatingDataset):
        return pa.array(dataset.gold, from_pandas=True)
    return names_column(np.ma.masked_less(dataset.gold, 0), strings(dataset.classes))


def _extra_column(values: pd.Series, name: str, taken: tuple[str, ...]) -> Arrow:
    """An extra column as pyarrow.

    Raises:
        DataError: its name is one of ours, or its values have no common type.
    """
    if name in taken:
        raise DataError(f"The extra column {name!r} has the name of another column of this table", "Rename it.")
    try:
        return arrow_column(values)
    except pa.ArrowException as error:
        raise DataError(
            f"The extra column {name!r} holds values that no table can hold ({error})", "Turn them into text."
        ) from None


def write_long(dataset: CrowdDataset | RatingDataset, path: str | Path) -> Path:
    """Write the annotations as a long CSV or Parquet file (by the ending of ``path``).

    Each row holds the annotation's true class and split where known, and its row in the file it was read from. Tasks
    without annotations, the class order or range, features and media are not in such a file; `write_folder` keeps them.

    Args:
        dataset: what to write.
        path: the file; replaced at once if it exists.

    Raises:
        DataError: names that would not be read back as they are.
        SettingError: another ending.
    """
    path = Path(path)
    check_names(dataset, listed=False)
    write_table(annotation_table(dataset, complete=True), path)
    return path
