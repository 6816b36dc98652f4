"""What a report may hold: each part turns the dataset or the results into exhibits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from crowdcore.core.drawable import escaped
from crowdcore.data.ratings import Labelled
from crowdcore.exhibits import (
    Exhibit,
    comparison as exhibits,
    confusions as exhibits_of_runs,
    differences,
    omega as exhibits_of_omega,
    overview as data,
    verdicts as told,
    worker_skills,
)
from crowdcore.exhibits.comparison import found_spans
from crowdcore.exhibits.mistakes import shared_mistakes
from crowdcore.exhibits.recovered import RunView, of_run
from crowdcore.exhibits.training import candidates
from crowdcore.exhibits.workers import worker_distances, worker_ranking
from crowdcore.figures.heatmap import MAX_CELLS
from crowdcore.learning.comparison import variation
from crowdcore.learning.comparison.comparability import explain_missing_gold, shown_seed


@dataclass(frozen=True, eq=False)
class Material:
    """What the parts are made of.

    Args:
        view: what the dataset's own exhibits show: a `View`, of ratings a `RatingView`.
        dataset: its workers already go by the names that the report shows.
        results: name -> result, all on this dataset.
        others: results on the crowds, for sweeps.
        crowds: other datasets.
    """

    view: Any
    dataset: Any
    results: Mapping[str, Any]
    others: Sequence[Any] = ()
    crowds: Sequence[Labelled] = ()


Part: TypeAlias = Callable[[Material], Iterator[Exhibit | None]]


def overview(of: Material) -> Iterator[Exhibit]:
    """Counts, noise and balance."""
    yield data.overview(of.view)
    yield data.annotations_per_worker(of.view)
    yield data.class_balance(of.view)
    yield data.annotation_entropy(of.view)


def verdicts(of: Material) -> Iterator[Exhibit]:
    """What to do: workers, shared mistakes, tasks."""
    yield told.verdicts(of.view)
    yield told.worker_verdicts(of.view)
    yield told.mistakes_in_words(of.view)
    yield told.task_verdicts(of.view)


def agreement(of: Material) -> Iterator[Exhibit]:
    """How far workers agree."""
    yield data.agreement(of.view)


def mistakes(of: Material) -> Iterator[Exhibit]:
    """Fig. 1 of the CoNAL paper, with chance in mind."""
    yield shared_mistakes(of.view)


def annotators(of: Material) -> Iterator[Exhibit]:
    """Worker by worker, and how alike they are."""
    yield worker_ranking(of.view)
    distances = worker_distances(of.view)
    many = of.dataset.n_workers > MAX_CELLS  # pairs enough to fill a report
    yield replace(distances, table=pd.DataFrame({"worker": of.view.workers})) if many else distances


def accuracy(of: Material) -> Iterator[Exhibit | None]:
    """Selected, last and best, seed by seed, and what may be said of differences."""
    yield found_spans(of.results)
    yield exhibits.accuracies(of.results)
    yield candidates(of.results)
    if explain_missing_gold([*of.results.values()]):
        return
    yield exhibits.seeds(of.results)
    yield from differences.tests(of.results)
    yield from differences.rank_changes(of.results)
    yield exhibits.scores(of.results)


def classes(of: Material) -> Iterator[Exhibit]:
    """Accuracy per class."""
    yield exhibits.classes(of.results)


def curves(of: Material) -> Iterator[Exhibit]:
    """Every metric that was followed."""
    for metric in exhibits.curve_metrics(of.results):
        yield exhibits.curves(of.results, metric)


def calibration(of: Material) -> Iterator[Exhibit | None]:
    """Reliability of the test posterior."""
    yield exhibits.calibration(of.results)


def cost(of: Material) -> Iterator[Exhibit]:
    """Time, throughput, device."""
    yield exhibits.cost(of.results)


def sweeps(of: Material) -> Iterator[Exhibit]:
    """Accuracy, of ratings RMSE, along every setting that varies, and along what other crowds differ in."""
    results = [*of.results.values(), *of.others]
    known = variation.facts_of_runs(results, (of.dataset, *of.crowds))
    names = ", ".join(dict.fromkeys(r.dataset for r in of.others))
    notes = (f"Runs on {names} take part here only.",) if names else ()
    for axis in () if explain_missing_gold([*of.results.values()]) else variation.axes(known):
        drawn = exhibits.along(results, known, axis)
        yield replace(drawn, notes=(*drawn.notes, *notes))


def recovery(of: Material) -> Iterator[Exhibit | None]:
    """How near the truth of a simulated crowd."""
    yield exhibits.recovery(of.results, of.dataset)
    yield exhibits.truth(of.results, of.dataset, None)
    busiest = int(of.dataset.labels_per_worker.argmax())
    yield exhibits.truth(of.results, of.dataset, busiest)


def confusions(of: Material) -> Iterator[Exhibit]:
    """What each run says of the workers, and of what they share."""
    views = [view for view in _views(of) if view.result.worker_confusion is not None]
    for view in views:
        if len(exhibits_of_runs.commons(view)) == 1:
            common = exhibits_of_runs.recovered_confusion(view)
            if common is not None:
                yield _named(common, view, f"Common confusion of {view.run_name}", "common")
        workers = worker_skills.recovered_workers(view)
        yield _named(workers, view, workers.title)
        every = exhibits_of_runs.every_confusion(view)
        yield _named(every, view, every.title)
    if views:
        yield worker_skills.skills(views)


def omega(of: Material) -> Iterator[Exhibit]:
    """Where the runs see common noise."""
    for view in _views(of):
        if view.result.omega is None or np.isnan(view.result.omega).all():
            continue
        for name, shown in {
            "omega": exhibits_of_omega.omega_ranking(view),
            "omega-halves": exhibits_of_omega.omega_halves(view),
            "omega-classes": exhibits_of_omega.omega_spread(view, "class"),
        }.items():
            yield _named(shown, view, f"{shown.title}: {view.run_name}", name)


def _views(of: Material) -> list[RunView]:
    return [of_run(of.view, result, name) for name, result in of.results.items()]


def _named(shown: Exhibit, view: RunView, title: str, name: str = "") -> Exhibit:
    """An exhibit that says which run it is of, and which seed where there is no mean over seeds."""
    _, why = shown_seed(view.result)
    figure = None if shown.figure is None else go.Figure(shown.figure).update_layout(title_text=escaped(title))
    slug = "-".join(view.run_name.split())
    notes = (*([why] if why else []), *shown.notes)
    return replace(shown, name=f"{name or shown.name}-{slug}", title=title, figure=figure, notes=notes)


DATA_PARTS: Mapping[str, tuple[str, Part]] = {
    "verdicts": ("Verdicts: what to do", verdicts),
    "overview": ("The dataset at a glance", overview),
    "agreement": ("Agreement between workers", agreement),
    "mistakes": ("Shared mistakes", mistakes),
    "annotators": ("Annotators", annotators),
}
RUN_PARTS: Mapping[str, tuple[str, Part]] = {
    "accuracy": ("Accuracy", accuracy),
    "classes": ("Accuracy per class", classes),
    "curves": ("Learning curves", curves),
    "calibration": ("Calibration", calibration),
    "cost": ("Time and cost", cost),
    "sweeps": ("Along what varies", sweeps),
    "recovery": ("Recovery of the truth", recovery),
    "confusions": ("Recovered confusions", confusions),
    "omega": ("Noise source ω", omega),
}
PARTS: Mapping[str, tuple[str, Part]] = {**DATA_PARTS, **RUN_PARTS}
"""Name -> title and what makes it; those of runs need some."""
