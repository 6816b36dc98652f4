"""The texts of tasks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import RatingDataset


def given_texts(
    dataset: CrowdDataset | RatingDataset, remedy: str = "Add a column `text` to tasks.*."
) -> pd.Series[Any]:
    """(n_tasks,) texts of the tasks, missing where there is none.

    Raises:
        DataError: no task has a text.
    """
    columns = dataset.media.columns if dataset.media else None
    if columns is None or "text" not in columns:
        raise DataError(f"{dataset.name} has no texts", remedy)
    return columns["text"].reindex(range(dataset.n_tasks))
