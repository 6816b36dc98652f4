"""Changes from one round of labelling to the next, and tests of them against noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.analysis.two_rounds.split import HALVES, ROUND, in_second, join_rounds
from crowdcore.analysis.verdicts.peers import by_gold, peer_beliefs
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_LEAST = 5  # tasks in each round that a test needs


@dataclass(frozen=True, eq=False)
class Change:
    """Means of the two rounds and a test that they are equal; arrays (n,), NaN where there is nothing to compare.

    Attributes:
        first, second: means of the two rounds.
        low, high: ends of the 95 % interval of ``second - first``.
        p_value: two-sided.
    """

    first: FloatArray
    second: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray


class Clusters:
    """Labels in groups, dependent within tasks and workers.

    Args:
        group, weight: (E,) each entry's group, one of ``n``, and its weight there.
        second, task, worker: (E,) whether the entry is of the second round, its task and worker.
        within: compare each worker with their own labels of the other round; else workers count as a random sample.
    """

    def __init__(
        self,
        group: IntArray,
        n: int,
        weight: FloatArray,
        second: BoolArray,
        task: IntArray,
        worker: IntArray,
        within: bool,
    ) -> None:
        self.group, self.n, self.weight, self.second, self.within = group, n, weight, second, within
        self.mass = np.stack([np.bincount(group, weight * (second == k), n) for k in (0, 1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            self.share = np.nan_to_num(weight * np.where(second, 1, -1) / self.mass[second.astype(int), group])
        self.task, self.worker = _Unit(task, group, n), _Unit(worker, group, n)
        self.fewest = np.minimum(*(self.task.effective(weight * (second == k)) for k in (0, 1)))

    def change(self, value: FloatArray, influence: float = 1.0) -> Change:
        """Compare the means of ``value`` (E,) in each group.

        **Within workers.** With x̄_r a worker's mean of both rounds and π_r the share of the second round,
        ``S = Σ_j m_j (1[second] - π_r) (x_j - x̄_r)`` has mean 0 if nothing changed, whoever labelled how much. Its
        variance clusters by task, ``V = Σ_i (Σ_{j in i} s_j)²``, each term times n_r / (n_r - 1) for the fitted mean.

        **Between workers.** The difference is ``D = Σ_j w_j x_j`` with ``w_j = ±m_j / Σ m`` of the round; the variance
        clusters by task and by worker (Cameron, Gelbach & Miller 2011): ``V = Σ_i U_i² + Σ_r U_r² - Σ_j u_j²`` with
        ``u_j = w_j (x_j - x̄)``, at least as large as each of the first two.

        t has one degree of freedom less than the round with fewer tasks (Kish's effective number; Welch's t has at
        least so many), or than there are workers, if they are fewer. The interval is that of D, with each round's own
        mean, clustered by task alone where workers are compared with themselves.

        Args:
            influence: times that a worker's labels enter the mean: 2 if others' values depend on them, too.
        """
        parts = [np.bincount(self.group, self.weight * value * (self.second == k), self.n) for k in (0, 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = np.stack(parts) / self.mass
            gap, both = second - first, sum(parts) / self.mass.sum(0)
            own = self.share * (value - np.stack([first, second])[self.second.astype(int), self.group])
            if self.within:
                score, freedom = self._score(value), self.fewest - 1.0
                excess, null, wide = np.bincount(self.group, score, self.n), *map(self._by_task, (score, own))
            else:
                excess, freedom = gap, np.minimum(self.fewest, self.worker.number) - 1.0
                null = self._two_way(self.share * (value - both[self.group]), influence)
                wide = self._two_way(own, influence)
            p_value = 2 * stdtr(freedom, -np.abs(excess / null))
            half = stdtrit(freedom, 0.975) * np.where(wide > 1e-12, wide, 0)
        tested = (self.fewest >= _LEAST) & (null > 1e-12) & (freedom >= 1)
        return Change(first, second, gap - half, gap + half, np.where(tested, p_value, np.nan))

    def _score(self, value: FloatArray) -> FloatArray:
        """(E,) terms of S."""
        of = self.worker
        mass = of.total(self.weight)
        mean, later = of.total(self.weight * value) / mass, of.total(self.weight * self.second) / mass
        spare = np.sqrt(mass / np.maximum(mass - 1, 0.5))
        return np.asarray(self.weight * (self.second - later[of.at]) * (value - mean[of.at]) * spare[of.at])

    def _by_task(self, u: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(self.task.squares(u)))

    def _two_way(self, u: FloatArray, influence: float) -> FloatArray:
        by_task, by_worker = self.task.squares(u), influence**2 * self.worker.squares(u)
        both = by_task + by_worker - np.bincount(self.group, u**2, self.n)
        return np.asarray(np.sqrt(np.maximum(both, np.maximum(by_task, by_worker))))


class _Unit:
    """Tasks, or workers, within groups."""

    def __init__(self, unit: IntArray, group: IntArray, n: int) -> None:
        key, self.at = np.unique(unit.astype(np.int64) * n + group, return_inverse=True)
        self.group = key % n
        self.number = np.bincount(self.group, minlength=n)

    def total(self, u: FloatArray) -> FloatArray:
        """Sums of ``u`` (E,) over each unit of each group."""
        return np.bincount(self.at, u, len(self.group)).astype(np.float64)

    def effective(self, weight: FloatArray) -> FloatArray:
        """(n,) units that count: ``(Σ w)² / Σ w²`` over the units' weights (Kish)."""
        total, n = self.total(weight), len(self.number)
        squares = np.bincount(self.group, total**2, n)
        return np.asarray(np.bincount(self.group, total, n) ** 2 / np.maximum(squares, 1e-300))

    def squares(self, u: FloatArray) -> FloatArray:
        """(n,) sums of the squared totals, for the number of units at hand."""
        n = self.number
        return np.bincount(self.group, self.total(u) ** 2, len(n)) * n / np.maximum(n - 1, 1)


