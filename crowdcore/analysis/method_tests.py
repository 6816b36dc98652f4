"""Tests of one method against another: over seeds, over tasks, and by ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.statistics import holm, mcnemar
from crowdcore.core.errors import SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.doors import renamed

LEVEL = 0.05  # up to which a p-value counts as significant
_EXACT = 12  # decimals to which two differences tie


@dataclass(frozen=True, eq=False)
class PairedTests(Shown):
    """Every pair of methods, compared seed by seed.

    Args:
        first, second: (P,) names.
        difference: (P,) mean over seeds of the first's accuracy minus the second's.
        p_value: (P,) two-sided Wilcoxon signed-rank test, exact (ties and all) up to 13 seeds; NaN where all
            differences are 0.
        adjusted: (P,) after Holm's correction over the pairs.
        n_seeds: seeds behind the tests.
        caveat: sentence on what so many seeds can show.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    difference: FloatArray
    p_value: FloatArray
    adjusted: FloatArray
    n_seeds: int
    caveat: str

    def frame(self) -> pd.DataFrame:
        """One row per pair."""
        names = ("first", "second", "difference", "p_value", "adjusted")
        return pd.DataFrame({name: getattr(self, name) for name in names}).assign(seeds=self.n_seeds)


def paired_tests(accuracies: Mapping[str, FloatArray]) -> PairedTests:
    """Compare methods that were run with the same seeds.

    Args:
        accuracies: method -> (S,) accuracy per seed, the same seeds in the same order.

    Raises:
        SettingError: fewer than two methods, or different numbers of seeds.
    """
    if len(accuracies) < 2:
        raise SettingError("accuracies", "hold at least two methods", len(accuracies))
    lengths = {len(a) for a in accuracies.values()}
    if len(lengths) > 1:
        raise SettingError("accuracies", "have the same seeds for every method", sorted(lengths))
    n = lengths.pop()
    pairs = list(itertools.combinations(accuracies, 2))
    gaps = [np.asarray(accuracies[a], np.float64) - accuracies[b] for a, b in pairs]
    p_value = np.array([signed_rank(gap) for gap in gaps])
    return PairedTests(
        tuple(a for a, _ in pairs),
        tuple(b for _, b in pairs),
        np.array([gap.mean() for gap in gaps]),
        p_value,
        holm(p_value),
        n,
        _caveat(n, max(int((~np.isnan(p_value)).sum()), 1)),
    )


def signed_rank(gap: FloatArray) -> float:
    """Wilcoxon's two-sided p-value that (S,) differences lie around 0, over all 2^S signs up to 13, also with ties.

    NaN where all are 0.
    """
    from scipy.stats import PermutationMethod, wilcoxon

    gap = np.round(gap, _EXACT)
    if not np.any(gap):
        return float("nan")
    signs = PermutationMethod(n_resamples=2**13, rng=np.random.default_rng(0))
    return float(wilcoxon(gap, method=signs).pvalue)


def _caveat(n: int, pairs: int) -> str:
    """Sentence on whether this number of seeds can show a difference after correction over all pairs."""
    smallest, corrected = 2.0 ** (1 - n), min(2.0 ** (1 - n) * pairs, 1.0)
    if smallest > LEVEL:
        sentence = f"With {n} seeds this test cannot reach significance (smallest possible p: {smallest:.3g})."
    elif corrected > LEVEL:
        sentence = (
            f"With {n} seeds this test cannot reach significance for {pairs} pairs at once (smallest possible p after "
            f"Holm's correction: {corrected:.3g})."
        )
    else:
        return f"Based on {n} seeds (smallest possible p: {smallest:.3g})."
    needed = math.ceil(1 - math.log2(LEVEL / pairs))
    fewer = ", or compare fewer runs" if pairs > 1 else ""
    return f"{sentence} Train at least {needed} seeds{fewer}."


RESAMPLES = 10_000


