"""How fast each worker answers, beside the others on the same tasks; too-fast answers and changes of speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.verdicts.drift import Drift, change_points, times
from crowdcore.analysis.workers.answer_times import answer_times
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_FAST, _OFTEN, _LEAST, _OTHERS = 0.2, 0.3, 10, 2
CHANGED = 0.025
"""Chance that a change of speed is told of any steady worker: half of the level of the verdicts, beside which it is."""
RULE = (
    "An answer is too fast if it took less than a fifth of the median of all answers to its task (three or more); a "
    "worker answers too fast if at least 30 % of ten answers or more are."
)


@dataclass(frozen=True, eq=False)
class WorkerSpeed:
    """Seconds per answer; arrays (n_workers,), NaN where a worker has no timed answer.

    Attributes:
        n: timed answers on tasks with two other timed answers or more.
        seconds: median seconds of an answer.
        relative: median of the answer's seconds over the median of its task; 1 for the typical worker.
        fast: share of the ``n`` answers that are too fast.
        too_fast: whether the worker answers too fast by `RULE`.
        change: the most probable change of log seconds beside the others on the same tasks; None without times.
        worker_ids: names.
    """

    n: IntArray
    seconds: FloatArray
    relative: FloatArray
    fast: FloatArray
    too_fast: BoolArray
    change: Drift | None
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One row per worker; a change is given where it is surely one (`CHANGED` in all, Holm)."""
        columns = {name: getattr(self, name) for name in ("seconds", "relative", "fast", "too_fast", "n")}
        frame = pd.DataFrame({"worker": self.worker_ids, **columns})
        if self.change is not None:
            surely = self.change.adjusted <= CHANGED
            times_ = np.where(surely, np.exp(self.change.after - self.change.before), np.nan)
            frame = frame.assign(
                **{"changed after": np.where(surely, self.change.at, np.nan), "seconds then ×": times_}
            )
        return frame


def timed_answers(dataset: CrowdDataset) -> tuple[IntArray, FloatArray]:
    """Numbers of the annotations that took more than 0 s, and their seconds; none where times are to the minute."""
    found = answer_times(dataset)
    if found is None or found.step > 1:
        return np.empty(0, np.int64), np.empty(0)
    kept = np.flatnonzero(found.seconds > 0)
    return kept, found.seconds[kept]


def beside_others(
    dataset: CrowdDataset, kept: IntArray, took: FloatArray, moment: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Numbers of the annotations that can be compared, and log seconds minus their mean of the others on the task.

    Args:
        kept: numbers of the timed annotations.
        took: (len(kept),) their seconds.
        moment: (n_annotations,) when each was given; NaN where that is not known.
    """
    task, log = dataset.task[kept], np.log(took)
    total, others = np.bincount(task, log, dataset.n_tasks), np.bincount(task, minlength=dataset.n_tasks) - 1
    compared = np.flatnonzero((others[task] > 0) & ~np.isnan(moment[kept]))
    beside = log - (total[task] - log) / np.maximum(others[task], 1)
    return kept[compared], beside[compared]


def worker_speed(dataset: CrowdDataset) -> WorkerSpeed | None:
    """How long workers' answers take (`answer_times`); None where it cannot be told.

    Args:
        dataset: with the column ``seconds`` or ``timestamp``; answers of 0 s or less are left out.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.worker_speed(cc.load_dataset("demo")) is None
        True
    """
    kept, took = timed_answers(dataset)
    if not len(kept):
        return None
    task, worker, n_workers = dataset.task[kept], dataset.worker[kept], dataset.n_workers
    every = pd.Series(took).groupby(task)
    several = every.transform("size").to_numpy() > _OTHERS
    ratio = np.where(several, took / every.transform("median").to_numpy(), np.nan)
    n = np.bincount(worker, several, n_workers).astype(int)
    with np.errstate(invalid="ignore", divide="ignore"):
        fast = np.bincount(worker, ratio < _FAST, n_workers) / n

    def median(of: FloatArray) -> FloatArray:
        return pd.Series(of).groupby(worker).median().reindex(range(n_workers)).to_numpy(np.float64)

    moment, change = times(dataset), None
    if moment is not None:
        rows, log_ratio = beside_others(dataset, kept, took, moment)
        change = change_points(log_ratio, dataset.worker[rows], moment[rows], n_workers)
    too_fast = (n >= _LEAST) & (np.nan_to_num(fast) >= _OFTEN)
    return WorkerSpeed(n, median(took), median(ratio), fast, too_fast, change, dataset.worker_ids)
