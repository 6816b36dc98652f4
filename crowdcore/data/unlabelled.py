"""Datasets that nobody has labelled, such as a folder of images for each class."""

from __future__ import annotations

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset


def refuse_unlabelled(dataset: CrowdDataset) -> None:
    """Say what helps where there are no annotations.

    Raises:
        DataError: there are none.
    """
    if dataset.n_annotations:
        return
    remedy = "Open a table that has a label per row: task, worker, label."
    if (dataset.gold >= 0).any():
        remedy = (
            "Its tasks have true classes: plant a crowd on them, on the page Sandbox or by `crowdcore simulate "
            "SIMULATOR --on DATASET`; or open a table that has a label per row: task, worker, label."
        )
    raise DataError(f"{dataset.name} has no annotations", remedy)
