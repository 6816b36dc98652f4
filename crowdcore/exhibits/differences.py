"""Differences of results: exhibits of tests over test tasks and over seeds, and of what selects the epoch.

A test without basis is an exhibit without figure and table, whose note gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.method_tests import LEVEL, SEEDS_AND_TASKS, signed_rank
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.aggregation import difference_table
from crowdcore.exhibits.exhibit import Exhibit, escaped, none_of
from crowdcore.learning.comparison import significance
from crowdcore.learning.comparison.comparability import Kept, explain_missing_gold
from crowdcore.learning.comparison.significance import RankChanges, rank_changes as changes_of
from crowdcore.learning.comparison.summary import deviation
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results import predictions
from crowdcore.learning.results.result import At, TrainingResult
from crowdcore.learning.validation import WAYS

Results: TypeAlias = Mapping[str, TrainingResult]
_TASK_COLUMNS = {
    "difference": "difference (points)",
    "p_value": "p",
    "adjusted": "adjusted p",
    "only_first": "only first right",
    "only_second": "only second right",
    "mcnemar": "McNemar p",
    "mcnemar_adjusted": "McNemar adjusted p",
}


def tests(results: Results, at: At = "selected") -> list[Exhibit]:
    """All tests over tasks and over seeds; a reason that several of them lack a basis is given once.

    No predictions are stored for the best epoch on test: there, tests over tasks are those of the selected epoch.
    """
    every = [over_tasks(results, "last" if at == "last" else "selected"), over_seeds(results, at), ranks(results, at)]
    first = {e.notes: e for e in reversed(every) if e.table.empty}
    return [e for e in every if first.get(e.notes, e) is e]


def over_tasks(results: Results, at: Kept = "selected") -> Exhibit:
    """Paired bootstrap and McNemar's test of every pair, over the test tasks that all were judged on."""
    tests, title = significance.over_tasks(results, at), "Tests over test tasks"
    if isinstance(tests, str):
        return none_of("task-tests", title, tests)
    points = {part: 100 * getattr(tests, part) for part in ("difference", "low", "high")}
    notes = (
        f"{_significant(tests)} {tests.caveat} Difference: of mean accuracies over seeds, with its 95 % interval and p "
        "(at least 0.0001) from a paired bootstrap over tasks. McNemar's exact test: of the ensembles. Adjusted: Holm.",
        SEEDS_AND_TASKS,
    )
    table = tests.frame().assign(**points).drop(columns="tasks").rename(columns=_TASK_COLUMNS)
    return Exhibit("task-tests", title, None, table, notes)


def _significant(tests: analysis.TaskTests) -> str:
    """Sentence about the number of pairs that differ."""
    bootstrap, mcnemar = ((p <= LEVEL).sum() for p in (tests.adjusted, tests.mcnemar_adjusted))
    n = len(tests.first)
    return (
        f"Pairs that differ significantly (5 %): {bootstrap} of {n} by bootstrap, {mcnemar} of {n} by McNemar's test."
    )


def over_seeds(results: Results, at: At = "selected") -> Exhibit:
    """Wilcoxon's signed-rank test of every pair, over the seeds that all have."""
    tests, title = significance.over_seeds(results, at), "Tests over seeds (Wilcoxon, Holm)"
    if isinstance(tests, str):
        return none_of("paired-tests", title, tests)
    columns = {"difference": "difference (points)", "p_value": "p", "adjusted": "adjusted p"}
    table = tests.frame().assign(difference=100 * tests.difference).rename(columns=columns)
    return Exhibit("paired-tests", title, None, table, (tests.caveat,))


def ranks(results: Results, at: At = "selected") -> Exhibit:
    """Mean ranks over the seeds that all have, on a critical-difference diagram."""
    blocks, title = significance.seed_blocks(results, at), "Mean ranks and critical difference"
    if isinstance(blocks, str):
        return none_of("critical-difference", title, blocks)
    diagram = analysis.critical_difference(blocks)
    figure = figures.critical_difference(
        replace(diagram, names=tuple(map(escaped, diagram.names))),
        {escaped(name): r.method for name, r in results.items()},
        subtitle=f"Mean rank over {diagram.n_blocks} seeds (1 = best). A grey bar joins runs that do not differ "
        f"significantly ({100 * diagram.level:g} %).",
    )
    return Exhibit("critical-difference", title, figure, diagram.frame(), (diagram.caveat,))


