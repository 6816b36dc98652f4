"""One worker's accuracy and speed over time, in blocks of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import wilson_interval
from crowdcore.analysis.verdicts.drift import change_points, times
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.workers.speed import CHANGED, beside_others, timed_answers
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.times import SECONDS, TIME, durations


@dataclass(frozen=True, eq=False)
class WorkerOverTime:
    """A worker's labels in the order of their times, in blocks of equal size; arrays (n_blocks,).

    Attributes:
        first: number of the block's first label, from 1.
        last: number of its last label.
        begins: time of its first label, as the data say it.
        accuracy: mean belief in its labels; with gold, the share that is right.
        low: lower end of its 95 % Wilson interval.
        high: upper end.
        seconds: median seconds that a label took; NaN where that is not known.
        name: the worker's name.
        reference: what was taken for the truth.
    """

    first: IntArray
    last: IntArray
    begins: AnyArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    seconds: FloatArray
    name: str
    reference: str

    def frame(self) -> pd.DataFrame:
        """One line per block."""
        columns = ("first", "last", "begins", "accuracy", "low", "high", "seconds")
        return pd.DataFrame({name: getattr(self, name) for name in columns})


def worker_over_time(
    dataset: CrowdDataset, reference: ReferenceLike = "gold", *, worker: int, blocks: int = 10
) -> WorkerOverTime | None:
    """Accuracy of a worker's judged labels in blocks by time; None where labels have no times.

    Args:
        reference: gold judges by gold; anything else by the other workers' labels (`peer_beliefs`).
        worker: number of the worker.
        blocks: most blocks; each holds five labels or more.

    Raises:
        DataError: no usable reference.
    """
    moment = times(dataset)
    if moment is None or dataset.extra is None:
        return None
    truth = resolve_reference(dataset, reference)
    peers = peer_beliefs(dataset, truth)
    row = peers.row
    belief = peers.judge[np.arange(len(peers.label)), peers.label]
    own = np.flatnonzero((peers.worker == worker) & ~np.isnan(belief) & ~np.isnan(moment[row]))
    own = own[np.argsort(moment[row[own]], kind="stable")]
    if not len(own):
        return None
    parts = np.array_split(own, max(1, min(blocks, len(own) // 5)))
    n = np.array([len(part) for part in parts])
    accuracy = np.array([belief[part].mean() for part in parts])
    low, high = wilson_interval(accuracy, n.astype(np.float64), 0.95)
    took = durations(dataset.extra[SECONDS]) if SECONDS in dataset.extra else None
    seconds = [np.nan if took is None else _median(took[row[part]]) for part in parts]
    begins = dataset.extra[TIME].astype("str").to_numpy(object)[row[[part[0] for part in parts]]]
    last = np.cumsum(n)
    return WorkerOverTime(
        last - n + 1, last, begins, accuracy, low, high, np.array(seconds), dataset.worker_ids[worker], truth.name
    )


def _median(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")


_LEAST = 5  # answers of a block


@dataclass(frozen=True, eq=False)
class WorkerSpeedOverTime:
    """A worker's timed answers in the order of their times, in blocks of equal size; arrays (n_blocks,).

    Attributes:
        first: number of the block's first answer, from 1.
        last: number of its last answer.
        begins: time of its first answer, as the data say it.
        seconds: median seconds of an answer.
        ratio: median of the answer's seconds over the geometric mean of the others' on the same task.
        low: first quartile of this ratio.
        high: third quartile.
        change: answers before the change of speed; -1 where none is sure (`CHANGED` over all workers, Holm).
        before: geometric mean of the ratio up to the change, NaN without one.
        after: the same from there on.
        name: the worker's name.
    """

    first: IntArray
    last: IntArray
    begins: AnyArray
    seconds: FloatArray
    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    change: int
    before: float
    after: float
    name: str

    def frame(self) -> pd.DataFrame:
        """One line per block."""
        columns = ("first", "last", "begins", "seconds", "ratio", "low", "high")
        return pd.DataFrame({name: getattr(self, name) for name in columns})


def worker_speed_over_time(dataset: CrowdDataset, *, worker: int, blocks: int = 10) -> WorkerSpeedOverTime | None:
    """Speed of a worker in blocks by time; None where the labels have no times or no seconds to compare.

    Args:
        dataset: with the column ``timestamp``, and ``seconds`` where gaps between labels are not to time them.
        worker: number of the worker.
        blocks: most blocks; each holds five answers or more.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.worker_speed_over_time(cc.load_dataset("demo"), worker=0) is None
        True
    """
    moment, (kept, took) = times(dataset), timed_answers(dataset)
    if moment is None or dataset.extra is None or not len(kept):
        return None
    rows, log_ratio = beside_others(dataset, kept, took, moment)
    found = change_points(log_ratio, dataset.worker[rows], moment[rows], dataset.n_workers)
    own = np.flatnonzero(dataset.worker[rows] == worker)
    own = own[np.argsort(moment[rows[own]], kind="stable")]
    if not len(own):
        return None
    parts = np.array_split(own, max(1, min(blocks, len(own) // _LEAST)))
    last = np.cumsum([len(part) for part in parts])
    seconds = pd.Series(took, kept)[rows].to_numpy(np.float64)
    low, ratio, high = np.exp(np.array([np.quantile(log_ratio[part], (0.25, 0.5, 0.75)) for part in parts]).T)
    sure = bool(found.adjusted[worker] <= CHANGED)
    before, after = (float(np.exp(level[worker])) if sure else np.nan for level in (found.before, found.after))
    return WorkerSpeedOverTime(
        np.concatenate([[0], last[:-1]]) + 1,
        last,
        dataset.extra[TIME].astype("str").to_numpy(object)[rows[[part[0] for part in parts]]],
        np.array([np.median(seconds[part]) for part in parts]),
        ratio,
        low,
        high,
        int(found.at[worker]) if sure else -1,
        before,
        after,
        str(dataset.worker_ids[worker]),
    )
