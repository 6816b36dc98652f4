"""Significance tests between results over test tasks and seeds, and rank changes under another selection."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.method_tests import (
    PairedTests,
    TaskTests,
    paired_bootstrap,
    paired_tests,
    signed_rank,
    task_tests,
)
from crowdcore.analysis.statistics import holm
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.learning.comparison import variation
from crowdcore.learning.comparison.comparability import (
    Kept,
    explain_incomparable,
    explain_missing_gold,
    gold_on_test,
    judge_tasks,
)
from crowdcore.learning.comparison.summary import same_seeds
from crowdcore.learning.results.result import At, TrainingResult
from crowdcore.learning.validation import WAYS, Way, selected_by

_ALONE = "Choose at least two runs to test whether they differ."
_NO_TASK = "These runs share no test task, so they cannot be compared task by task."
_OF_SELECTION = ("select_on", "holdout", "holdout_seed")  # settings that may differ between two ways of selection


def over_tasks(results: Mapping[str, TrainingResult], at: Kept = "selected") -> TaskTests | str:
    """Paired bootstrap and McNemar's test of every pair over the shared test tasks, or the reason against it."""
    judged = {name: r for name, r in results.items() if len(gold_on_test(r))}
    if why := _explain_untestable(results, judged):
        return why
    tasks = judge_tasks(judged, at)
    return task_tests(tasks.right, tasks.ensemble) if len(tasks.task) else _NO_TASK


def over_seeds(results: Mapping[str, TrainingResult], at: At = "selected") -> PairedTests | str:
    """Wilcoxon's signed-rank test of every pair over the shared seeds, or the reason against it."""
    accuracies = seed_blocks(results, at)
    return accuracies if isinstance(accuracies, str) else paired_tests(accuracies)


def seed_blocks(results: Mapping[str, TrainingResult], at: At = "selected") -> dict[str, FloatArray] | str:
    """Accuracies of at least two results over at least two shared seeds, or the reason why there are none."""
    accuracies = same_seeds(results, at)
    shared = min((len(values) for values in accuracies.values()), default=0)
    why = _explain_untestable(results, {name: results[name] for name in accuracies})
    if not why and shared < 2:
        common = "one" if shared else "none"
        why = f"Tests over seeds need two seeds that all runs have; these runs have {common} in common."
    return why or accuracies


def _explain_untestable(results: Mapping[str, TrainingResult], judged: Mapping[str, TrainingResult]) -> str:
    alone = _ALONE if len(judged) < 2 else ""
    return explain_missing_gold(list(results.values())) or alone or explain_incomparable(judged.values())


@dataclass(frozen=True, eq=False)
class RankChanges:
    """G methods, each with its epoch selected in two ways; test accuracies are means over shared seeds.

    Attributes:
        before, after: the two ways.
        runs: (G,) name of each method's run.
        methods: (G,) registered names.
        accuracy: (G, 2) before and after.
        rank: (G, 2) among these methods, 1 is best; ties share the better rank.
        low, high: (G,) 95 % interval of the change over test tasks.
        over_tasks: (G,) p-value of no change by the paired bootstrap, with Holm's correction over the methods.
        over_seeds: (G,) p-value by Wilcoxon's signed-rank test over seeds; NaN for a single seed, or no change.
        n_seeds: (G,) number of shared seeds.
    """

    before: Way
    after: Way
    runs: tuple[str, ...]
    methods: tuple[str, ...]
    accuracy: FloatArray
    rank: IntArray
    low: FloatArray
    high: FloatArray
    over_tasks: FloatArray
    over_seeds: FloatArray
    n_seeds: IntArray

    def frame(self) -> pd.DataFrame:
        """One row per method; accuracies in per cent, changes in points."""
        return pd.DataFrame(
            {
                "run": self.runs,
                "from": WAYS[self.before],
                "to": WAYS[self.after],
                "from %": 100 * self.accuracy[:, 0],
                "to %": 100 * self.accuracy[:, 1],
                "change (points)": 100 * (self.accuracy[:, 1] - self.accuracy[:, 0]),
                "low": 100 * self.low,
                "high": 100 * self.high,
                "p over tasks (Holm)": self.over_tasks,
                "p over seeds (Holm)": self.over_seeds,
                "rank from": self.rank[:, 0],
                "rank to": self.rank[:, 1],
                "seeds": self.n_seeds,
            }
        )

    @property
    def sentence(self) -> str:
        """Number of ranks that change, as a sentence."""
        moved, total = int((self.rank[:, 0] != self.rank[:, 1]).sum()), len(self.runs)
        ranks = f"{moved} of {total} ranks change" if total > 1 else "there is one method, so no ranks to compare"
        return f"From “{WAYS[self.before]}” to “{WAYS[self.after]}”: {ranks}."


