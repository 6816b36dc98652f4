"""The texts of tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.images import refuse_unless
from crowdcore.data.ratings import Labelled, RatingDataset


def given_texts(
    dataset: CrowdDataset | RatingDataset, remedy: str = "Add a column `text` to tasks.*."
) -> pd.Series[Any]:
    """(n_tasks,) texts of the tasks, missing where there is none.

    Raises:
        DataError: no task has a text.
    """
    texts = _texts(dataset)
    if texts is None:
        raise DataError(f"{dataset.name} has no texts", remedy)
    return texts


def blank_texts(dataset: Labelled) -> dict[str, str]:
    """Task id -> what is wrong with its text; empty where no task has a text."""
    texts = _texts(dataset)
    if texts is None:
        return {}
    return {str(task): "the text is empty" for task in dataset.task_ids[_blank(texts).to_numpy()]}


def _texts(dataset: Labelled) -> pd.Series[Any] | None:
    columns = dataset.media.columns if dataset.media else None
    return None if columns is None or "text" not in columns else columns["text"].reindex(range(dataset.n_tasks))


def _blank(texts: pd.Series[Any]) -> pd.Series[bool]:
    return texts.isna() | (texts.astype(str).str.strip() == "")


def usable_texts(dataset: CrowdDataset, accept: bool = False) -> CrowdDataset:
    """The dataset with every text that is blank as missing; ``notes`` of the dataset say which.

    Args:
        dataset: tasks with texts.
        accept: go on although some are blank or missing.

    Raises:
        DataError: there are no texts; some are blank or missing, and that was not accepted; or all are.
    """
    texts = given_texts(dataset, "Add a column `text` to tasks.* or to the table.")
    faulty = blank_texts(dataset)
    if not faulty:
        return dataset
    note = refuse_unless(accept, faulty, dataset.n_tasks, "text")
    assert dataset.media is not None and dataset.media.columns is not None
    columns = dataset.media.columns.reindex(range(dataset.n_tasks)).assign(text=texts.mask(_blank(texts), None))
    return replace(dataset, media=replace(dataset.media, columns=columns), notes=(*dataset.notes, *note))