def worker_change(
    value: FloatArray, second: BoolArray, worker: IntArray, stratum: IntArray, n_workers: int, n_strata: int
) -> Change:
    """Compare each worker's means of ``value`` (E,) in 0 … 1, within strata (true classes) and pooled over them.

    The means are those over the strata that the worker met in both rounds, weighed by ``n_1 n_2 / (n_1 + n_2)``
    (Mantel & Haenszel). If nothing changed, all orders of a worker's labels within a stratum are equally probable, so
    the sum of the second round has variance ``n_1 n_2 / n · s²``; the statistic, less half a label, is compared with
    the t distribution of Pitman's permutation test. The interval adds a right and a wrong label to each round (Agresti
    & Caffo 2000).
    """
    cell = worker.astype(np.int64) * n_strata + stratum
    shape = n_workers, n_strata

    def summed(some: FloatArray | BoolArray) -> FloatArray:
        return np.bincount(cell, some, n_workers * n_strata).reshape(shape).astype(np.float64)

    n1, n2 = summed(~second), summed(second)
    k1, k2 = summed(value * ~second), summed(value * second)
    n, k = n1 + n2, k1 + k2
    squares = np.maximum(summed(value**2) - np.divide(k**2, n, out=np.zeros(shape), where=n > 0), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.nan_to_num(n1 * n2 / n)
        total = weight.sum(1)
        means = [np.nansum(weight * k_ / n_, 1) / total for k_, n_ in ((k1, n1), (k2, n2))]
        excess = np.nansum(np.where(weight > 0, k2 - n2 * k / n, 0), 1)
        variance = np.nansum(np.where(weight > 0, n1 * n2 / (n * (n - 1)) * squares, 0), 1)
        met = weight > 0
        freedom = (n * met).sum(1) - met.sum(1)
        z = np.maximum(np.abs(excess) - 0.5, 0) / np.sqrt(variance)
        share = np.minimum(z**2 / freedom, 1 - 1e-12)
        p_value = 2 * stdtr(freedom - 1, -np.sqrt(share * (freedom - 1) / (1 - share)))
        spread = 0.0
        for mean, n_ in zip(means, (n1, n2), strict=True):
            labels = (n_ * met).sum(1)
            drawn = (mean * labels + 1) / (labels + 2)
            spread = spread + drawn * (1 - drawn) * np.nansum(np.where(met, weight**2 / n_, 0), 1) / total**2
        half = 1.96 * np.sqrt(spread)
    least = np.minimum((n1 * met).sum(1), (n2 * met).sum(1))
    tested = (least >= _LEAST) & (variance > 1e-12) & (freedom >= 2)
    gap = means[1] - means[0]
    return Change(means[0], means[1], gap - half, gap + half, np.where(tested, p_value, np.nan))


MEASURES = ("labels that are right", "agreement with the task's other labels")
WITHIN = "Almost all labels come from workers of both rounds: each worker is compared with their own labels."
BETWEEN = "The rounds have different workers, who count as a random sample: few workers cannot show small changes."
CONTROL = (
    "If nothing changed, the probability of any alarm among measures, classes, mistakes and workers is at most 5 %: "
    "Benjamini–Hochberg within each of the four, q-values multiplied by four."
)
_BY_MODEL = (
    "There is no gold: a label is judged by the other labels on its task, with confusions counted against {name!r}, "
    "fitted to both rounds together. So workers who stay the same look better if the others became better."
)
_FAMILIES = 4
_LEVEL = 0.05
_LEAST_BELIEF = 0.02  # below which a label does not count towards a class
_COMMON = 0.9  # least share of each round's labels by workers of both, for comparing workers with themselves
_CARRIERS = 5  # tasks with a mistake that the test of its change needs


@dataclass(frozen=True, eq=False)
class Rounds(Shown):
    """Two rounds side by side; q-values are after Benjamini–Hochberg, times the number of families.

    Attributes:
        names: of the two rounds.
        n_annotations: labels of each round, (2,).
        n_tasks: tasks of each round, (2,).
        n_workers: workers of each round, (2,).
        within: whether workers are compared with themselves; else they count as a random sample.
        measures: (2,) `MEASURES`.
        q_measures: (2,).
        noise: (C,) share of wrong labels among those on tasks of each class.
        q_noise: (C,).
        mistakes: (C, C) share of the labels on tasks of class a that are b.
        q_mistakes: (C, C) NaN on the diagonal and for mistakes on fewer than five tasks.
        carriers: (2, C, C) workers who made each mistake in each round.
        workers: (n_workers,) share of right labels of each worker, on the classes met in both rounds.
        q_workers: (n_workers,) NaN for workers of one round and those with fewer than five labels in one.
        labels: (2, n_workers) labels given in each round.
        truth: the same in words.
        by_chance: whether the rounds are halves drawn at random, so that every change is chance.
    """

    names: tuple[str, str]
    n_annotations: IntArray
    n_tasks: IntArray
    n_workers: IntArray
    within: bool
    measures: Change
    q_measures: FloatArray
    noise: Change
    q_noise: FloatArray
    mistakes: Change
    q_mistakes: FloatArray
    carriers: IntArray
    workers: Change
    q_workers: FloatArray
    labels: IntArray
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    truth: str
    by_chance: bool = False

    @property
    def alarm(self) -> bool:
        """Return whether anything changed beyond noise."""
        return any(bool((q <= _LEVEL).any()) for q in (self.q_measures, self.q_noise, self.q_mistakes, self.q_workers))

    def measures_frame(self) -> pd.DataFrame:
        """A row per measure, then one per class: wrong labels on its tasks."""
        what = [*MEASURES, *(f"wrong labels on “{name}”" for name in self.classes)]
        both = [_frame(self.measures, self.q_measures), _frame(self.noise, self.q_noise)]
        table = pd.concat(both, ignore_index=True)
        table.insert(0, "what", what)
        return table

    def mistakes_frame(self) -> pd.DataFrame:
        """A row per mistake made in either round, the surest change first; ``change`` in words."""
        true, given = np.nonzero((self.carriers.sum(0) > 0) & ~np.eye(len(self.classes), dtype=bool))
        at, names = (true, given), np.array(self.classes, object)
        before, after = self.carriers[:, true, given]
        surely, more = self.q_mistakes[at] <= _LEVEL, self.mistakes.second[at] > self.mistakes.first[at]
        words = np.select(
            [surely & more & (before < 2), surely & more, surely & (after < 2), surely],
            ["came", "more often", "went", "less often"],
            "",
        )
        table = pd.DataFrame({"true": names[true], "given": names[given], "change": words})
        table = table.assign(first=self.mistakes.first[at], second=self.mistakes.second[at])
        table = table.assign(**{"workers first": before, "workers second": after, "q_value": self.q_mistakes[at]})
        return table.sort_values("q_value", kind="stable", ignore_index=True)

    def workers_frame(self) -> pd.DataFrame:
        """A row per worker, the surest change first; no shares for workers of one round only. Index = number."""
        active = np.flatnonzero((self.labels > 0).any(0))
        table = _frame(self.workers, self.q_workers).iloc[active]
        table.insert(0, "worker", self.worker_ids[active])
        surely = table["q_value"].to_numpy() <= _LEVEL
        words = np.where(surely, np.where(table["second"] > table["first"], "better", "worse"), "")
        table.insert(1, "change", words)
        table = table.assign(**{"labels first": self.labels[0, active], "labels second": self.labels[1, active]})
        return table.sort_values("q_value", kind="stable")


def _frame(change: Change, q_value: FloatArray) -> pd.DataFrame:
    """A row per mean: both rounds, their difference with its interval, the q-value."""
    columns = {"first": change.first, "second": change.second, "difference": change.second - change.first}
    return pd.DataFrame({**columns, "from": change.low, "to": change.high, "q_value": q_value})


@door
def compare_rounds(first: CrowdDataset, second: CrowdDataset, reference: ReferenceLike = None) -> Rounds:
    """Test for changes from one dataset to the next, of the crowd and of each worker; see `rounds`.

    Args:
        first: the earlier round.
        second: the later one; equal ids are the same task, or worker.
        reference: what counts as the truth, fitted to both rounds together; default: gold where there is some,
            else `auto`.

    Raises:
        DataError: rounds that cannot be compared, or no such reference.

    Examples:
        >>> import crowdcore as cc
        >>> ds = cc.load_dataset("demo")
        >>> cc.analysis.compare_rounds(ds, ds).alarm
        False
    """
    both = join_rounds(first, second)
    result = rounds(both, reference, by=ROUND)
    names = (first.name, second.name) if first.name != second.name else ("first", "second")
    return replace(result, names=names)


@door
def rounds(dataset: CrowdDataset, reference: ReferenceLike = None, *, by: str = "", at: str = "") -> Rounds:
    """Compare two rounds of one dataset.

    Agreement, the share of right labels, the share of wrong ones per class and of each mistake are means over labels;
    `Clusters.change` tests their change, with labels dependent within tasks (of tags, within sentences) and within
    workers. `worker_change` tests each worker of both rounds, within true classes, by the first label that they gave to
    a task in each round. `CONTROL` describes the control of false alarms.

    Args:
        reference: gold judges by gold; anything else by the other labels of the task (`peer_beliefs`; where workers
            labelled tasks again, their labels of each round count as those of two workers).
        by: what separates the rounds (default: the column ``round``), and ``at`` where the second begins; see
            `in_second`.

    Raises:
        DataError: no usable reference, or one round is empty.
        SettingError: no such column or value, or no rounds are given.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.rounds(cc.load_dataset("demo"), by="halves").n_annotations.tolist()
        [2596, 2658]
    """
    second, names = in_second(dataset, by, at)
    truth = resolve_reference(dataset, reference)
    rows, judge, sentence = _judged_rows(dataset, truth, second)
    unit = dataset.unit
    task, worker, label, later = unit[dataset.task[rows]], dataset.worker[rows], dataset.label[rows], second[rows]
    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    labels = np.stack([np.bincount(dataset.worker[second == k], minlength=n_workers) for k in (0, 1)])
    right, stratum = judge[np.arange(len(rows)), label], judge.argmax(1)
    common = labels[:, (labels > 0).all(0)].sum(1) / labels.sum(1)
    within = bool(common.min() >= _COMMON)
    measures = _measures(dataset, second, rows, right, unit, within)
    entry, true = np.nonzero(judge > _LEAST_BELIEF)
    weight, given = judge[entry, true], label[entry]
    of_class = Clusters(true, n_classes, weight, later[entry], task[entry], worker[entry], within)
    noise = of_class.change((given != true).astype(np.float64))
    cells = [of_class.change((given == b).astype(np.float64)) for b in range(n_classes)]
    mistakes = Change(*(np.stack([getattr(c, f) for c in cells], 1) for f in Change.__dataclass_fields__))
    cell = stratum * n_classes + label
    carried = np.bincount(np.unique(task.astype(np.int64) * n_classes**2 + cell) % n_classes**2, minlength=n_classes**2)
    tested = (carried.reshape(n_classes, n_classes) >= _CARRIERS) & ~np.eye(n_classes, dtype=bool)
    made = [np.unique(worker[later == k].astype(np.int64) * n_classes**2 + cell[later == k]) for k in (0, 1)]
    carriers = np.stack([np.bincount(key % n_classes**2, minlength=n_classes**2) for key in made])
    once = np.unique((2 * dataset.task[rows].astype(np.int64) + later) * n_workers + worker, return_index=True)[1]
    workers = worker_change(right[once], later[once], worker[once], stratum[once], n_workers, n_classes)
    parts = [(dataset.task[second == k], dataset.worker[second == k]) for k in (0, 1)]
    return Rounds(
        names,
        np.array([len(tasks) for tasks, _ in parts]),
        np.array([len(np.unique(tasks)) for tasks, _ in parts]),
        np.array([len(np.unique(workers_of)) for _, workers_of in parts]),
        within,
        measures,
        _controlled(measures.p_value),
        noise,
        _controlled(noise.p_value),
        mistakes,
        _controlled(np.where(tested, mistakes.p_value, np.nan)),
        carriers.reshape(2, n_classes, n_classes),
        workers,
        _controlled(workers.p_value),
        labels,
        dataset.worker_ids,
        dataset.classes,
        truth.name,
        sentence,
        by == HALVES,
    )


def _controlled(p_value: FloatArray) -> FloatArray:
    return np.minimum(_FAMILIES * benjamini_hochberg(p_value), 1.0)


def _judged_rows(dataset: CrowdDataset, truth: Reference, second: BoolArray) -> tuple[IntArray, FloatArray, str]:
    """Rows of the annotations that can be judged, belief in each class of their tasks (n, C), and a sentence on it."""
    if truth.checked:
        rows = np.flatnonzero(truth.labels[dataset.task] >= 0)
        judge = (np.arange(dataset.n_classes) == truth.labels[dataset.task[rows], None]).astype(np.float64)
        return rows, judge, by_gold(dataset, truth)
    if len(np.unique(dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker)) < dataset.n_annotations:
        ids = pd.RangeIndex(2 * dataset.n_workers).astype("str")  # both of a worker's answers to a task count
        dataset = replace(dataset, worker=2 * dataset.worker + second, worker_ids=ids, truth=None)
    peers = peer_beliefs(dataset, truth)
    known = ~np.isnan(peers.judge[:, 0])
    return peers.row[known], peers.judge[known], _BY_MODEL.format(name=truth.name)


def _measures(
    dataset: CrowdDataset, second: BoolArray, rows: IntArray, right: FloatArray, unit: IntArray, within: bool
) -> Change:
    """(2,) changes of `MEASURES`."""
    here = 2 * dataset.task.astype(np.int64) + second
    total = np.bincount(here, minlength=2 * dataset.n_tasks)[here]
    alike = np.unique(here * dataset.n_classes + dataset.label, return_inverse=True, return_counts=True)
    several = np.flatnonzero(total > 1)
    agreed = (alike[2][alike[1]][several] - 1) / (total[several] - 1)
    result = []
    for at, value, influence in ((rows, right, 1), (several, agreed, 2)):
        one = np.zeros(len(at), np.int64)
        clusters = Clusters(one, 1, np.ones(len(at)), second[at], unit[dataset.task[at]], dataset.worker[at], within)
        result.append(clusters.change(value, influence))
    return Change(*(np.concatenate([getattr(c, f) for c in result]) for f in Change.__dataclass_fields__))