def rank_changes(results: Results) -> list[Exhibit]:
    """Changes of accuracy and ranks with what selects the epoch: one exhibit for every two ways there are."""
    title, why = "What selects the epoch", explain_missing_gold(list(results.values()))
    changes = [] if why else changes_of(results)
    if not changes:
        kept_last = "All of these runs keep their last epoch; there is no selected one to compare it with."
        return [none_of("selection", title, why or kept_last)]
    return [_changed(one, title) for one in changes]


def _changed(change: RankChanges, title: str) -> Exhibit:
    ways = (WAYS[change.before], WAYS[change.after])
    figure = None
    if len(change.runs) > 1:
        names = [escaped(name) for name in change.runs]
        figure = figures.rank_changes(
            names, change.methods, change.rank, change.accuracy, ways, title=title, subtitle=change.sentence
        )
    compared = "The last epoch is that of the same run." if change.after == "none" else "The runs differ in that alone."
    notes = (
        f"{change.sentence} {compared} Test accuracy, mean over seeds. Low and high: 95 % interval of the change over "
        "test tasks. p: of the change of each method, paired over tasks (bootstrap) and over seeds (Wilcoxon).",
    )
    name = f"selection-{change.before}-{change.after}"
    return Exhibit(name, f"{title}: {' or '.join(ways)}", figure, change.frame(), notes)


SPLITS = {"test": "Test tasks", "train": "Training tasks", "valid": "Validation tasks", "all": "All tasks"}


def prediction_disagreement(results: Results, dataset: CrowdDataset, split: str = "test") -> analysis.LabelDisagreement:
    """The results' labels (most probable class of the mean over seeds) and gold, in pairs, on the tasks of a split."""
    labellings = predictions.labellings(results, dataset, split)
    return analysis.label_disagreement(dataset, labellings, predictions.gold_of(results, dataset, split))


def prediction_differences(results: Results, dataset: CrowdDataset, split: str = "test") -> Exhibit:
    """Share of the tasks of a split that each pair of results labels differently; a click chooses a pair."""
    differences = prediction_disagreement(results, dataset, split)
    title = f"Where the runs differ: {SPLITS[split].lower()}"
    figure = figures.label_disagreement(replace(differences, names=tuple(map(escaped, differences.names))), title=title)
    notes = ("A run's label is the most probable class of the mean over its seeds, at the selected epoch.",)
    alt = "Share of tasks that each pair of runs labels differently"
    return Exhibit(
        "label-disagreement",
        title,
        figure,
        differences.frame,
        notes,
        alt,
        lambda row, column: {"first": differences.names[row], "second": differences.names[column]},
    )


def differing_predictions(
    results: Results, dataset: CrowdDataset, first: str, second: str, split: str = "test"
) -> Exhibit:
    """The tasks of a split that two results (or a result and gold) label differently; index = task number."""
    labellings = predictions.labellings(results, dataset, split)
    gold = predictions.gold_of(results, dataset, split)
    frame = difference_table(dataset, (first, second), (labellings[first], labellings[second]), gold)
    return Exhibit("differing-tasks", f"{SPLITS[split]} that {first} and {second} label differently", None, frame)


def rating_differences(results: Mapping[str, RatingsResult], at: At = "selected") -> Exhibit:
    """Differences in RMSE from DL-MEAN, else from the first result, paired over the seeds that both have."""
    title = "Difference in RMSE, over seeds"
    if len(results) < 2:
        return none_of("rating-differences", title, "Choose a second run to compare with.")
    base = next((name for name, result in results.items() if result.method == "dl-mean"), next(iter(results)))
    rows = []
    for name, result in results.items():
        shared = sorted(set(result.seeds) & set(results[base].seeds))
        if name == base or not shared:
            continue
        first, second = (_rmse(results[one], shared, at) for one in (name, base))
        gap = first - second
        rows.append((name, base, len(shared), gap.mean(), deviation(gap), signed_rank(gap)))
    columns = ["first", "second", "seeds", "RMSE difference", "RMSE difference ±", "p"]
    notes = (
        "Below 0: nearer to the truth. p: Wilcoxon's signed-rank test, two-sided and exact, not corrected for the "
        "number of rows; with fewer than 6 seeds it cannot fall below 5 %.",
    )
    return Exhibit("rating-differences", title, None, pd.DataFrame(rows, columns=columns), notes)


def _rmse(result: RatingsResult, seeds: list[int], at: At) -> FloatArray:
    return result.score("rmse", at=at)[[result.seeds.index(seed) for seed in seeds]]
