"""Pairs of workers who agree more than their skills and the tasks explain, for example because one copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtrc, expit, gammaincc, gammaln, ndtr

from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.compiled import n_ranges, run_ranges
from crowdcore.core.latent_classes import ALONE, LEVELS, MOST, SLOPES, start_prior
from crowdcore.core.shown import Shown
from crowdcore.core.task_types import count_partners, fill_pairs, fit_step
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

NULL_BEYOND = (
    "Tested: do two workers agree, right or wrong alike, more often than both workers' skills and the tasks explain? "
    "Tasks may differ in difficulty, and some mislead everyone to the same wrong class."
)
NULL = (
    "“Expected” and its q value: how often the two would make the same mistake if all tasks of a class were equally "
    "hard."
)
_CONSENSUS = (
    "The reference {name!r} comes from the same labels: where two workers outvote the others, their common mistake "
    "counts as the truth, so copying is underestimated; where a task misleads most, honest workers are wrong alike. So "
    "a small q value alone accuses nobody."
)
_TESTABLE = 0.05
_LEAST_VARIANCE = 0.05  # about one task on which both were undecided between right and wrong
_BYTES_PER_PAIR = 8 * 26


VOTE = "majority-vote"
"""Reference of the pairs where there is neither gold nor marks."""


def pair_reference(truth: Reference) -> ReferenceLike:
    """Return the reference that judges pairs: gold or marks, else the majority vote, whatever ``truth`` is.

    A model of the same labels cannot contradict two workers who always agree, as it takes them to be always right. In a
    vote each label has the same weight, so that the others' labels still contradict them.
    """
    return truth if truth.checked else VOTE


@dataclass(frozen=True, eq=False)
class PairMistakes(Shown):
    """Pairs of workers with at least one judged task in common, arrays aligned; ``worker_a < worker_b``.

    Attributes:
        worker_a, worker_b: (n_pairs,) worker numbers.
        both_labelled: (n_pairs,) tasks that both labelled and whose truth is known.
        both_wrong, wrong_alike: (n_pairs,) tasks of those that both got wrong, and wrong in the same way.
        agreed: (n_pairs,) tasks with the same label from both, right or wrong.
        expected: (n_pairs,) ``wrong_alike`` expected under ``null``.
        p_value: (n_pairs,) chance of at least ``wrong_alike`` under ``null``; NaN where it cannot be small.
        q_value: (n_pairs,) the same after Benjamini-Hochberg over the tested pairs.
        expected_beyond: (n_pairs,) ``wrong_alike`` expected under ``null_beyond``, at least ``expected``.
        expected_agreed: (n_pairs,) ``agreed`` expected under ``null_beyond``.
        p_beyond: (n_pairs,) chance under ``null_beyond`` that copying explains their labels equally well; NaN where
            nothing was open on the tasks that both labelled.
        q_beyond: (n_pairs,) the same after Benjamini-Hochberg.
        null: the first null hypothesis in one sentence: given the true class, the two workers err independently of
            each other, each with the label counts that they have in that class. False as soon as tasks differ.
        null_beyond: the second: given the true class and each task's difficulty and foil, the two workers' labels are
            independent.
        notes: caveats, one sentence each.
    """

    worker_a: IntArray
    worker_b: IntArray
    both_labelled: IntArray
    both_wrong: IntArray
    wrong_alike: IntArray
    agreed: IntArray
    expected: FloatArray
    p_value: FloatArray
    q_value: FloatArray
    expected_beyond: FloatArray
    expected_agreed: FloatArray
    p_beyond: FloatArray
    q_beyond: FloatArray
    worker_ids: pd.Index[str]
    reference: str
    null: str
    null_beyond: str
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per pair, the smallest p-value first."""
        columns = ("both_labelled", "both_wrong", "wrong_alike", "expected", "p_value", "q_value")
        beyond = ("expected_beyond", "agreed", "expected_agreed", "p_beyond", "q_beyond")
        pair = {"worker_a": self.worker_ids[self.worker_a], "worker_b": self.worker_ids[self.worker_b]}
        frame = pd.DataFrame({**pair, **{name: getattr(self, name) for name in (*columns, *beyond)}})
        return frame.sort_values(["p_beyond", "p_value"], kind="stable", ignore_index=True)


