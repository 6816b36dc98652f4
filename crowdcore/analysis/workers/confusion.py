"""Confusion matrix of each worker: counted, shrunken to the crowd's, and with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv, gammaln

from crowdcore import aggregation
from crowdcore.aggregation import DawidSkene
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.analysis.reference import ReferenceLike, as_judge, resolve_reference
from crowdcore.analysis.statistics import check_share, row_shares
from crowdcore.core.counts import confusion_counts, soft_confusion_counts
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

MOST_BYTES = 4 * 2**30


@dataclass(frozen=True, eq=False)
class WorkerConfusion(Shown):
    """Confusion matrix of each worker.

    Args:
        matrices: (n_workers, C, C) row = true class, column = given label, rows sum to 1; NaN rows without evidence.
        counts: (n_workers, C, C) annotations behind ``matrices``; fractions where the reference is soft.
    """

    matrices: FloatArray
    counts: FloatArray
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str

    @property
    def evidence(self) -> FloatArray:
        """(n_workers, C) annotations behind each row."""
        return np.asarray(self.counts.sum(2))

    @property
    def evidenced(self) -> BoolArray:
        """(n_workers, C) bool, whether a row rests on any annotation."""
        return np.asarray(self.evidence > 0)

    @property
    def crowd(self) -> FloatArray:
        """(C, C) confusion of all annotations together, NaN rows without evidence."""
        return row_shares(self.crowd_counts)

    @property
    def crowd_counts(self) -> FloatArray:
        """(C, C) annotations of all workers."""
        return np.asarray(self.counts.sum(0))

    def frame(self) -> pd.DataFrame:
        """One line per cell that holds annotations: worker, true, given, count, share (of the worker's row)."""
        worker, true, given = np.nonzero(self.counts)
        names = pd.Index(self.classes)
        of = {"worker": self.worker_ids[worker], "true": names[true], "given": names[given]}
        cells = {"count": self.counts[worker, true, given], "share": self.matrices[worker, true, given]}
        return pd.DataFrame({**of, **cells})


@door
def worker_confusion(dataset: CrowdDataset, reference: ReferenceLike = None) -> WorkerConfusion:
    """Count each worker's labels by true class and normalise the rows (CCC, section 2.2).

    With a soft reference an annotation counts towards every class by the task's posterior. Repeats count each. If an
    aggregator is the reference, labels of a worker who shares no task with another one do not count: the aggregator
    repeats them.

    Args:
        reference: what counts as the truth.

    Raises:
        DataError: no usable reference, or matrices of more than `MOST_BYTES`.

    Examples:
        >>> import crowdcore as cc
        >>> confusion = cc.analysis.worker_confusion(cc.load_dataset("demo"), reference="gold")
        >>> confusion.matrices.shape
        (40, 10, 10)
    """
    truth = as_judge(dataset, resolve_reference(dataset, reference))
    n_workers, n_classes = dataset.n_workers, dataset.n_classes
    refuse_beyond(
        2 * 8 * n_workers * n_classes**2,
        f"Confusion matrices of {n_workers:,} workers over {n_classes:,} classes",
        "Merge classes, or look at fewer workers.",
    )
    if truth.posterior is not None:
        counts = soft_confusion_counts(dataset.task, dataset.worker, dataset.label, truth.posterior, n_workers)
    else:
        counts = confusion_counts(dataset.task, dataset.worker, dataset.label, truth.labels, n_workers, n_classes)
    return WorkerConfusion(row_shares(counts), counts, dataset.worker_ids, dataset.classes, truth.name)


def refuse_beyond(n_bytes: int, what: str, remedy: str) -> None:
    """Refuse arrays of more than `MOST_BYTES` before they are allocated."""
    if n_bytes > MOST_BYTES:
        raise DataError(
            f"{what} would need {n_bytes / 2**30:,.1f} GiB ({n_bytes:,} bytes), "
            f"more than the {MOST_BYTES // 2**30} GiB that crowdcore allows itself",
            remedy,
        )


def shrunken_confusion(confusion: WorkerConfusion) -> FloatArray:
    """Posterior means of the workers' confusions, by empirical Bayes.

    Rows of a class a are draws from one Dirichlet distribution around the crowd's row p_a, whose spread
    ρ_a = 1 / (1 + κ_a) comes from the labels (`spread_of_workers`):

    ``E[π^r_a | n^r_a] = (n^r_a π̂^r_a + κ_a p_a) / (n^r_a + κ_a)``

    so workers with few labels lie near the crowd, and if workers differ only by chance (ρ_a = 0) all rows are the
    crowd's.

    Returns:
        (n_workers, C, C) float64, rows sum to 1; zero rows for classes without any annotation.
    """
    spread, evidence = spread_of_workers(confusion), confusion.evidence
    heard = evidence * spread  # n / (n + κ), without the infinite κ of no spread
    share = (heard / (heard + 1 - spread + (heard == 0)))[..., None]
    out: FloatArray = share * np.nan_to_num(confusion.matrices) + (1 - share) * np.nan_to_num(confusion.crowd)
    return out


def spread_of_workers(confusion: WorkerConfusion) -> FloatArray:
    """Variation between workers beyond chance, by class: 0 = chance only, 1 = each worker always gives one label.

    The intraclass correlation of labels within workers, by moments (Weir and Hill 2002): with the mean squares between
    workers, MSB, and within them, MSW, and n_c the effective labels per worker,
    ``ρ_a = max(0, MSB - MSW) / (MSB + (n_c - 1) MSW)``.

    Returns:
        (C,) float64 in [0, 1]; 0 for classes that fewer than two workers labelled, or none twice.
    """
    n, shares, crowd = confusion.evidence, np.nan_to_num(confusion.matrices), np.nan_to_num(confusion.crowd)
    total, between = n.sum(0), np.maximum((n > 0).sum(0) - 1, 0)  # (C,) labels, degrees of freedom between workers
    within = np.maximum(n - 1, 0).sum(0)
    squares_between = (n[..., None] * (shares - crowd) ** 2).sum((0, 2))
    squares_within = (n[..., None] * shares * (1 - shares)).sum((0, 2))
    known = (between > 0) & (within > 0)
    b, w = (
        np.where(known, s / np.where(known, f, 1), 0.0)
        for s, f in ((squares_between, between), (squares_within, within))
    )
    per_worker = (total - (n**2).sum(0) / np.where(known, total, 1)) / np.where(known, between, 1)
    whole = b + (per_worker - 1) * w
    out: FloatArray = np.divide(np.maximum(b - w, 0), whole, out=np.zeros(len(whole)), where=known & (whole > 0))
    return np.clip(out, 0, 1)


_NEVER = 1e-6  # expected labels below which an interval begins at 0, or ends at 1 (Brown, Cai & DasGupta 2001)


def beta_ends(counts: FloatArray, level: float, concentration: float, none: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the Beta posterior of each entry against its row's rest; 0 or 1 for less than ``none`` labels."""
    rest = counts.sum(-1, keepdims=True) - counts
    tail = (1 - level) / 2
    a, b = counts + concentration, np.maximum(rest, 0) + concentration
    low = np.where(counts < none, 0.0, betaincinv(a, b, tail))
    return low, np.where(rest < none, 1.0, betaincinv(a, b, 1 - tail))


@dataclass(frozen=True, eq=False)
class ConfusionIntervals(Shown):
    """Intervals of every entry of every worker's confusion; NaN where there is no evidence.

    Attributes:
        reference: method that estimated the confusions.
        how: basis of the intervals, in words.
        level: nominal probability that an interval contains the true value.
        estimate, low, high: (n_workers, C, C) row = true, column = given.
    """

    reference: str
    how: str
    level: float
    estimate: FloatArray
    low: FloatArray
    high: FloatArray

    def frame(self, dataset: CrowdDataset | None = None) -> pd.DataFrame:
        """One row per worker, true and given class, by name where the dataset is given: estimate, low, high."""
        r, true, given = (axis.ravel() for axis in np.indices(self.estimate.shape))
        of: dict[str, Any] = {"worker": r, "true": true, "given": given}
        if dataset is not None:
            names = np.array(dataset.classes, object)
            of = {"worker": dataset.worker_ids[r], "true": names[true], "given": names[given]}
        return pd.DataFrame({**of, **{part: getattr(self, part).ravel() for part in ("estimate", "low", "high")}})


def credible_intervals(
    result: AggregationResult, level: float = 0.95, concentration: float = 0.5
) -> ConfusionIntervals:
    """Equal-tailed intervals of each entry given the posterior q of the true labels.

    Given q, an entry of worker r's confusion has the posterior Beta(concentration + its expected count,
    concentration + the expected count of the rest of its row): the Dirichlet posterior of the entry and the rest.
    Its prior does not depend on the number of classes; one pseudo-count per class would pull the rows of workers
    with few labels to the middle, and their intervals would miss the truth. The uncertainty of q itself is left
    out, so for ambiguous tasks the intervals are too narrow; `bootstrap_confusion` shows by how much.

    Args:
        result: from an aggregator that estimates confusions from expected counts.
        level: between 0 and 1.
        concentration: prior weight of the entry and of the rest of its row; 0.5 is Jeffreys'.

    Raises:
        SettingError: a result without expected counts, or a level outside (0, 1).
    """
    check_share(level=level)
    if concentration <= 0:
        raise SettingError("concentration", "be above 0", concentration)
    if result.counts is None or result.confusion is None:
        raise SettingError(
            "result", "hold expected counts", result.method, "Use an aggregator with confusions, e.g. 'dawid-skene'."
        )
    low, high = beta_ends(result.counts, level, concentration, _NEVER)
    low, high = (np.where(np.isnan(result.confusion), np.nan, end) for end in (low, high))
    how = "Dirichlet posterior of each entry against the rest of its row, given the true labels' posterior"
    return ConfusionIntervals(result.method, how, level, result.confusion, low, high)


@door
def bootstrap_confusion(
    dataset: CrowdDataset,
    aggregator: str | type[Aggregator] | Aggregator,
    *,
    known: IntArray | None = None,
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> ConfusionIntervals:
    """Percentile intervals over resamplings of the tasks with replacement, each fit starting from the first.

    Args:
        aggregator: one that estimates confusions: a name, a class or an instance.
        known: (n_tasks,) classes to clamp, -1 = unknown.
        n_resamples: number of fits, on which the time depends.
        level, seed: of the intervals, between 0 and 1; of the resampling.

    Raises:
        SettingError: no confusions, fewer than two resamplings, or a level outside (0, 1).
    """
    check_share(level=level)
    if n_resamples < 2:
        raise SettingError("n_resamples", "be at least 2", n_resamples)
    aggregator = aggregation.get(aggregator)
    first = aggregator.fit(dataset, known=known)
    if first.confusion is None:
        raise SettingError("aggregator", "estimate confusions", aggregator.name, "Use another one, e.g. 'dawid-skene'.")
    rng = np.random.default_rng(seed)
    drawn = np.empty((n_resamples, *first.confusion.shape))
    for b in range(n_resamples):
        tasks = rng.integers(dataset.n_tasks, size=dataset.n_tasks)
        start = replace(first, posterior=first.posterior[tasks])
        again = aggregator.fit(_resampled(dataset, tasks), known=None if known is None else known[tasks], start=start)
        drawn[b] = np.nan if again.confusion is None else again.confusion
    low, high = _quantiles(drawn, (1 - level) / 2)
    how = f"percentiles over {n_resamples} resamplings of the tasks"
    return ConfusionIntervals(first.method, how, level, first.confusion, low, high)


def _quantiles(drawn: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper quantile over the first axis, without NaN draws; NaN where all are."""
    empty = np.isnan(drawn).all(0)
    filled = np.where(empty, 0.0, drawn)
    low, high = np.nanquantile(filled, [tail, 1 - tail], axis=0)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def _resampled(dataset: CrowdDataset, tasks: IntArray) -> CrowdDataset:
    """Dataset whose task i has the annotations of the old task ``tasks[i]``."""
    n = dataset.labels_per_task[tasks]
    first = np.cumsum(n) - n
    rows = np.arange(n.sum()) + np.repeat(dataset.task_start[tasks] - first, n)
    return CrowdDataset(
        dataset.name,
        dataset.classes,
        pd.RangeIndex(len(tasks)).astype(str),
        dataset.worker_ids,
        np.repeat(np.arange(len(tasks)), n),
        dataset.worker[rows],
        dataset.label[rows],
    )


_PRIOR = 0.5  # Jeffreys' weight of an entry, and of the rest of its row


@door
def sampled_confusion(
    dataset: CrowdDataset,
    *,
    known: IntArray | None = None,
    n_samples: int = 1000,
    burn_in: int = 300,
    level: float = 0.95,
    seed: int = 0,
) -> ConfusionIntervals:
    """Equal-tailed intervals of Dawid & Skene's confusions, with the true labels z drawn instead of fixed.

    Gibbs sampling draws in turn ``z_i ~ ρ_c Π_r π^r[c, y_i^r]``, the crowd's prior a of all rows (`drawn_prior`),
    ``π^r[c, ·] ~ Dirichlet(n^r[c, ·] + a[c, ·])`` and ``ρ ~ Dirichlet(n + 1)``, with n the numbers of labels under the
    drawn z, starting at Dawid & Skene's fit. The crowd's prior helps to infer z only: each kept draw of z gives an
    entry the posterior ``Beta(n + 1/2, rest of the row + 1/2)`` of `credible_intervals`, from which one value is drawn,
    so that intervals of unusual workers are as good as the others'. Their ends are quantiles of the values. If the
    label was probably never given to the class (in half of the draws of z), the interval begins at 0, and if it was
    probably the only one, it ends at 1, as in Brown, Cai & DasGupta (2001) for Jeffreys' interval: else rare mistakes
    would lie below all intervals. The time is that of ``n_samples + burn_in`` EM steps.

    Args:
        known: (n_tasks,) classes to clamp, -1 = unknown.
        n_samples, burn_in: draws that count, and draws before them.
        level, seed: of the intervals, between 0 and 1; of the draws.

    Raises:
        SettingError: fewer than 20 samples, or a level outside (0, 1).

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.analysis.sampled_confusion(cc.load_dataset("demo"), n_samples=20, burn_in=5)
        >>> result.low.shape
        (40, 10, 10)
    """
    check_share(level=level)
    if n_samples < 20:
        raise SettingError("n_samples", "be at least 20", n_samples)
    first, rng = DawidSkene().fit(dataset, known=known), np.random.default_rng(seed)
    n_tasks, n, shape = dataset.n_tasks, dataset.n_classes, (dataset.n_workers, dataset.n_classes, dataset.n_classes)
    z = _draw_classes(np.log(np.maximum(np.nan_to_num(first.posterior), 1e-300)), known, rng)
    labelled = np.flatnonzero(np.diff(dataset.task_start))
    draws, never, always = np.empty((n_samples, *shape)), np.zeros(shape), np.zeros(shape)
    for step in range(burn_in + n_samples):
        cell = (dataset.worker.astype(np.int64) * n + z[dataset.task]) * n + dataset.label
        counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        if step >= burn_in:
            never += counts == 0
            always += counts == counts.sum(2, keepdims=True)
            entry = rng.standard_gamma(counts + _PRIOR)
            rest = rng.standard_gamma(counts.sum(2, keepdims=True) - counts + _PRIOR)
            draws[step - burn_in] = entry / (entry + rest)
        confusion = np.log(np.maximum(rng.standard_gamma(counts + drawn_prior(counts, rng)), 1e-300))
        confusion -= np.logaddexp.reduce(confusion, axis=2, keepdims=True)
        scores = np.tile(np.log(rng.standard_gamma(np.bincount(z[labelled], minlength=n) + 1.0)), (n_tasks, 1))
        evidence = confusion[dataset.worker, :, dataset.label]
        scores[labelled] += np.add.reduceat(evidence, dataset.task_start[labelled], axis=0)
        z = _draw_classes(scores, known, rng)
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = np.quantile(draws, tails, axis=0, method="weibull")  # another draw lies between them with `level`
    low = np.where(never >= n_samples / 2, 0.0, low)
    high = np.where(always >= n_samples / 2, 1.0, high)
    assert first.confusion is not None
    unseen = np.isnan(first.confusion)
    how = f"{n_samples} draws of the true labels and the confusions"
    low, high = (np.where(unseen, np.nan, end) for end in (low, high))
    return ConfusionIntervals(first.method, how, level, first.confusion, low, high)


def _draw_classes(scores: FloatArray, known: IntArray | None, rng: np.random.Generator) -> IntArray:
    """(n_tasks,) one class per row of log scores (Gumbel's trick), or the known one."""
    z = (scores + rng.gumbel(size=scores.shape)).argmax(1)
    return z if known is None else np.where(known >= 0, known, z)


_WEIGHTS = 2.0 ** np.arange(7)
_SHARES, _MOST = 9, 0.98


def drawn_prior(counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a common prior of the workers' rows, given their counts; (C, C) parameters of Dirichlet distributions.

    Row c is ``Dirichlet(α (d [b = c] + (1 - d) / (C - 1) [b ≠ c]))``. The weight α (1 to 64) and the share d of right
    labels (1 / C to 0.98) are the crowd's, drawn from a grid by the marginal probability of all counts. As d is no less
    than chance, classes keep their names. Counts must be whole numbers.
    """
    n = counts.shape[1]
    if n == 1:
        return np.ones((1, 1))
    weight, share = (axis.ravel() for axis in np.meshgrid(_WEIGHTS, np.linspace(1 / n, _MOST, _SHARES)))
    wrong, right = weight * (1 - share) / (n - 1), weight * share
    diagonal = np.eye(n, dtype=bool)
    fit = _rising(counts[:, diagonal], right) + _rising(counts[:, ~diagonal], wrong) - _rising(counts.sum(2), weight)
    drawn = int((fit + rng.gumbel(size=len(fit))).argmax())
    return np.asarray(np.where(diagonal, right[drawn], wrong[drawn]))


def _rising(counts: FloatArray, start: FloatArray) -> FloatArray:
    """(n_start,) sum over all counts k of ``log start (start + 1) … (start + k - 1)``."""
    times = np.bincount(counts.ravel().astype(np.int64))
    times[0] = 0
    k = np.flatnonzero(times)
    return np.asarray((gammaln(k + start[:, None]) - gammaln(start)[:, None]) @ times[k])


_PROBABLY_NONE = np.log(2)  # expected labels below which most draws of the true classes have none


def confusion_of_counts(counts: FloatArray, strength: float = 0.5) -> FloatArray:
    """Confusions from counts, each row drawn by ``strength`` labels to the crowd's row at the worker's skill.

    ``π^r_c ∝ n^r_c + m π̄^r_c``: π̄^r_c is the crowd's row c with the odds of a right label times those of worker r
    relative to the crowd's on the same classes. No pseudo-count is uniform: a worker's rows without labels are π̄, and
    rows that nobody labelled are unknown.

    Args:
        counts: (n_workers, C, C) expected labels, row = true class.
        strength: m, in labels.

    Returns:
        (n_workers, C, C), rows sum to 1; NaN for workers without labels, and for classes that nobody met.

    Examples:
        >>> counts = np.array([[[9.0, 1.0], [0.0, 0.0]], [[5.0, 5.0], [3.0, 7.0]]])
        >>> confusion_of_counts(counts).round(2)[0]  # the first worker is better than the crowd
        array([[0.9 , 0.1 ],
               [0.12, 0.88]])
    """
    rows = counts + strength * rows_of_crowd(counts)
    known = (counts.sum((1, 2)) > 0)[:, None, None] & (counts.sum((0, 2)) > 0)[:, None]
    return np.where(known, rows / np.maximum(rows.sum(2, keepdims=True), 1e-300), np.nan)


def rows_of_crowd(counts: FloatArray) -> FloatArray:
    """(n_workers, C, C) crowd's rows at each worker's odds of a right label; uniform where nobody labelled a class.

    The odds are those of all labels of the worker and one pseudo-label of the crowd.
    """
    n = counts.shape[2]
    pooled = counts.sum(0)
    crowd = np.where(pooled.any(1, keepdims=True), pooled / np.maximum(pooled.sum(1, keepdims=True), 1e-300), 1 / n)
    right = np.diagonal(crowd)
    mean = pooled.trace() / max(float(pooled.sum()), 1e-300)
    hits, labels = np.einsum("rcc->r", counts) + mean, counts.sum((1, 2)) + 1
    usual = counts.sum(2) @ right + mean
    odds = (hits * (labels - usual) / np.maximum((labels - hits) * usual, 1e-12))[:, None]
    able = right * odds / np.maximum(right * odds + 1 - right, 1e-12)
    rows = crowd * ((1 - able) / np.maximum(1 - right, 1e-12))[..., None]
    rows[:, np.arange(n), np.arange(n)] = able
    return np.asarray(rows)


def count_interval(counts: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed intervals of the entries of confusions that were counted against uncertain classes.

    The posterior is Beta(n + 1/2, rest of the row + 1/2) as in `credible_intervals`. An interval begins at 0 if the
    label was probably never given to the class, and ends at 1 if it was probably the only one (fewer than log 2
    expected labels).

    Args:
        counts: (n_workers, C, C) expected labels, row = true class.
        level: between 0 and 1.

    Returns:
        Lower and upper ends, NaN for workers without labels.
    """
    check_share(level=level)
    known = counts.sum((-1, -2), keepdims=True) > 0
    low, high = (np.where(known, end, np.nan) for end in beta_ends(counts, level, 0.5, _PROBABLY_NONE))
    return low, high
