"""What a report may hold: each part turns the dataset or the results into exhibits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    ratings,
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


Part: TypeAlias = Callable[[Material], Iterable[Exhibit | None]]


def _workers(of: Material) -> Iterator[Exhibit]:
    """Worker by worker, and how alike they are."""
    yield worker_ranking(of.view)
    distances = worker_distances(of.view)
    many = of.dataset.n_workers > MAX_CELLS  # pairs enough to fill a report
    yield replace(distances, table=pd.DataFrame({"worker": of.view.workers})) if many else distances


def _accuracy(of: Material) -> Iterator[Exhibit | None]:
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


def _sweeps(of: Material) -> Iterator[Exhibit]:
    """Accuracy, of ratings RMSE, along every setting that varies, and along what other crowds differ in."""
    results = [*of.results.values(), *of.others]
    known = variation.facts_of_runs(results, (of.dataset, *of.crowds))
    names = ", ".join(dict.fromkeys(r.dataset for r in of.others))
    notes = (f"Runs on {names} take part here only.",) if names else ()
    for axis in () if explain_missing_gold([*of.results.values()]) else variation.axes(known):
        drawn = exhibits.along(results, known, axis)
        yield replace(drawn, notes=(*drawn.notes, *notes))


def _recovery(of: Material) -> Iterator[Exhibit | None]:
    """How near the truth of a simulated crowd."""
    yield exhibits.recovery(of.results, of.dataset)
    yield exhibits.truth(of.results, of.dataset, None)
    yield exhibits.truth(of.results, of.dataset, int(of.dataset.labels_per_worker.argmax()))


def _biases(of: Material) -> Iterator[Exhibit]:
    """Learnt and true biases of the runs that learn them."""
    for name, result in of.results.items():
        if "bias" in result.workers["selected"] and of.view.dataset.has_gold:
            shown = ratings.rating_biases(of.view.dataset, result, hidden=of.view.hidden)
            yield replace(shown, name=f"{shown.name}-{'-'.join(name.split())}", title=f"{shown.title}: {name}")


def _confusions(of: Material) -> Iterator[Exhibit]:
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


def _omega(of: Material) -> Iterator[Exhibit]:
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
    "verdicts": (
        "Verdicts: what to do",
        lambda of: (
            show(of.view) for show in (told.verdicts, told.worker_verdicts, told.mistakes_in_words, told.task_verdicts)
        ),
    ),
    "overview": (
        "The dataset at a glance",
        lambda of: (
            show(of.view)
            for show in (data.overview, data.annotations_per_worker, data.class_balance, data.annotation_entropy)
        ),
    ),
    "agreement": ("Agreement between workers", lambda of: [data.agreement(of.view)]),
    "mistakes": ("Shared mistakes", lambda of: [shared_mistakes(of.view)]),
    "annotators": ("Annotators", _workers),
}
_CURVES: Part = lambda of: (exhibits.curves(of.results, metric) for metric in exhibits.curve_metrics(of.results))  # noqa: E731
_COST: Part = lambda of: [exhibits.cost(of.results)]  # noqa: E731
RUN_PARTS: Mapping[str, tuple[str, Part]] = {
    "accuracy": ("Accuracy", _accuracy),
    "classes": ("Accuracy per class", lambda of: [exhibits.classes(of.results)]),
    "curves": ("Learning curves", _CURVES),
    "calibration": ("Calibration", lambda of: [exhibits.calibration(of.results)]),
    "cost": ("Time and cost", _COST),
    "sweeps": ("Along what varies", _sweeps),
    "recovery": ("Recovery of the truth", _recovery),
    "confusions": ("Recovered confusions", _confusions),
    "omega": ("Noise source ω", _omega),
}
PARTS: Mapping[str, tuple[str, Part]] = {**DATA_PARTS, **RUN_PARTS}
"""Name -> title and what makes it; those of runs need some."""
_OF_RATINGS: Mapping[str, tuple[str, Part]] = {
    "overview": ("The ratings at a glance", lambda of: [ratings.summary(of.view), ratings.agreement(of.view)]),
    "workers": ("Workers", lambda of: [ratings.worker_bias(of.view), ratings.errors_alike(of.view)]),
    "shared": ("Shared bias", lambda of: [ratings.shared_bias(of.view)]),
    "truth": ("True ratings", lambda of: [ratings.aggregators(of.view)]),
}
_OF_RATING_RUNS: Mapping[str, tuple[str, Part]] = {
    "errors": ("Errors", lambda of: [exhibits.rating_errors(of.results), differences.rating_differences(of.results)]),
    "curves": ("Learning curves", _CURVES),
    "sweeps": ("Along what varies", _sweeps),
    "biases": ("Learnt biases", _biases),
    "cost": ("Time and cost", _COST),
}


def parts_of(dataset: Labelled, runs: bool = True) -> Mapping[str, tuple[str, Part]]:
    """Name -> title and what makes it, of the parts for such labels; without runs those about the data only."""
    of_data, of_runs = (_OF_RATINGS, _OF_RATING_RUNS) if dataset.kind.numeric else (DATA_PARTS, RUN_PARTS)
    return {**of_data, **of_runs} if runs else of_data
