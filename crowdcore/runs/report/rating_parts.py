"""What a report of ratings may hold: each part turns the ratings or the results into exhibits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from crowdcore.exhibits import Exhibit, comparison, rating_results, ratings
from crowdcore.exhibits.rating_biases import rating_biases
from crowdcore.exhibits.ratings import RatingView
from crowdcore.learning.comparison import variation
from crowdcore.learning.comparison.judged import basis
from crowdcore.learning.ratings.result import RatingsResult


@dataclass(frozen=True, eq=False)
class RatingMaterial:
    """What the parts are made of.

    Args:
        view: the ratings, with what is taken for the truth.
        results: name -> result, all on these ratings.
    """

    view: RatingView
    results: Mapping[str, RatingsResult]


Part: TypeAlias = Callable[[RatingMaterial], Iterator[Exhibit | None]]


def overview(of: RatingMaterial) -> Iterator[Exhibit]:
    """Counts, errors and agreement."""
    yield ratings.summary(of.view)
    yield ratings.agreement(of.view)


def workers(of: RatingMaterial) -> Iterator[Exhibit]:
    """Bias and spread of each worker, and who errs alike."""
    yield ratings.worker_bias(of.view)
    yield ratings.errors_alike(of.view)


def shared(of: RatingMaterial) -> Iterator[Exhibit]:
    """Where the whole crowd overrates."""
    yield ratings.shared_bias(of.view)


def truth(of: RatingMaterial) -> Iterator[Exhibit]:
    """Aggregators."""
    yield ratings.aggregators(of.view)


def errors(of: RatingMaterial) -> Iterator[Exhibit]:
    """MAE, RMSE and R²."""
    yield rating_results.rating_errors(of.results)
    yield rating_results.rating_differences(of.results)


def curves(of: RatingMaterial) -> Iterator[Exhibit]:
    """Every metric that was followed."""
    for metric in comparison.curve_metrics(of.results):
        yield comparison.curves(of.results, metric)


def sweeps(of: RatingMaterial) -> Iterator[Exhibit]:
    """RMSE along every setting that varies."""
    results = [*of.results.values()]
    known = variation.known(results, [of.view.dataset])
    for axis in () if basis(results) else variation.axes(known):
        yield comparison.along(results, known, axis)


def biases(of: RatingMaterial) -> Iterator[Exhibit]:
    """Learnt and true biases of the runs that learn them."""
    for name, result in of.results.items():
        if "bias" in result.workers["selected"] and of.view.dataset.has_gold:
            shown = rating_biases(of.view.dataset, result, hidden=of.view.hidden)
            yield replace(shown, name=f"{shown.name}-{'-'.join(name.split())}", title=f"{shown.title}: {name}")


def cost(of: RatingMaterial) -> Iterator[Exhibit]:
    """Time, throughput, device."""
    yield comparison.cost(of.results)


RATING_DATA_PARTS: Mapping[str, tuple[str, Part]] = {
    "overview": ("The ratings at a glance", overview),
    "workers": ("Workers", workers),
    "shared": ("Shared bias", shared),
    "truth": ("True ratings", truth),
}
RATING_RUN_PARTS: Mapping[str, tuple[str, Part]] = {
    "errors": ("Errors", errors),
    "curves": ("Learning curves", curves),
    "sweeps": ("Along what varies", sweeps),
    "biases": ("Learnt biases", biases),
    "cost": ("Time and cost", cost),
}
RATING_PARTS: Mapping[str, tuple[str, Part]] = {**RATING_DATA_PARTS, **RATING_RUN_PARTS}
"""Name -> title and what makes it; those of runs need some."""
