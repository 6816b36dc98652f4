"""Answer times: each worker's speed beside the others, and a worker's speed and accuracy over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import kolmogorov

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import divide, holm, wilson_interval
from crowdcore.analysis.verdicts.drift import times
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.by_name import WorkerLike, worker_number
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.times import SECONDS, TIME, durations

BREAK_MINUTES = 30.0
"""A longer gap between a worker's labels begins a new session."""
_LEAST = 20  # labels that a test needs
_STEP = 0.583  # deviations by which a discrete walk exceeds a limit on average (Siegmund 1985)


@dataclass(frozen=True, eq=False)
class Changes:
    """Most probable change of each worker's mean; arrays (n_workers,), NaN and -1 where it is not tested.

    Attributes:
        p_value: of "no change".
        adjusted: after Holm over the workers tested.
        at: labels before the change.
        before, after: the worker's mean before and after it.
    """

    p_value: FloatArray
    adjusted: FloatArray
    at: IntArray
    before: FloatArray
    after: FloatArray


def change_points(value: FloatArray, worker: IntArray, when: FloatArray, n_workers: int) -> Changes:
    """Test the mean of each worker's values (E,), in the order of time, for one change.

    With S_t the partial sums of ``e_j - mean(e)`` and s their deviation, ``x = (max_t |S_t| / s + 0.583) / √n`` follows
    Kolmogorov's distribution if nothing changes. The 0.583 corrects for the n discrete steps of the walk. Values of one
    session may be correlated: s² is multiplied by `_clustering`.
    """
    order = np.lexsort((when, worker))
    worker, e = worker[order], value[order]
    n = np.bincount(worker, minlength=n_workers)
    start = np.cumsum(n) - n
    mean = np.bincount(worker, e, n_workers) / np.maximum(n, 1)
    centred = e - mean[worker]
    deviation = np.sqrt(np.bincount(worker, centred**2, n_workers) / np.maximum(n, 1))
    sums = np.cumsum(centred)
    sums -= np.where(start > 0, sums[start - 1], 0.0)[worker] if len(sums) else 0.0
    largest = np.zeros(n_workers)
    sums = np.abs(sums)
    np.maximum.at(largest, worker, sums)
    tested = (n >= _LEAST) & (deviation > 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (largest / deviation + _STEP) / np.sqrt(
            n * _clustering(centred / deviation[worker], worker, when[order], n)
        )
    p_value = np.where(tested, kolmogorov(x), np.nan)
    place = np.arange(len(e)) - start[worker]
    at = np.full(n_workers, -1)
    peak = np.flatnonzero(sums >= largest[worker])[::-1]
    at[worker[peak]] = place[peak] + 1
    early = place < at[worker]

    def mean_of(some: FloatArray) -> FloatArray:
        weight = np.bincount(worker, some, n_workers)
        return divide(np.bincount(worker, e * some, n_workers), np.where(tested, weight, 0))

    before, after = mean_of(early.astype(np.float64)), mean_of((~early).astype(np.float64))
    return Changes(p_value, holm(p_value), np.where(tested, at, -1), before, after)


def _clustering(value: FloatArray, worker: IntArray, when: FloatArray, n: IntArray) -> FloatArray:
    """(n_workers,) ``1 + (m − 1) ρ``: the factor by which sessions raise the variance of sums of a worker's values.

    ρ is the correlation of values of one session, by analysis of variance over all *other* workers, so that a worker's
    own change at a break does not hide itself; m is the mean size of a value's session (1 if there is only one). Values
    are standardised per worker, and sorted by worker and time.
    """
    value = np.nan_to_num(value)
    first = (np.diff(worker, prepend=-1) != 0) | (np.diff(when, prepend=-np.inf) > 60 * BREAK_MINUTES)
    session = np.cumsum(first) - 1
    size, of = np.bincount(session), worker[first]
    sessions = np.bincount(of, minlength=len(n))
    squares = np.bincount(of, size**2, len(n)) / np.maximum(n, 1)
    between = np.bincount(of, np.bincount(session, value) ** 2 / np.maximum(size, 1), len(n))
    free, within = np.maximum(sessions - 1, 0), np.maximum(n - sessions, 0)
    rest = np.bincount(worker, value**2, len(n)) - between
    alone = free.sum() - free == 0  # nobody else has two sessions

    def others(own: FloatArray | IntArray) -> FloatArray:
        return np.asarray(own.sum() - np.where(alone, 0, own), np.float64)

    with np.errstate(divide="ignore", invalid="ignore"):
        by_session, inside, typical = (
            others(a) / others(b) for a, b in ((between, free), (rest, within), (n - squares, free))
        )
        rho = np.nan_to_num((by_session - inside) / (by_session + (typical - 1) * inside))
    return np.where(sessions > 1, 1 + (squares - 1) * np.maximum(rho, 0), 1.0)


BY_GAPS = (
    "There is no column “seconds”: an answer's time is the gap since the same worker's previous label, without breaks "
    "of more than 30 minutes and without labels that share their time."
)
"""Note on how answers are timed where only their moments are known."""
_STEPS = (86_400.0, 3_600.0, 60.0, 1.0)  # s, to which times may be rounded


@dataclass(frozen=True, eq=False)
class AnswerTimes:
    """Answer times, and the reasons for missing ones.

    Attributes:
        seconds: (n_annotations,) NaN where unknown.
        batch: (n_annotations,) bool, labels with the same time as another one of their worker.
        first: number of labels that begin a worker's session: no label before, or a break.
        step: seconds to which the times are rounded; 0 for the column ``seconds`` and for finer times.
        source: their source, in words.
    """

    seconds: FloatArray
    batch: BoolArray
    first: int
    step: float
    source: str


def answer_times(dataset: CrowdDataset, break_minutes: float = BREAK_MINUTES) -> AnswerTimes | None:
    """Time of each answer: the column ``seconds``, else the gap to the worker's previous label; None without these.

    A gap is an answer time only within a session, which ``break_minutes`` end, and if labels are stored one by one. So
    the first label of a worker and of each session has no answer time, and neither have labels with the same time as
    another one of the worker (uploaded together, or rounded).
    """
    none = np.zeros(dataset.n_annotations, bool)
    if dataset.extra is not None and SECONDS in dataset.extra:
        seconds = durations(dataset.extra[SECONDS])
        return None if np.isnan(seconds).all() else AnswerTimes(seconds, none, 0, 0.0, "the column seconds")
    moment = times(dataset)
    if moment is None:
        return None
    known = np.flatnonzero(~np.isnan(moment))
    order = known[np.lexsort((moment[known], dataset.worker[known]))]
    same = np.diff(dataset.worker[order], prepend=-1) == 0
    gap = np.where(same, np.diff(moment[order], prepend=0.0), np.inf)
    batch, first = none, gap > 60 * break_minutes
    tied = np.flatnonzero(gap == 0)
    batch[order[tied]] = batch[order[tied - 1]] = True
    seconds = np.full(dataset.n_annotations, np.nan)
    seconds[order] = np.where(first | batch[order], np.nan, gap)
    step = next((step for step in _STEPS if not (moment[known] % step).any()), 0.0)
    return AnswerTimes(
        seconds, batch, int((first & ~batch[order]).sum()), step, "gaps since the worker's previous label"
    )


_FAST, _OFTEN, _LEAST, _OTHERS = 0.2, 0.3, 10, 2
CHANGED = 0.025
"""Chance that a change of speed is reported for any steady worker: half of the level of the verdicts beside it."""
RULE = (
    "An answer is too fast if it took less than a fifth of the median of all answers to its task (three or more); a "
    "worker answers too fast if at least 30 % of ten answers or more are."
)


@dataclass(frozen=True, eq=False)
class WorkerSpeed(Shown):
    """Seconds per answer; arrays (n_workers,), NaN where a worker has no timed answer.

    Attributes:
        n: timed answers on tasks with two other timed answers or more.
        seconds: median seconds of an answer.
        relative: median of the answer's seconds over the median of its task; 1 for the typical worker.
        fast: share of the ``n`` answers that are too fast.
        too_fast: whether the worker answers too fast by `RULE`.
        change: the most probable change of log seconds relative to the others on the same tasks; None without times.
    """

    n: IntArray
    seconds: FloatArray
    relative: FloatArray
    fast: FloatArray
    too_fast: BoolArray
    change: Changes | None
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One row per worker; a change is given if it is sure (at level `CHANGED` over all workers, Holm)."""
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
    answers = answer_times(dataset)
    if answers is None or answers.step > 1:
        return np.empty(0, np.int64), np.empty(0)
    kept = np.flatnonzero(answers.seconds > 0)
    return kept, answers.seconds[kept]


def beside_others(
    dataset: CrowdDataset, kept: IntArray, took: FloatArray, moment: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Timed annotations (of ``kept``) that can be compared, and log seconds minus the mean of others on the task."""
    task, log = dataset.task[kept], np.log(took)
    total, others = np.bincount(task, log, dataset.n_tasks), np.bincount(task, minlength=dataset.n_tasks) - 1
    compared = np.flatnonzero((others[task] > 0) & ~np.isnan(moment[kept]))
    beside = log - (total[task] - log) / np.maximum(others[task], 1)
    return kept[compared], beside[compared]


@door
def worker_speed(dataset: CrowdDataset) -> WorkerSpeed | None:
    """Measure the workers' answer times (`answer_times`); None if unknown.

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


_FEWEST = 5  # labels of a block


@dataclass(frozen=True, eq=False)
class _Blocks(Shown):
    """Labels of one worker in the order of their times, in blocks of equal size; arrays (n_blocks,).

    Attributes:
        name: the worker's name.
        first, last: numbers of the block's first and last label, from 1.
        begins: time of its first label, as in the data.
        seconds: median seconds of a label; NaN if unknown.
        low, high: ends of the interval of the block's value.
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
        accuracy: mean belief in the labels, with gold the share of right ones; ``low`` and ``high`` are the ends of its
            95 % Wilson interval.
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
        after: the same after the change.
    """

    ratio: FloatArray
    change: int
    before: float
    after: float

    def frame(self) -> pd.DataFrame:
        """One line per block."""
        return self._table("seconds", "ratio", "low", "high")


@door
def worker_over_time(
    dataset: CrowdDataset, reference: ReferenceLike = None, *, worker: WorkerLike, n_blocks: int = 10
) -> WorkerOverTime | None:
    """Accuracy of a worker's judged labels in blocks by time; None where labels have no times.

    Args:
        reference: gold judges by gold; anything else by the other workers' labels (`peer_beliefs`).
        worker: id or number of the worker.
        n_blocks: most blocks; each holds five labels or more.

    Raises:
        DataError: no usable reference.
    """
    moment, number = times(dataset), worker_number(dataset, worker)
    if moment is None or dataset.extra is None:
        return None
    truth = resolve_reference(dataset, reference)
    peers = peer_beliefs(dataset, truth)
    belief = peers.judge[np.arange(len(peers.label)), peers.label]
    when = moment[peers.row]
    parts = _split((peers.worker == number) & ~np.isnan(belief) & ~np.isnan(when), when, n_blocks)
    if not parts:
        return None
    accuracy, n = np.array([belief[part].mean() for part in parts]), np.array([float(len(part)) for part in parts])
    low, high = wilson_interval(accuracy, n, 0.95)
    took = durations(dataset.extra[SECONDS]) if SECONDS in dataset.extra else np.full(dataset.n_annotations, np.nan)
    fields = _block_fields(dataset, number, [peers.row[part] for part in parts], took)
    return WorkerOverTime(*fields, low, high, accuracy, truth.name)


@door
def worker_speed_over_time(
    dataset: CrowdDataset, *, worker: WorkerLike, n_blocks: int = 10
) -> WorkerSpeedOverTime | None:
    """Speed of a worker in blocks by time; None where the labels have no times or no seconds to compare.

    Args:
        dataset: with the column ``timestamp``, and ``seconds`` unless gaps between labels are the answer times.
        worker: id or number of the worker.
        n_blocks: most blocks; each holds five answers or more.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.worker_speed_over_time(cc.load_dataset("demo"), worker=0) is None
        True
    """
    moment, (kept, seconds), number = times(dataset), timed_answers(dataset), worker_number(dataset, worker)
    if moment is None or not len(kept):
        return None
    rows, log_ratio = beside_others(dataset, kept, seconds, moment)
    changes = change_points(log_ratio, dataset.worker[rows], moment[rows], dataset.n_workers)
    parts = _split(dataset.worker[rows] == number, moment[rows], n_blocks)
    if not parts:
        return None
    took = np.full(dataset.n_annotations, np.nan)
    took[kept] = seconds
    low, ratio, high = np.exp(np.array([np.quantile(log_ratio[part], (0.25, 0.5, 0.75)) for part in parts]).T)
    sure = bool(changes.adjusted[number] <= CHANGED)
    before, after = (float(np.exp(level[number])) if sure else np.nan for level in (changes.before, changes.after))
    fields = _block_fields(dataset, number, [rows[part] for part in parts], took)
    return WorkerSpeedOverTime(*fields, low, high, ratio, int(changes.at[number]) if sure else -1, before, after)


def _split(chosen: BoolArray, when: FloatArray, blocks: int) -> list[IntArray]:
    """Places of the chosen entries in the order of time, in blocks of `_FEWEST` or more."""
    own = np.flatnonzero(chosen)
    own = own[np.argsort(when[own], kind="stable")]
    return np.array_split(own, max(1, min(blocks, len(own) // _FEWEST))) if len(own) else []


def _block_fields(
    dataset: CrowdDataset, worker: int, rows: list[IntArray], took: FloatArray
) -> tuple[str, IntArray, IntArray, AnyArray, FloatArray]:
    """First fields of `_Blocks`, by the annotations of each block and the seconds of every annotation."""
    assert dataset.extra is not None
    last = np.cumsum([len(part) for part in rows])
    begins = dataset.extra[TIME].astype("str").to_numpy(object)[[part[0] for part in rows]]
    known = [took[part][~np.isnan(took[part])] for part in rows]
    seconds = np.array([np.median(values) if len(values) else np.nan for values in known])
    return str(dataset.worker_ids[worker]), np.concatenate([[1], last[:-1] + 1]), last, begins, seconds