def rank_changes(results: Mapping[str, TrainingResult]) -> list[RankChanges]:
    """Compare every two ways of selection among the results.

    Without selection, the last epoch of the same run counts. Gold and crowd labels are compared between runs that
    differ in the selection only.

    Args:
        results: name -> result; those without gold on the test split are left out.
    """
    kinds = _group_runs({name: r for name, r in results.items() if len(gold_on_test(r))})
    changes = []
    for before, after in itertools.combinations(WAYS, 2):
        pairs = {}
        for name, by_way in kinds.items():
            if before in by_way and (after == "none" or after in by_way):
                one = by_way[before]
                pairs[name] = (one, one if after == "none" else by_way[after])
        if pairs:
            changes.append(_compare_ways(before, after, pairs))
    return changes


def _group_runs(results: Mapping[str, TrainingResult]) -> dict[str, dict[Way, TrainingResult]]:
    """Name of a run, selection left out -> its results by way; a second run of the same way has its own name."""
    known: dict[str, variation.Facts] = {}
    kinds: dict[str, dict[Way, TrainingResult]] = {}
    for r in results.values():
        facts = {key: value for key, value in variation.facts(r).items() if key not in _OF_SELECTION}
        way = selected_by(r.validated_on)
        copy = next(k for k in itertools.count() if way not in kinds.get(f"{facts} {k}", {}))
        known[f"{facts} {copy}"] = facts
        kinds.setdefault(f"{facts} {copy}", {})[way] = r
    return dict(zip(variation.names(list(known.values())), kinds.values(), strict=True))


def _compare_ways(before: Way, after: Way, pairs: Mapping[str, tuple[TrainingResult, TrainingResult]]) -> RankChanges:
    from scipy.stats import rankdata

    epochs: dict[str, Kept] = {"before": "selected", "after": "last" if after == "none" else "selected"}
    accuracy, over_seeds, tests, n_seeds = [], [], [], []
    for one, other in pairs.values():
        judged = judge_tasks({"before": one, "after": other}, epochs).right
        seeds = [s for s in one.seeds if s in other.seeds]
        both = [
            judged[name][[r.seeds.index(s) for s in seeds]] if seeds else judged[name]
            for name, r in (("before", one), ("after", other))
        ]
        accuracy.append([hits.mean() for hits in both])
        tests.append(paired_bootstrap(both[1].mean(0) - both[0].mean(0)))
        gaps = both[1].mean(1) - both[0].mean(1) if seeds else np.empty(0)
        over_seeds.append(signed_rank(gaps) if len(seeds) > 1 else np.nan)
        n_seeds.append(len(seeds))
    reached = np.array(accuracy)
    return RankChanges(
        before,
        after,
        tuple(pairs),
        tuple(one.method for one, _ in pairs.values()),
        reached,
        rankdata(-np.round(reached, 12), method="min", axis=0).astype(np.int64),
        np.array([test.low for test in tests]),
        np.array([test.high for test in tests]),
        holm(np.array([test.p_value for test in tests])),
        holm(np.array(over_seeds)),
        np.array(n_seeds),
    )
