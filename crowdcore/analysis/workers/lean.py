"""Strict and lenient workers: how many grades above or below the others each rates, where classes are ordered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from crowdcore.analysis.statistics import holm
from crowdcore.core.errors import DataError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_ROUNDS = 30
_FEWEST = 10  # labels beside others' that an estimate needs
_LEAST = 0.25  # steps between classes from which a lean is reported
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Lean(Shown):
    """Lean of each worker, in steps between neighbouring classes; arrays (n_workers,), NaN with too few labels.

    Attributes:
        shift: mean difference of the worker's labels and those of others on the same tasks; below 0: the worker gives
            lower classes. The mean over labels is 0, as a lean common to all is invisible.
        low, high: ends of the 95 % interval.
        p_value: of no lean (Student's t), after Holm over the workers.
        n: labels on tasks that others labelled, too.
    """

    shift: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    n: IntArray
    worker_ids: pd.Index[str]

    @property
    def leans(self) -> BoolArray:
        """(n_workers,) bool, whether the worker is surely strict or lenient, by a quarter of a step or more."""
        return np.asarray((self.p_value <= _LEVEL) & (np.abs(self.shift) >= _LEAST))

    def frame(self) -> pd.DataFrame:
        """One row per worker."""
        columns = {name: getattr(self, name) for name in ("shift", "low", "high", "p_value", "n")}
        return pd.DataFrame({"worker": self.worker_ids, **columns})


@door
def is_ordered(dataset: CrowdDataset) -> bool:
    """Return whether the classes are numbers and thus have an order."""
    names = dataset.classes
    return len(names) > 2 and all(name.lstrip("-").replace(".", "", 1).isdigit() for name in names)


def places(dataset: CrowdDataset) -> FloatArray | None:
    """(C,) place of each class in the order of the numbers; None if they have no order."""
    if not is_ordered(dataset):
        return None
    return np.argsort(np.argsort([float(name) for name in dataset.classes])).astype(np.float64)


@door
def worker_lean(dataset: CrowdDataset) -> Lean:
    """Fit ``y_ir = task_i + lean_r`` alternately to the places of the labels among the ordered classes.

    A label is compared with the mean of the others' labels on its task, each less its worker's lean. t is the mean of
    these differences over its standard error.

    Args:
        dataset: classes are numbers; their steps count as equal.

    Raises:
        DataError: the classes have no order.

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> rows = [(i, who, i % 3 + 1 + (who == "ann")) for i in range(30) for who in ("ann", "ben", "cem")]
        >>> grades = cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"]).astype(str))
        >>> worker_lean(grades).shift.round(2).tolist()
        [0.67, -0.33, -0.33]
    """
    place = places(dataset)
    if place is None:
        raise DataError(f"The classes of {dataset.name} are not three or more numbers, so nobody can be strict")
    y = place[dataset.label]
    task, worker, n_workers = dataset.task, dataset.worker, dataset.n_workers
    others = np.bincount(task, minlength=dataset.n_tasks)[task] - 1
    has_others = others > 0
    n = np.bincount(worker, has_others, n_workers)
    shift, beside = np.zeros(n_workers), np.zeros(len(y))
    for _ in range(_ROUNDS):
        z = y - shift[worker]
        rest = (np.bincount(task, z, dataset.n_tasks)[task] - z) / np.maximum(others, 1)
        beside = np.where(has_others, y - rest, 0.0)
        shift = np.bincount(worker, beside, n_workers) / np.maximum(n, 1)
        shift -= np.average(shift, weights=n) if n.any() else 0.0
    left = np.where(has_others, beside - shift[worker], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(n >= _FEWEST, n - 1, np.nan)
        error = np.sqrt(np.bincount(worker, left**2, n_workers) / free / n)
        half = stdtrit(free, 0.975) * error
        p_value = 2 * stdtr(free, -np.abs(shift) / error)
    shift = np.where(n >= _FEWEST, shift, np.nan)
    ends = shift - half, shift + half
    return Lean(shift, *ends, holm(p_value), n.astype(np.int64), dataset.worker_ids)


@door
def without_lean(dataset: CrowdDataset, found: Lean | None = None) -> CrowdDataset:
    """Labels less their worker's lean, rounded to the nearest class; unchanged for workers who do not surely lean.

    Args:
        dataset: classes are numbers.
        found: of `worker_lean`; default: its result.

    Raises:
        DataError: the classes have no order.
    """
    found = worker_lean(dataset) if found is None else found
    place = places(dataset)
    assert place is not None
    moved = place[dataset.label] - np.where(found.leans, np.nan_to_num(found.shift), 0.0)[dataset.worker]
    rank = np.clip(np.rint(moved), 0, len(place) - 1).astype(np.int64)
    return replace(dataset, label=np.argsort(place)[rank].astype(np.int32), truth=None)