@door
def pair_mistakes(dataset: CrowdDataset, reference: ReferenceLike = None) -> PairMistakes:
    """Count, for every two workers, the tasks on which both agree, right or wrong alike, and compare with chance.

    **Workers who err independently** (``expected``, ``p_value``, ``q_value``). Within each class, let each worker's
    labels fall on the tasks of that class that the worker did, every order equally probable. With n_a^r tasks of class
    a done by r, n_ab^r of them called b, and m_a done by both r and s, it follows that
    ``expected = Σ_a m_a Σ_{b≠a} (n_ab^r / n_a^r) (n_ab^s / n_a^s)``, exactly: plain row shares are right although
    they come from the same data, while smoothed ones would make spammers look like copiers. Variance and skewness
    follow exactly, too. The p-value is the smaller of two tails: the binomial one of that mean over all shared tasks,
    which bounds sums of unequal chances from above (Hoeffding 1956) and is sharp where mistakes are rare; and a
    Pearson III with the exact mean, variance and skewness, sharp where the workers share most of their tasks.

    **Given skills and tasks** (``expected_beyond``, ``expected_agreed``, ``p_beyond``, ``q_beyond``). Hard tasks make
    everyone wrong and easy ones everyone right, so workers who never met agree more often than that. Let a task have a
    difficulty d and perhaps a foil, a wrong class of its own (`TaskTypes`), with shares of tasks fitted to the crowd.
    The labels of the other workers on task i give the probability of each type t, ``q_i(t)``. So both are right with
    chance ``A_i = Σ_t q_i(t) P(right | r, t) P(right | s, t)``, wrong alike with ``B_i``, the same sum over equal wrong
    labels, and neither with the rest. The statistic is the log likelihood ratio of copying half of the labels,
    ``log(1/2 + √(p_i^r p_i^s) / (2 A_i))`` where both are right (p: chance of being right), likewise where they are
    wrong alike, and ``log(1/2)`` elsewhere. Its mean, variance and skewness follow exactly from A_i and B_i; its tail
    is that of a Pearson III distribution, with half a step of log 2 for continuity, and at least the chance of exactly
    what was observed (multinomial, of equal tasks): one common mistake cannot say more than that. What exceeds that is
    more than the crowd's own habit: copying, a shared teacher, one person with two accounts. ``B_i`` counts as at least
    0.06 / n, where n is the smaller number of labels that the two gave in the class, and 1/1000: n labels cannot show
    less.

    Pairs that could not reach ``p_value`` <= 0.05 even if wrong alike on all shared tasks have none (NaN); that
    depends on the margins only, so it costs no validity. Time grows with Σ_i n_i² (n_i: workers of task i), memory
    with the number of pairs. A pair that shares a handful of tasks cannot be distinguished from chance by any test.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts.
        reference: what counts as the truth; of a soft one, the most probable class.

    Raises:
        DataError: no usable reference, or more pairs than fit into `MOST_BYTES`.

    Examples:
        >>> import crowdcore as cc
        >>> pairs = cc.analysis.pair_mistakes(cc.load_dataset("demo")).frame()
        >>> pairs.query("q_beyond <= 0.05")[["worker_a", "worker_b", "wrong_alike"]].values.tolist()
        [['w04', 'w05', 27]]
    """
    truth = resolve_reference(dataset, reference)
    first, partner, counts, moments = _pairs(dataset, truth)
    both, wrong, alike, agreed = counts.T
    expected, beyond, expected_agreed = moments[:, 0], np.maximum(moments[:, 3], moments[:, 0]), moments[:, 4]
    p_value = _tail(alike, both, moments, expected)
    p_beyond = tail_beyond(alike, agreed, both, beyond, expected_agreed, moments[:, 5:])
    return PairMistakes(
        first,
        partner,
        both,
        wrong,
        alike,
        agreed,
        expected,
        p_value,
        benjamini_hochberg(p_value),
        beyond,
        expected_agreed,
        p_beyond,
        benjamini_hochberg(p_beyond),
        dataset.worker_ids,
        truth.name,
        NULL,
        NULL_BEYOND,
        _notes(truth),
    )


