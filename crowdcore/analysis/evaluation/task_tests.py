"""Paired bootstrap and McNemar's test of methods over the same test tasks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.evaluation.paired_bootstrap import RESAMPLES, paired_bootstrap
from crowdcore.analysis.evaluation.paired_tests import holm
from crowdcore.analysis.labels.label_disagreement import mcnemar
from crowdcore.core.errors import SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray

SEEDS_AND_TASKS = (
    "Tests over seeds compare these runs, since seeds vary only the training on the same data. Tests over tasks "
    "compare the methods on data like this."
)
_FEW = 10  # tasks that differ below which a bootstrap over them says little


@dataclass(frozen=True, eq=False)
class TaskTests:
    """Every pair of methods, compared task by task.

    The bootstrap is about one network of each method: a task counts as the share of seeds that have it right.
    McNemar's test needs one label per task and method, so it is about the ensembles (the most probable class of the
    seeds' mean probabilities). Seed by seed it would give S p-values that rest on the same tasks, which no correction
    makes one answer.

    Attributes:
        first: (P,) names.
        second: (P,) names.
        difference: (P,) mean over tasks of the first's share of right seeds minus the second's.
        low, high: (P,) its 95 % interval over tasks.
        p_value: (P,) paired bootstrap over tasks, two-sided.
        adjusted: (P,) after Holm's correction over the pairs.
        only_first: (P,) tasks that only the first's ensemble has right.
        only_second: (P,) tasks that only the second's ensemble has right.
        mcnemar: (P,) exact two-sided p-value that these are equally frequent; NaN where there are none.
        mcnemar_adjusted: (P,) after Holm's correction over the pairs.
        n_tasks: how many tasks all were judged on.
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


def task_tests(
    right: Mapping[str, FloatArray | BoolArray],
    ensemble: Mapping[str, BoolArray],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> TaskTests:
    """Compare every pair of methods on the tasks that all of them predicted.

    Args:
        right: method -> (S, n) whether each seed has each task right; S may differ between methods.
        ensemble: the same methods -> (n,) whether the mean of the seeds' probabilities has it right.
        resamples: of the bootstrap.
        seed: of the bootstrap.

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
    pair_tests = [paired_bootstrap(share[a] - share[b], resamples, seed=seed) for a, b in pairs]
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
        _caveat(n, min(one.n_differ for one in pair_tests)),
    )


def _caveat(n: int, fewest: int) -> str:
    """What the test rests on, in words."""
    caveat = f"Over {n:,} test tasks, the same for every method."
    if fewest < _FEW:
        caveat += (
            f" At least one pair differs on {fewest} tasks only, too few for an interval: use McNemar's test there."
        )
    return caveat
