"""Pairs of workers who make the same mistakes on the same tasks, for example because one copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtrc, gammaincc, ndtr

from crowdcore.analysis.mistakes.significance import benjamini_hochberg
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

__all__ = ["NULL", "NULL_BEYOND", "PairMistakes", "pair_mistakes"]

NULL = "“Expected”: how often the two would be wrong alike if they made their mistakes independently."
NULL_BEYOND = (
    "“Beyond the crowd”: compared with other pairs that made as many mistakes, since some tasks mislead everyone."
)
_CONSENSUS = (
    "The reference {name!r} comes from the same labels: where two workers outvote the others, their common mistake "
    "counts as the truth, so copying is underestimated."
)
_TESTABLE = 0.05
_PER_GROUP, _MOST_GROUPS = 50, 10  # expected coincidences in a group of like pairs; most groups
_BYTES_PER_PAIR = 8 * 16


@dataclass(frozen=True, eq=False)
class PairMistakes:
    """Pairs of workers with at least one judged task in common, arrays aligned; ``worker_a < worker_b``.

    Attributes:
        worker_a: (n_pairs,) worker numbers.
        worker_b: (n_pairs,) worker numbers.
        both_labelled: (n_pairs,) tasks that both labelled and whose truth is known.
        both_wrong: (n_pairs,) tasks of those that both got wrong.
        wrong_alike: (n_pairs,) ... in the same way.
        expected: (n_pairs,) ``wrong_alike`` expected under ``null``.
        p_value: (n_pairs,) chance of at least ``wrong_alike`` under ``null``; NaN where it cannot be small.
        q_value: (n_pairs,) the same after Benjamini-Hochberg over the tested pairs.
        expected_beyond: (n_pairs,) ``wrong_alike`` expected under ``null_beyond``, at least ``expected``.
        p_beyond: (n_pairs,) chance of at least ``wrong_alike`` under ``null_beyond``.
        q_beyond: (n_pairs,) the same after Benjamini-Hochberg.
        worker_ids: (n_workers,) names.
        reference: what was taken for the truth.
        null: the first null hypothesis in one sentence: given the true class, the two workers err independently of
            each other, each with the label counts that they have in that class.
        null_beyond: the second: their mistakes coincide no more than those of other pairs with as many mistakes.
        notes: what to bear in mind, one sentence each.
    """

    worker_a: IntArray
    worker_b: IntArray
    both_labelled: IntArray
    both_wrong: IntArray
    wrong_alike: IntArray
    expected: FloatArray
    p_value: FloatArray
    q_value: FloatArray
    expected_beyond: FloatArray
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
        beyond = ("expected_beyond", "p_beyond", "q_beyond")
        frame = pd.DataFrame(
            {
                "worker_a": self.worker_ids[self.worker_a],
                "worker_b": self.worker_ids[self.worker_b],
                **{name: getattr(self, name) for name in (*columns, *beyond)},
            }
        )
        return frame.sort_values(["p_beyond", "p_value"], kind="stable", ignore_index=True)


def pair_mistakes(dataset: CrowdDataset, reference: ReferenceLike = "gold") -> PairMistakes:
    """Count, for every two workers, the tasks that both got wrong alike, and compare with chance.

    **Independent workers.** Within each class, let each worker's labels fall on the tasks of that class that the
    worker did, every order equally probable; this holds for workers who err independently, whatever their confusions.
    With n_a^r tasks of class a done by r, n_ab^r of them called b, and m_a done by both r and s, it follows that
    ``expected = Σ_a m_a Σ_{b≠a} (n_ab^r / n_a^r) (n_ab^s / n_a^s)``, exactly: plain row shares are right although
    they come from the same data, while smoothed ones would make spammers look like copiers. Variance and skewness
    of ``wrong_alike`` follow exactly, too. The p-value is the smaller of two tails: the binomial one of that mean
    over all shared tasks, which bounds sums of unequal chances from above (Hoeffding 1956) and is sharp where
    mistakes are rare; and a Pearson III with the exact mean, variance and skewness, sharp where the workers share
    most of their tasks.

    **Beyond what the crowd shares.** Hard tasks mislead everyone in the same way, so that even workers who never met
    are wrong alike more often than ``expected``. For each cell (a, b) take the ratio, over all pairs of workers, of
    coincidences to expected ones (one of each added), and weigh each pair's expectation by its cells' ratios. Good
    workers' mistakes are the hard tasks', so they coincide more often than chance by a larger factor than poor
    workers' do: rescale by the same ratio among the other pairs with about as large an expectation per shared task.
    What exceeds that is more than the crowd's own habit: copying, a shared teacher, one person with two accounts.

    Pairs that could not reach p <= 0.05 even if wrong alike on all shared tasks are not tested (p is NaN); that
    depends on the margins only, so it costs no validity. Time grows with Σ_i n_i² (n_i: workers of task i), memory
    with the number of pairs. A pair that shares a handful of tasks cannot be told from chance by any test.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts.
        reference: what to take for the truth; of a soft one, the most probable class.

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
    both, wrong, alike = counts.T
    expected, weighted = moments[:, 0], moments[:, 3]
    beyond = np.maximum(weighted * _habit(alike, both, weighted), expected)
    p_value, p_beyond = _tail(alike, both, moments, expected), _tail(alike, both, moments, beyond)
    return PairMistakes(
        first,
        partner,
        both,
        wrong,
        alike,
        expected,
        p_value,
        benjamini_hochberg(p_value),
        beyond,
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
    from crowdcore.core import kernels_pairs_numba as kernels  # compiled loops are loaded when needed

    n_workers, n_classes = dataset.n_workers, dataset.n_classes
    refuse_beyond(
        8 * n_classes * (2 * n_workers + 4 * n_classes),
        f"Mistakes of {n_workers:,} workers among {n_classes:,} classes",
        "Merge classes, or look at fewer workers.",
    )
    key = dataset.task.astype(np.int64) * n_workers + dataset.worker
    kept = np.unique(key, return_index=True)[1]
    kept = kept[truth.labels[dataset.task[kept]] >= 0]
    task, worker, label = (x[kept].astype(np.int64) for x in (dataset.task, dataset.worker, dataset.label))
    true = truth.labels[task].astype(np.int64)
    task_start = np.searchsorted(task, np.arange(dataset.n_tasks + 1))
    row = worker * n_classes + true
    by_worker = np.argsort(row, kind="stable")
    worker_start = np.searchsorted(worker[by_worker], np.arange(n_workers + 1))
    row_size = np.bincount(row, minlength=n_workers * n_classes)
    wrong = label != true
    cell, mistake_count = np.unique(row[wrong] * n_classes + label[wrong], return_counts=True)
    mistake_row, mistake_label = np.divmod(cell, n_classes)
    row_start = np.searchsorted(mistake_row, np.arange(n_workers * n_classes + 1))
    seen, chance = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes))
    kernels.cell_coincidences(
        task_start, worker, true, label, row_start, row_size, mistake_label, mistake_count, seen, chance
    )
    ratio = (seen + 1) / (chance + 1)
    mistake_ratio = ratio[mistake_row % n_classes, mistake_label]
    partners = kernels.count_partners(task_start, task, worker, by_worker, worker_start)
    n_pairs = int(partners.sum())
    refuse_beyond(_BYTES_PER_PAIR * n_pairs, f"{n_pairs:,} pairs of workers", "Look at fewer workers.")
    partner, counts, moments = np.empty(n_pairs, np.int64), np.empty((n_pairs, 3), np.int64), np.empty((n_pairs, 4))
    given = task_start, task, worker, true, label, by_worker, worker_start
    rows = row_start, row_size, mistake_label, mistake_count, mistake_ratio
    to = np.cumsum(partners) - partners, partner, counts, moments
    run_ranges(n_workers, n_ranges(n_pairs, n_workers), lambda _, a, b: kernels.fill_pairs(a, b, *given, *rows, *to))
    return np.repeat(np.arange(n_workers), partners), partner, counts, moments


