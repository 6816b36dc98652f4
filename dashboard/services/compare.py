"""Training runs side by side; what there is to see of them comes from `crowdcore.exhibits.comparison`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.services._cache import dataset, kept
from dashboard.services.datasets import names as dataset_names, workers
from dashboard.services.runs import readable, result, run, runs_of, trials

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import LabelDisagreement
    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.results.result import At, TrainingResult
    from crowdcore.runs import Run

__all__ = [
    "SPLITS",
    "accuracies",
    "at_words",
    "axes",
    "axis_words",
    "basis",
    "calibration",
    "classes",
    "compared",
    "cost",
    "curve_metrics",
    "curves",
    "differing_tasks",
    "disagreement",
    "disagreement_figure",
    "kept_at",
    "partners",
    "rank_changes",
    "recovery",
    "scores",
    "searches",
    "seeds",
    "sweep",
    "tests",
    "truth",
    "truth_workers",
]

Runs = tuple[str, ...]
SPLITS = {"test": "Test tasks", "train": "Training tasks", "valid": "Validation tasks", "all": "All tasks"}


@kept
def _names(opened: CrowdDataset, runs: Runs) -> list[str]:
    from crowdcore.learning.comparison import variation

    return variation.names([variation.facts(result(run)) for run in runs])


def compared(name: str | CrowdDataset, runs: Runs) -> dict[str, TrainingResult]:
    """Results by what tells each from the others, in the order chosen."""
    return dict(zip(_names(name, runs), map(result, runs), strict=True))


def basis(name: str, runs: Runs) -> str:
    """Why nothing can be said of their test accuracy; "" where it can."""
    from crowdcore.learning.comparison import judged

    return judged.basis(list(compared(name, runs).values()))


def at_words() -> dict[At, str]:
    """The three columns that are never mixed, in words."""
    from crowdcore.learning.comparison.summary import AT_WORDS

    return dict(AT_WORDS)


def kept_at(at: At) -> At:
    """The epoch whose predictions are kept: those of the best one on test are not."""
    return "selected" if at == "best" else at


@kept
def accuracies(opened: CrowdDataset, runs: Runs) -> Exhibit:
    """Selected, last, best."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.accuracies(compared(opened, runs))


@kept
def seeds(opened: CrowdDataset, runs: Runs, at: At) -> Exhibit:
    """Every seed."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.seeds(compared(opened, runs), at)


@kept
def classes(opened: CrowdDataset, runs: Runs, at: At) -> Exhibit:
    """Per class."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.classes(compared(opened, runs), "last" if at == "last" else "selected")


@kept
def scores(opened: CrowdDataset, runs: Runs, at: At) -> Exhibit:
    """F1, likelihood, calibration error."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.scores(compared(opened, runs), "last" if at == "last" else "selected")


@kept
def cost(opened: CrowdDataset, runs: Runs) -> Exhibit:
    """Time and device."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.cost(compared(opened, runs))


@kept
def tests(opened: CrowdDataset, runs: Runs, at: At) -> list[Exhibit]:
    """Over test tasks and over seeds."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.tests(compared(opened, runs), at)


@kept
def rank_changes(opened: CrowdDataset, runs: Runs) -> list[Exhibit]:
    """What selects the epoch, and what that changes."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.rank_changes(compared(opened, runs))


def curve_metrics(name: str, runs: Runs) -> dict[str, str]:
    """Metric -> words."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.curve_metrics(compared(name, runs))


@kept
def curves(opened: CrowdDataset, runs: Runs, metric: str, smooth: int, axes: tuple[str, ...]) -> Exhibit:
    """One metric by epoch; ``axes`` as in `dashboard.components.curve_choice.AXES`."""
    from crowdcore.exhibits import comparison as exhibits

    wanted = dict.fromkeys(axes, True)
    return exhibits.curves(compared(opened, runs), metric, smooth, **wanted)


@kept
def calibration(opened: CrowdDataset, runs: Runs) -> Exhibit | None:
    """Reliability on the test split; None without gold there."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.calibration(compared(opened, runs))


@kept
def recovery(opened: CrowdDataset, runs: Runs) -> Exhibit | None:
    """Recovery errors; None where no truth is known."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.recovery(compared(opened, runs), opened)


@kept
def truth(opened: CrowdDataset, runs: Runs, worker: int | None, called: str) -> Exhibit | None:
    """The truth beside what was learnt, of one worker or in common."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.truth(compared(opened, runs), opened, worker, called)