def _pairs(dataset: CrowdDataset, truth: Reference) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Worker numbers, counts and moments of every pair; see `fill_pairs`."""
    labels = _labels(dataset, truth)
    types = fit_task_types(labels)
    by_worker = np.argsort(labels.row, kind="stable")
    worker_start = np.searchsorted(labels.worker[by_worker], np.arange(dataset.n_workers + 1))
    partners = count_partners(labels.task_start, labels.task, labels.worker, by_worker, worker_start)
    n_pairs = int(partners.sum())
    refuse_beyond(_BYTES_PER_PAIR * n_pairs, f"{n_pairs:,} pairs of workers", "Look at fewer workers.")
    partner, counts, moments = np.empty(n_pairs, np.int64), np.empty((n_pairs, 4), np.int64), np.empty((n_pairs, 8))
    of = labels
    given = of.task_start, of.task, of.worker, of.label, by_worker, worker_start, of.row, of.wrong, types.hint
    rows = of.row_start, of.row_size, of.row_true, of.row_label, of.row_count, types.crowd, DRAWN
    model = types.right, types.prior, ALONE, types.level, of.n_classes
    to = np.cumsum(partners) - partners, partner, counts, moments
    steps = int((np.diff(of.task_start) ** 2).sum()) // 2
    run_ranges(
        dataset.n_workers,
        n_ranges(steps, dataset.n_workers),
        lambda _, a, b: fill_pairs(a, b, *given, *rows, *model, *to),
    )
    return np.repeat(np.arange(dataset.n_workers), partners), partner, counts, moments


def _labels(dataset: CrowdDataset, truth: Reference) -> Labels:
    """First label of each worker on each task with known truth, and the rows that occur."""
    n = dataset.n_classes
    refuse_beyond(16 * n**2, f"Mistakes among {n:,} classes", "Merge classes.")
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    kept = np.unique(key, return_index=True)[1]
    kept = kept[truth.labels[dataset.task[kept]] >= 0]
    task, worker, label = (x[kept].astype(np.int64) for x in (dataset.task, dataset.worker, dataset.label))
    true = truth.labels[task].astype(np.int64)
    key = worker * n + true
    every = np.bincount(key, minlength=dataset.n_workers * n)
    occurs = np.flatnonzero(every)
    row = (np.cumsum(every > 0) - 1)[key]
    cells, cell, count = np.unique(row * n + label, return_inverse=True, return_counts=True)
    start = np.searchsorted(cells // n, np.arange(len(occurs) + 1))
    task_start = np.searchsorted(task, np.arange(dataset.n_tasks + 1))
    wrong = (label != true).astype(np.int64)
    return Labels(
        task_start, task, worker, label, wrong, row, occurs % n, every[occurs], cell, start, cells % n, count, n
    )


def _tail(alike: IntArray, both: IntArray, moments: FloatArray, mean: FloatArray) -> FloatArray:
    """(n_pairs,) P(at least ``alike``) by chance, the cumulants scaled to ``mean``; NaN where it cannot be small."""
    out = np.ones(len(alike))
    rows = np.flatnonzero(alike)
    t, m, mu = alike[rows].astype(float), both[rows], mean[rows]
    scale = mu / moments[rows, 0]
    variance, third = scale * np.maximum(moments[rows, 1], 0), scale * moments[rows, 2]
    gap = t - 0.5 - mu
    with np.errstate(divide="ignore", invalid="ignore"):
        limited = _pearson(gap, variance, third)
    limited[variance < 1e-12] = 1.0  # the margins leave no choice
    out[rows] = np.minimum(bdtrc(t - 1, m, np.minimum(mu / m, 1)), limited)
    out[np.minimum(mean / both, 1) ** both > _TESTABLE] = np.nan
    return out


def tail_beyond(
    alike: IntArray,
    agreed: IntArray,
    both: IntArray,
    expected: FloatArray,
    expected_agreed: FloatArray,
    cumulants: FloatArray,
) -> FloatArray:
    """(n_pairs,) p-values: of a concordance with the excess, variance and third cumulant in ``cumulants`` (n_pairs, 3).

    At least the chance of exactly these counts; NaN where the concordance cannot vary.
    """
    excess, variance, third = cumulants.T
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = np.where(variance > _LEAST_VARIANCE, _pearson(excess - np.log(2) / 2, variance, third), np.nan)
    return np.maximum(tail, _chance(alike, agreed, both, expected, expected_agreed))


def _chance(
    alike: IntArray, agreed: IntArray, both: IntArray, expected: FloatArray, expected_agreed: FloatArray
) -> FloatArray:
    """(n_pairs,) chance of exactly these numbers of tasks wrong alike, right and neither, if tasks are equal."""
    wrong = np.clip(expected / both, 1e-12, 1)
    right = np.clip((expected_agreed - expected) / both, 1e-12, 1)
    counts = np.stack([alike, agreed - alike, both - agreed])
    shares = np.stack([wrong, right, np.maximum(1 - wrong - right, 1e-12)])
    return np.asarray(np.exp(gammaln(both + 1) + (counts * np.log(shares) - gammaln(counts + 1)).sum(0)))


def _pearson(gap: FloatArray, variance: FloatArray, third: FloatArray) -> FloatArray:
    """P(at least ``gap`` above the mean) of a Pearson III distribution; of a normal one unless it leans right."""
    normal = ndtr(-gap / np.sqrt(variance))
    from_start = np.maximum(gap + 2 * variance**2 / third, 0)
    pearson = gammaincc(4 * variance**3 / third**2, 2 * variance / third * from_start)
    return np.asarray(np.where(third > 1e-6 * variance**1.5, pearson, normal))


def _notes(truth: Reference) -> tuple[str, ...]:
    return (
        *(["The most probable class of the soft reference counts as the truth."] if truth.soft else []),
        *([_CONSENSUS.format(name=truth.name)] if not truth.checked else []),
    )


DRAWN = 1.0  # labels by which a worker's shares of wrong labels are drawn to the crowd's
STEPS = 25


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels sorted by task, one per worker, and the rows (worker, true class) that occur.

    Attributes:
        task_start: (n_tasks + 1,) first annotation of each task.
        task, worker, label: (A,).
        wrong: (A,) int64 1 where the label is not the true class.
        row, cell: (A,) row of each annotation, and its place in ``row_label``.
        row_true, row_size: (n_rows,) true class and number of labels of each row.
        row_start: (n_rows + 1,) into ``row_label`` and ``row_count``: the distinct labels and their numbers.
        n_classes: C.
    """

    task_start: IntArray
    task: IntArray
    worker: IntArray
    label: IntArray
    wrong: IntArray
    row: IntArray
    row_true: IntArray
    row_size: IntArray
    cell: IntArray
    row_start: IntArray
    row_label: IntArray
    row_count: IntArray
    n_classes: int