def _habit(alike: IntArray, both: IntArray, expected: FloatArray) -> FloatArray:
    """(n_pairs,) ratio of observed to expected coincidences among other pairs with the same expectation per task."""
    order = np.argsort(expected / both, kind="stable")
    so_far = np.cumsum(expected[order])
    total = so_far[-1] if len(so_far) else 0.0
    n = int(np.clip(total / _PER_GROUP, 1, _MOST_GROUPS))
    group = np.zeros(len(alike), np.int64)
    if total > 0:
        group[order] = np.minimum((so_far - expected[order] / 2) / total * n, n - 1).astype(np.int64)
    seen, chance = np.bincount(group, alike, n)[group], np.bincount(group, expected, n)[group]
    return np.asarray((seen - alike + 1) / (chance - expected + 1))


def _tail(alike: IntArray, both: IntArray, moments: FloatArray, mean: FloatArray) -> FloatArray:
    """(n_pairs,) P(at least ``alike``) by chance, the cumulants scaled to ``mean``; NaN where it cannot be small."""
    out = np.ones(len(alike))
    some = np.flatnonzero(alike)
    t, m, mu = alike[some].astype(float), both[some], mean[some]
    scale = mu / moments[some, 0]
    variance, third = scale * np.maximum(moments[some, 1], 0), scale * moments[some, 2]
    gap = t - 0.5 - mu
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = ndtr(-gap / np.sqrt(variance))
        from_start = np.maximum(gap + 2 * variance**2 / third, 0)
        pearson = gammaincc(4 * variance**3 / third**2, 2 * variance / third * from_start)
    limited = np.where(third > 1e-6 * variance**1.5, pearson, normal)
    limited[variance < 1e-12] = 1.0  # the margins leave no choice
    out[some] = np.minimum(bdtrc(t - 1, m, np.minimum(mu / m, 1)), limited)
    out[np.minimum(mean / both, 1) ** both > _TESTABLE] = np.nan
    return out


def _notes(truth: Reference) -> tuple[str, ...]:
    return (
        *(["The most probable class of the soft reference counts as the truth."] if truth.soft else []),
        *([_CONSENSUS.format(name=truth.name)] if truth.name != "gold" else []),
    )
