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
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.times import SECONDS, TIME, durations

_FEWEST = 5  # labels of a block


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Labels of one worker in the order of their times, in blocks of equal size; arrays (n_blocks,).

    Attributes:
        name: the worker's name.
        first, last: numbers of the block's first and last label, from 1.
        begins: time of its first label, as it stands in the data.
        seconds: median seconds that a label took; NaN where that is not known.
        low, high: ends of the interval of what is measured.
    """

    name: str
    first: IntArray
    last: IntArray
    begins: AnyArray
    seconds: FloatArray
    low: FloatArray
    high: FloatArray

    def _table(self, *columns: str) -> pd.DataFrame:
        return pd.DataFrame({name: getattr(self, name) for name in ("first", "last", "begins", *columns)})


@dataclass(frozen=True, eq=False)
class WorkerOverTime(_Blocks):
    """A worker's accuracy, in blocks of labels (`first`, `last`, `begins`, `seconds`); arrays (n_blocks,).

    Attributes:
        accuracy: mean belief in the labels; with gold, the share that is right; ``low`` and ``high`` are the ends of
            its 95 % Wilson interval.
        reference: what was taken for the truth.
    """

    accuracy: FloatArray
    reference: str

    def frame(self) -> pd.DataFrame:
        """One line per block."""
        return self._table("accuracy", "low", "high", "seconds")


@dataclass(frozen=True, eq=False)
class WorkerSpeedOverTime(_Blocks):
    """A worker's speed, in blocks of timed answers (`first`, `last`, `begins`, `seconds`); arrays (n_blocks,).

    Attributes:
        ratio: median of the answer's seconds over the geometric mean of the others' on the same task; ``low`` and
            ``high`` are its quartiles.
        change: answers before the change of speed; -1 where none is sure (`CHANGED` over all workers, Holm).
        before: geometric mean of the ratio up to the change, NaN without one.
        after: the same from there on.
    """

    ratio: FloatArray
    change: int
    before: float
    after: float

    def frame(self) -> pd.DataFrame:
        """One line per block."""
        return self._table("seconds", "ratio", "low", "high")


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
    belief = peers.judge[np.arange(len(peers.label)), peers.label]
    when = moment[peers.row]
    parts = _split((peers.worker == worker) & ~np.isnan(belief) & ~np.isnan(when), when, blocks)
    if not parts:
        return None
    accuracy, n = np.array([belief[part].mean() for part in parts]), np.array([float(len(part)) for part in parts])
    low, high = wilson_interval(accuracy, n, 0.95)
    took = durations(dataset.extra[SECONDS]) if SECONDS in dataset.extra else np.full(dataset.n_annotations, np.nan)
    about = _about(dataset, worker, [peers.row[part] for part in parts], took)
    return WorkerOverTime(*about, low, high, accuracy, truth.name)


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
    moment, (kept, seconds) = times(dataset), timed_answers(dataset)
    if moment is None or not len(kept):
        return None
    rows, log_ratio = beside_others(dataset, kept, seconds, moment)
    changes = change_points(log_ratio, dataset.worker[rows], moment[rows], dataset.n_workers)
    parts = _split(dataset.worker[rows] == worker, moment[rows], blocks)
    if not parts:
        return None
    took = np.full(dataset.n_annotations, np.nan)
    took[kept] = seconds
    low, ratio, high = np.exp(np.array([np.quantile(log_ratio[part], (0.25, 0.5, 0.75)) for part in parts]).T)
    sure = bool(changes.adjusted[worker] <= CHANGED)
    before, after = (float(np.exp(level[worker])) if sure else np.nan for level in (changes.before, changes.after))
    about = _about(dataset, worker, [rows[part] for part in parts], took)
    return WorkerSpeedOverTime(*about, low, high, ratio, int(changes.at[worker]) if sure else -1, before, after)


def _split(chosen: BoolArray, when: FloatArray, blocks: int) -> list[IntArray]:
    """Places of the chosen entries in the order of time, in blocks of `_FEWEST` or more."""
    own = np.flatnonzero(chosen)
    own = own[np.argsort(when[own], kind="stable")]
    return np.array_split(own, max(1, min(blocks, len(own) // _FEWEST))) if len(own) else []


def _about(
    dataset: CrowdDataset, worker: int, rows: list[IntArray], took: FloatArray
) -> tuple[str, IntArray, IntArray, AnyArray, FloatArray]:
    """The first fields of `_Blocks`, of the annotations of each block and the seconds that every annotation took."""
    assert dataset.extra is not None
    last = np.cumsum([len(part) for part in rows])
    begins = dataset.extra[TIME].astype("str").to_numpy(object)[[part[0] for part in rows]]
    known = [took[part][~np.isnan(took[part])] for part in rows]
    seconds = np.array([np.median(values) if len(values) else np.nan for values in known])
    return str(dataset.worker_ids[worker]), np.concatenate([[1], last[:-1] + 1]), last, begins, seconds