@dataclass(frozen=True, eq=False)
class TaskTypes:
    """The fitted model.

    Attributes:
        right: (n_rows, D) chance of a right label at each difficulty.
        prior: (D, 2) share of tasks of each difficulty, without and with a foil.
        level: (n_tasks, D) likelihood of each task's right and wrong labels at each difficulty, up to a factor.
        hint: (A,) likelihood ratio of each wrong label as the foil, against another foil.
        crowd: (C, C) share of each wrong label among all of a true class.
    """

    right: FloatArray
    prior: FloatArray
    level: FloatArray
    hint: FloatArray
    crowd: FloatArray


def fit_task_types(labels: Labels) -> TaskTypes:
    """Fit by EM over the tasks' types, with a Newton step for β in each iteration."""
    of, n_rows, n = labels, len(labels.row_true), labels.n_classes
    n_wrong = np.bincount(of.row, of.wrong, n_rows).astype(np.float64)
    n_right = of.row_size - n_wrong
    beta = np.log((n_right + 0.5) / (n_wrong + 0.5))
    prior = start_prior(n)
    cell = of.row_true[of.row] * n + of.label
    seen = np.bincount(cell, of.wrong, n**2).reshape(n, n).astype(np.float64)
    crowd = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    hint, level = _hints(of, n_wrong, crowd), np.empty((len(of.task_start) - 1, len(LEVELS)))
    given = of.task_start, of.row, of.wrong, of.label, hint

    several = n_ranges(len(of.row) * len(LEVELS), n_rows * len(LEVELS))

    def expected(chances: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        def part(_: int, first: int, last: int) -> tuple[FloatArray, FloatArray, FloatArray]:
            return fit_step(first, last, *given, chances, prior, SLOPES, ALONE, n, level)

        parts = run_ranges(len(level), several, part)
        number, labels, right_slope = (sum(each) for each in zip(*parts, strict=True))
        return number, labels, right_slope

    for _ in range(STEPS):
        chances = _chances(beta)
        number, n_labels, right_slope = expected(chances)
        right = chances[0]
        gradient = right_slope - (n_labels * right) @ SLOPES
        curvature = (n_labels * right * (1 - right)) @ SLOPES**2
        prior = number / max(number.sum(), 1e-300)
        beta = np.clip(beta + np.clip(gradient / np.maximum(curvature, 1e-9), -1, 1), -MOST, MOST)
    chances = _chances(beta)
    expected(chances)
    return TaskTypes(chances[0], prior, level, hint, crowd)


def _chances(beta: FloatArray) -> FloatArray:
    """(2, n_rows, D) chance of a right label, σ(slope β - d), and of a wrong one."""
    logit = SLOPES * beta[:, None] - LEVELS
    return np.stack([expit(logit), expit(-logit)])


def _hints(of: Labels, n_wrong: FloatArray, crowd: FloatArray) -> FloatArray:
    """``(φ / u + 1 - φ) / (1 - φ)`` with u the worker's share of the label, drawn to the crowd's."""
    u = (of.row_count[of.cell] + DRAWN * crowd[of.row_true[of.row], of.label]) / (n_wrong[of.row] + DRAWN)
    return np.asarray(((1 - ALONE) / np.where(of.wrong > 0, u, 1.0) + ALONE) / ALONE)
