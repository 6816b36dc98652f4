"""Significance tests between results over test tasks and over seeds, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping

from crowdcore.analysis.evaluation.method_tests import PairedTests, TaskTests, paired_tests, task_tests
from crowdcore.core.types import FloatArray
from crowdcore.learning.comparison.features_seen import apart
from crowdcore.learning.comparison.judged import Kept, basis, gold_on_test, judge_tasks
from crowdcore.learning.comparison.summary import same_seeds
from crowdcore.learning.results.result import At, TrainingResult

_ALONE = "Choose at least two runs to test whether they differ."
_NO_TASK = "These runs share no test task, so they cannot be compared task by task."


def over_tasks(results: Mapping[str, TrainingResult], at: Kept = "selected") -> TaskTests | str:
    """Paired bootstrap and McNemar's test of every pair, over the test tasks that all were judged on."""
    judged = {name: r for name, r in results.items() if len(gold_on_test(r))}
    why = basis(list(results.values())) or (_ALONE if len(judged) < 2 else "") or apart(judged.values())
    if why:
        return why
    judged_tasks = judge_tasks(judged, at)
    return task_tests(judged_tasks.right, judged_tasks.ensemble) if len(judged_tasks.task) else _NO_TASK


def over_seeds(results: Mapping[str, TrainingResult], at: At = "selected") -> PairedTests | str:
    """Wilcoxon's signed-rank test of every pair, over the seeds that all have."""
    reached = seed_blocks(results, at)
    return reached if isinstance(reached, str) else paired_tests(reached)


def seed_blocks(results: Mapping[str, TrainingResult], at: At = "selected") -> dict[str, FloatArray] | str:
    """Accuracies over the seeds that all results have: two or more of either."""
    reached = same_seeds(results, at)
    shared = min((len(values) for values in reached.values()), default=0)
    why = basis(list(results.values())) or (_ALONE if len(reached) < 2 else "") or apart(results[n] for n in reached)
    if not why and shared < 2:
        common = "one" if shared else "none"
        why = f"Tests over seeds need two seeds that all runs have; these runs have {common} in common."
    return why or reached