def truth_workers(name: str, hidden: bool) -> list[str]:
    """The workers whose true confusion is known."""
    known = dataset(name).truth
    return workers(name, hidden) if known is not None and known.worker_confusion is not None else []


def partners(name: str, runs: Runs) -> dict[str, tuple[str, ...]]:
    """Other datasets -> their newest finished runs of the same methods and settings as these."""
    from crowdcore.core.errors import CrowdError

    kinds = [_kind(run(known)) for known in runs]
    found: dict[str, tuple[str, ...]] = {}
    for other in dataset_names():
        if other == name:
            continue
        newest: list[Run] = []
        for one in runs_of(other):
            if _kind(one) in kinds and all(_kind(one) != _kind(seen) for seen in newest):
                try:
                    fits = readable(one, other)
                except CrowdError:  # its dataset cannot be opened any more
                    continue
                newest += [one] if fits else []
        if newest:
            found[other] = tuple(one.id for one in newest)
    return found


def searches(name: str) -> dict[str, Runs]:
    """Searches of a dataset, newest first -> their trials that came to a result, in the order in which they began."""
    found = {}
    for search in runs_of(name):
        if search.spec.search is not None:
            found[search.id] = tuple(t.id for t in reversed(trials(name, search.id)) if readable(t, name))
    return {search: ended for search, ended in found.items() if ended}


def _kind(one: Run) -> tuple[str, dict[str, object]]:
    return one.spec.method, one.spec.settings


@kept
def _facts(opened: CrowdDataset, runs: Runs, crowds: tuple[str, ...]) -> list[dict[str, object]]:
    from crowdcore.learning.comparison import variation

    by_print = {each.fingerprint: each for each in (opened, *map(dataset, crowds))}
    return [variation.facts(found, by_print.get(found.fingerprint)) for found in map(result, runs)]


def axes(name: str, runs: Runs, crowds: tuple[str, ...], searches: Runs) -> list[str]:
    """What varies among the runs, of this dataset and of others; what the searches varied comes first."""
    from crowdcore.learning.comparison import variation

    plans = [one.spec.search for one in runs_of(name) if one.id in searches]
    searched = {setting for plan in plans if plan is not None for setting in plan.space}
    return sorted(variation.axes(_facts(name, runs, crowds)), key=lambda x: x not in searched)


def axis_words(x: str) -> str:
    """What varies, in words."""
    from crowdcore.learning.comparison import variation

    return variation.in_words(x)


@kept
def sweep(opened: CrowdDataset, runs: Runs, crowds: tuple[str, ...], x: str, at: At) -> Exhibit:
    """Accuracy along what varies."""
    from crowdcore.exhibits import comparison as exhibits

    return exhibits.along([result(run) for run in runs], _facts(opened, runs, crowds), x, at)


@kept
def disagreement(opened: CrowdDataset, runs: Runs, split: str) -> LabelDisagreement:
    """The runs' labels (most probable class of the mean over seeds) and gold, in pairs, on the tasks of a split."""
    from crowdcore import analysis
    from crowdcore.learning.results import predictions

    labellings = predictions.labellings(compared(opened, runs), opened, split)
    return analysis.label_disagreement(opened, labellings, predictions.gold_of(compared(opened, runs), opened, split))


@kept
def disagreement_figure(opened: CrowdDataset, runs: Runs, split: str) -> go.Figure:
    """The heatmap of the pairs."""
    from dataclasses import replace

    from crowdcore import figures
    from crowdcore.core.drawable import escaped

    found = disagreement(opened, runs, split)
    title = f"Where the runs differ: {SPLITS[split].lower()}"
    return figures.label_disagreement(replace(found, names=tuple(map(escaped, found.names))), title=title)


@kept
def differing_tasks(opened: CrowdDataset, runs: Runs, split: str, first: str, second: str) -> pd.DataFrame:
    """The tasks of a split that two runs (or a run and gold) label differently; index = task number."""
    from crowdcore import analysis
    from crowdcore.learning.results import predictions

    results = compared(opened, runs)
    labellings, gold = predictions.labellings(results, opened, split), predictions.gold_of(results, opened, split)
    frame = analysis.label_difference(opened, labellings[first], labellings[second], gold)
    if predictions.GOLD in (first, second):
        sure = "first_probability" if first == predictions.GOLD else "second_probability"
        return frame.drop(columns=[predictions.GOLD, sure])
    return frame if (gold >= 0).any() else frame.drop(columns=predictions.GOLD)
