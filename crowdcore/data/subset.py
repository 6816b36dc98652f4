"""Some tasks of a dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset, Media


def take_tasks(dataset: CrowdDataset, tasks: IntArray) -> CrowdDataset:
    """Some tasks with their annotations; classes and workers stay.

    Args:
        tasks: ascending task numbers.

    Examples:
        >>> import numpy as np
        >>> import crowdcore as cc
        >>> take_tasks(cc.load_dataset("demo"), np.arange(10)).n_tasks
        10
    """
    number: IntArray = np.full(dataset.n_tasks, -1, np.int32)
    number[tasks] = np.arange(len(tasks))
    kept, media = dataset.where(number[dataset.task] >= 0), dataset.media
    if media is not None:
        columns = None if media.columns is None else media.columns.iloc[tasks].reset_index(drop=True)
        media = Media(None if media.images is None else media.images.take(tasks), columns, media.folder)
    return replace(
        kept,
        task_ids=dataset.task_ids[tasks],
        task=number[kept.task],
        gold=dataset.gold[tasks],
        split=dataset.split[tasks],
        features=None if dataset.features is None else dataset.features.take(tasks),
        media=media,
        sentences=None if dataset.sentences is None else dataset.sentences.take(tasks),
    )