@dataclass(frozen=True)
class PairedBootstrap(Shown):
    """A mean difference with its interval and p-value, all in the unit of the differences.

    Attributes:
        difference: mean over the tasks.
        low, high: symmetric 95 % interval (Hall 1988): ``difference`` ± the 95 % quantile of |resampled - difference|.
        p_value: two-sided: how often a resampled mean lies as far from ``difference`` as ``difference`` from 0, so
            that it is below 5 % where the interval leaves 0 out; at least 1 / (resamples + 1).
        n_differ: tasks with a difference other than 0, the basis of the test.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n_differ: int


@renamed
def paired_bootstrap(
    gap: FloatArray, n_resamples: int = RESAMPLES, level: float = 0.95, seed: int = 0
) -> PairedBootstrap:
    """Resample the tasks with replacement; tasks with the same gap are one kind, so time does not grow with them.

    Args:
        gap: (n,) a task's difference between two methods, from -1 to 1, e.g. in the share of seeds that have it right.
        n_resamples: number of resamples.
        level: of the interval.
        seed: of the draws; the same gaps in any order give the same numbers.

    Raises:
        SettingError: no task.

    >>> result = paired_bootstrap(np.repeat([1.0, 0.0, -1.0], [30, 950, 20]))
    >>> round(result.difference, 3), result.n_differ, result.low < 0 < result.high
    (0.01, 50, True)
    """
    if not len(gap):
        raise SettingError("gap", "hold at least one task", [])
    values, counts = np.unique(np.round(np.asarray(gap, np.float64), _EXACT), return_counts=True)
    n, mean = counts.sum(), float(values @ counts / counts.sum())
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=n_resamples) @ values / n
    moved = np.abs(drawn - mean)
    reach = float(np.quantile(moved, level))
    as_far = int((moved >= abs(mean) - 10.0**-_EXACT).sum())
    return PairedBootstrap(
        mean,
        round(max(mean - reach, -1.0), _EXACT),
        round(min(mean + reach, 1.0), _EXACT),
        (1 + as_far) / (1 + n_resamples),
        int(counts[values != 0].sum()),
    )


SEEDS_AND_TASKS = (
    "Tests over seeds compare these runs, since seeds vary only the training on the same data. Tests over tasks "
    "compare the methods on data like this."
)
_FEW_TASKS = 10  # tasks that differ below which a bootstrap over them says little


@dataclass(frozen=True, eq=False)
class TaskTests(Shown):
    """Every pair of methods, compared task by task.

    The bootstrap is about one network of each method: a task counts as the share of seeds that have it right.
    McNemar's test needs one label per task and method, so it is about the ensembles (the most probable class of the
    seeds' mean probabilities). Seed by seed it would give S p-values on the same tasks, which no correction combines.

    Attributes:
        first, second: (P,) names.
        difference: (P,) mean over tasks of the first's share of right seeds minus the second's.
        low, high: (P,) its 95 % interval over tasks.
        p_value: (P,) paired bootstrap over tasks, two-sided.
        adjusted: (P,) after Holm's correction over the pairs.
        only_first, only_second: (P,) tasks that only one ensemble has right.
        mcnemar: (P,) exact two-sided p-value that these are equally frequent; NaN where there are none.
        mcnemar_adjusted: (P,) after Holm's correction over the pairs.
        n_tasks: tasks on which all were judged.
        caveat: what these tasks can show, in words.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    adjusted: FloatArray
    only_first: IntArray
    only_second: IntArray
    mcnemar: FloatArray
    mcnemar_adjusted: FloatArray
    n_tasks: int
    caveat: str

    def frame(self) -> pd.DataFrame:
        """One row per pair."""
        names = [name for name in vars(self) if name not in ("n_tasks", "caveat")]
        return pd.DataFrame({name: getattr(self, name) for name in names}).assign(tasks=self.n_tasks)


