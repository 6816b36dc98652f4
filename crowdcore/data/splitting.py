"""Some tasks of a dataset, and splits drawn at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media


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


def split_tasks(
    dataset: CrowdDataset, valid: float = 0.0, test: float = 0.0, *, seed: int = 0, group: str | None = None
) -> CrowdDataset:
    """The dataset with its tasks divided into train, valid and test.

    Tasks, or groups of them, are sorted by class (of gold, else the plurality of the labels), size and chance; every
    1/``test``-th goes to the test split, and so on, which keeps the shares within one in every class.

    Args:
        dataset: tasks without splits.
        valid: share of tasks that validate.
        test: share of tasks that test.
        seed: of the draw.
        group: further column of the annotations, such as a patient; tasks of one value stay together.

    Raises:
        SettingError: shares out of bounds, or a column that does not exist.
        DataError: the dataset has splits already, a task lies in two groups, or a split would be empty.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.synthetic(n_tasks=200, n_valid=0, n_test=0)
        >>> import numpy as np
        >>> np.bincount(split_tasks(crowd, valid=0.1, test=0.2).split).tolist()
        [140, 20, 40]
    """
    for name, share in (("valid", valid), ("test", test)):
        if not 0 <= share < 1:
            raise SettingError(name, "be a share from 0 to below 1", share)
    if valid + test >= 1:
        raise SettingError("valid", f"leave tasks to train on beside a test share of {test}", valid)
    if (dataset.split > 0).any():
        raise DataError(f"{dataset.name} says already which tasks validate and test", "Leave the shares out.")
    unit = _units(dataset, group)
    size = np.bincount(unit)
    stratum = _most_frequent(unit, _strata(dataset), len(size))
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.permutation(len(size)), size, stratum))
    role = np.zeros(len(size), np.int8)
    tests = _every(len(order), test, rng.random())
    role[order[tests]] = SPLITS.index("test")
    rest = order[~tests]
    role[rest[_every(len(rest), valid / (1 - test), rng.random())]] = SPLITS.index("valid")
    empty = [s for k, s in enumerate(SPLITS) if (1.0, valid, test)[k] and not (role == k).any()]
    if empty:
        what = "groups" if group else "tasks"
        raise DataError(f"{dataset.name} has too few {what} ({len(size):,}) for a split {empty[0]!r} of that share")
    return replace(dataset, split=role[unit])


def _units(dataset: CrowdDataset, group: str | None) -> IntArray:
    """(n_tasks,) number of the unit that stays together: a sentence, a group, or the task alone."""
    if group is None:
        return dataset.unit
    columns = () if dataset.extra is None else tuple(dataset.extra)
    if group not in columns:
        raise SettingError("group", "name a further column of the annotations", group, f"There are {columns}.")
    assert dataset.extra is not None
    given = pd.factorize(dataset.extra[group])[0]
    unit = np.full(dataset.n_tasks, -1)
    unit[dataset.task[::-1]] = given[::-1]
    other = np.flatnonzero(given != unit[dataset.task])
    if len(other):
        task = dataset.task_ids[dataset.task[other[0]]]
        raise DataError(f"The task {task!r} lies in two groups of {group!r}", "Name another column.")
    alone = unit < 0
    unit[alone] = unit.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return unit


def _strata(dataset: CrowdDataset) -> IntArray:
    """(n_tasks,) gold, else the most frequent label, else a class of its own."""
    voted = _most_frequent(dataset.task, dataset.label, dataset.n_tasks)
    voted[~dataset.annotated] = dataset.n_classes
    return np.where(dataset.gold >= 0, dataset.gold, voted)


def _most_frequent(of: IntArray, value: IntArray, n: int) -> IntArray:
    """(n,) the most frequent value of each; the smallest of several."""
    width = int(value.max(initial=0)) + 1
    counts: IntArray = np.bincount(of.astype(np.int64) * width + value, minlength=n * width).reshape(n, width)
    return np.asarray(counts.argmax(1))


def _every(n: int, share: float, start: float) -> BoolArray:
    """(n,) a share of places, evenly spread."""
    reached: FloatArray = np.floor(np.arange(n + 1) * share + start)
    chosen: AnyArray = np.diff(reached) > 0
    return chosen
