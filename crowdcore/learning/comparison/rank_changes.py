"""Rank changes of methods when the epoch is selected in another way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.evaluation.method_tests import paired_bootstrap, signed_rank
from crowdcore.analysis.statistics import holm
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.learning.comparison import variation
from crowdcore.learning.comparison.judged import Kept, gold_on_test, judge_tasks
from crowdcore.learning.comparison.selected_by import WAYS, Way, selected_by
from crowdcore.learning.results.result import TrainingResult

_OF_SELECTION = ("select_on", "holdout", "holdout_seed")  # settings in which runs selected in two ways differ


@dataclass(frozen=True, eq=False)
class RankChanges:
    """G methods, each selected in two ways; test accuracies are means over the seeds that both have.

    Attributes:
        before, after: the two ways.
        runs: (G,) what each method is called.
        methods: (G,) registered names.
        accuracy: (G, 2) before and after.
        rank: (G, 2) among these methods, 1 is best; equal ones share the better rank.
        low, high: (G,) 95 % interval of the change over test tasks.
        over_tasks: (G,) paired bootstrap's p-value that nothing changes, after Holm's correction over the methods.
        over_seeds: (G,) the same by Wilcoxon's signed-rank test over seeds; NaN for a single seed, or no change.
        n_seeds: (G,) seeds that both have.
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
        """How many ranks change."""
        moved, total = int((self.rank[:, 0] != self.rank[:, 1]).sum()), len(self.runs)
        ranks = f"{moved} of {total} ranks change" if total > 1 else "there is one method, so no ranks to compare"
        return f"From “{WAYS[self.before]}” to “{WAYS[self.after]}”: {ranks}."


def rank_changes(results: Mapping[str, TrainingResult]) -> list[RankChanges]:
    """Compare every two ways that there are results for.

    With no selection, the last epoch of the same run counts. Gold and crowd labels are compared between runs that
    differ in nothing but what selects.

    Args:
        results: name -> result; those without gold on the test split are left out.
    """
    kinds = _kinds({name: r for name, r in results.items() if len(gold_on_test(r))})
    changes = []
    for before, after in itertools.combinations(WAYS, 2):
        pairs = {}
        for name, by_way in kinds.items():
            if before in by_way and (after == "none" or after in by_way):
                one = by_way[before]
                pairs[name] = (one, one if after == "none" else by_way[after])
        if pairs:
            changes.append(_changes(before, after, pairs))
    return changes


def _kinds(results: Mapping[str, TrainingResult]) -> dict[str, dict[Way, TrainingResult]]:
    """What a run is called apart from how it selects -> its results by way; a second run of a kind counts by itself."""
    known: dict[str, variation.Facts] = {}
    kinds: dict[str, dict[Way, TrainingResult]] = {}
    for r in results.values():
        facts = {key: value for key, value in variation.facts(r).items() if key not in _OF_SELECTION}
        way = selected_by(r.validated_on)
        copy = next(k for k in itertools.count() if way not in kinds.get(f"{facts} {k}", {}))
        known[f"{facts} {copy}"] = facts
        kinds.setdefault(f"{facts} {copy}", {})[way] = r
    return dict(zip(variation.names(list(known.values())), kinds.values(), strict=True))


def _changes(before: Way, after: Way, pairs: Mapping[str, tuple[TrainingResult, TrainingResult]]) -> RankChanges:
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