@renamed
def task_tests(
    right: Mapping[str, FloatArray | BoolArray],
    ensemble: Mapping[str, BoolArray],
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> TaskTests:
    """Compare every pair of methods on the tasks that all of them predicted.

    Args:
        right: method -> (S, n) whether each seed has each task right; S may differ between methods.
        ensemble: the same methods -> (n,) whether the mean of the seeds' probabilities has it right.
        n_resamples, seed: of the bootstrap.

    Raises:
        SettingError: fewer than two methods, no task, or different numbers of tasks.

    >>> rng = np.random.default_rng(0)
    >>> right = {"better": rng.random((5, 400)) < 0.9, "worse": rng.random((5, 400)) < 0.7}
    >>> tests = task_tests(right, {name: hits.mean(0) > 0.5 for name, hits in right.items()})
    >>> bool(tests.low[0] > 0), bool(tests.adjusted[0] < 0.001)
    (True, True)
    """
    if len(right) < 2:
        raise SettingError("right", "hold at least two methods", len(right))
    lengths = {np.shape(a)[-1] for a in (*right.values(), *ensemble.values())}
    if len(lengths) > 1 or lengths == {0}:
        raise SettingError("right", "have the same tasks for every method, at least one", sorted(lengths))
    pairs = list(itertools.combinations(right, 2))
    share = {name: np.asarray(hits, np.float64).mean(0) for name, hits in right.items()}
    pair_tests = [paired_bootstrap(share[a] - share[b], n_resamples, seed=seed) for a, b in pairs]
    p_value = np.array([one.p_value for one in pair_tests])
    only_first = np.array([(ensemble[a] & ~ensemble[b]).sum() for a, b in pairs], np.int64)
    only_second = np.array([(ensemble[b] & ~ensemble[a]).sum() for a, b in pairs], np.int64)
    exact = mcnemar(only_first, only_second)
    n = lengths.pop()
    return TaskTests(
        tuple(a for a, _ in pairs),
        tuple(b for _, b in pairs),
        np.array([one.difference for one in pair_tests]),
        np.array([one.low for one in pair_tests]),
        np.array([one.high for one in pair_tests]),
        p_value,
        holm(p_value),
        only_first,
        only_second,
        exact,
        holm(exact),
        n,
        _task_caveat(n, min(one.n_differ for one in pair_tests)),
    )


def _task_caveat(n: int, fewest: int) -> str:
    """Sentence about the tasks behind the test."""
    caveat = f"Over {n:,} test tasks, the same for every method."
    if fewest < _FEW_TASKS:
        caveat += (
            f" At least one pair differs on {fewest} tasks only, too few for an interval: use McNemar's test there."
        )
    return caveat


@dataclass(frozen=True, eq=False)
class CriticalDifference(Shown):
    """Mean ranks of k methods over n blocks; rank 1 is the highest score, ties share their mean rank.

    Args:
        names: (k,) best mean rank first.
        rank: (k,) mean rank.
        difference: mean ranks further apart than this differ: q_α √(k (k + 1) / (6 n)).
        groups: (first, last) positions in ``names`` of the largest sets whose ranks do not differ, two methods or more.
        p_value: Friedman's test (with the correction for ties) that all methods rank alike; NaN if every block ties.
        level: α of the critical difference.
        n_blocks: n.
        caveat: sentence on what these blocks can show.
    """

    names: tuple[str, ...]
    rank: FloatArray
    difference: float
    groups: tuple[tuple[int, int], ...]
    p_value: float
    level: float
    n_blocks: int
    caveat: str

    def frame(self) -> pd.DataFrame:
        """One row per method."""
        return pd.DataFrame({"run": self.names, "mean_rank": self.rank, "blocks": self.n_blocks})


def critical_difference(
    scores: Mapping[str, FloatArray], level: float = 0.05, blocks: str = "seeds"
) -> CriticalDifference:
    """Rank methods within every block, and find the mean ranks that differ.

    Args:
        scores: method -> (n,) score per block, the higher the better, blocks in the same order.
        level: α of Nemenyi's test.
        blocks: noun for the blocks.

    Raises:
        SettingError: fewer than two methods, no block, or different numbers of blocks.
    """
    from scipy.stats import chi2, rankdata, studentized_range

    k, lengths = len(scores), {len(s) for s in scores.values()}
    if k < 2:
        raise SettingError("scores", "hold at least two methods", k)
    if len(lengths) > 1 or lengths == {0}:
        raise SettingError("scores", "have the same blocks for every method, at least one", sorted(lengths))
    n = lengths.pop()
    table = np.stack([np.asarray(s, np.float64) for s in scores.values()], 1)
    ranks = rankdata(-table, axis=1)
    mean = ranks.mean(0)
    spread = ((ranks - (k + 1) / 2) ** 2).sum()
    p_value = chi2.sf(n**2 * (k - 1) * ((mean - (k + 1) / 2) ** 2).sum() / spread, k - 1) if spread > 0 else np.nan
    difference = float(studentized_range.ppf(1 - level, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))
    order = np.argsort(mean, kind="stable")
    names = tuple(scores)
    return CriticalDifference(
        tuple(names[i] for i in order),
        mean[order],
        difference,
        _rank_groups(mean[order], difference),
        float(p_value),
        level,
        n,
        _rank_caveat(n, k, difference, blocks),
    )


def _rank_caveat(n: int, k: int, difference: float, blocks: str) -> str:
    """Sentence on what this number of blocks can show."""
    if difference >= k - 1:
        sentence = (
            f"{n} {blocks} are too few to tell these runs apart (mean ranks would have to differ by {difference:.2f}; "
            f"the most possible is {k - 1})."
        )
    else:
        sentence = f"Over {n} {blocks}, two runs differ if their mean ranks are more than {difference:.2f} apart."
    return sentence + (" Seeds vary only the training, not the data." if blocks == "seeds" else "")


def _rank_groups(rank: FloatArray, difference: float) -> tuple[tuple[int, int], ...]:
    """Maximal runs of ascending ranks that reach no further than the critical difference."""
    ends = np.searchsorted(rank, rank + difference, side="right") - 1
    groups: list[tuple[int, int]] = []
    for first, last in enumerate(ends.tolist()):
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return tuple(groups)
