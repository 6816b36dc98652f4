"""What a report of ratings may hold: each part turns the ratings or the results into exhibits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from crowdcore.exhibits import Exhibit, comparison, differences, ratings
from crowdcore.exhibits.ratings import rating_biases
from crowdcore.runs.report.parts import RUN_PARTS, Material, Part


def overview(of: Material) -> Iterator[Exhibit]:
    """Counts, errors and agreement."""
    yield ratings.summary(of.view)
    yield ratings.agreement(of.view)


def workers(of: Material) -> Iterator[Exhibit]:
    """Bias and spread of each worker, and who errs alike."""
    yield ratings.worker_bias(of.view)
    yield ratings.errors_alike(of.view)


def shared(of: Material) -> Iterator[Exhibit]:
    """Where the whole crowd overrates."""
    yield ratings.shared_bias(of.view)


def truth(of: Material) -> Iterator[Exhibit]:
    """Aggregators."""
    yield ratings.aggregators(of.view)


def errors(of: Material) -> Iterator[Exhibit]:
    """MAE, RMSE and R²."""
    yield comparison.rating_errors(of.results)
    yield differences.rating_differences(of.results)


def biases(of: Material) -> Iterator[Exhibit]:
    """Learnt and true biases of the runs that learn them."""
    for name, result in of.results.items():
        if "bias" in result.workers["selected"] and of.view.dataset.has_gold:
            shown = rating_biases(of.view.dataset, result, hidden=of.view.hidden)
            yield replace(shown, name=f"{shown.name}-{'-'.join(name.split())}", title=f"{shown.title}: {name}")


RATING_DATA_PARTS: Mapping[str, tuple[str, Part]] = {
    "overview": ("The ratings at a glance", overview),
    "workers": ("Workers", workers),
    "shared": ("Shared bias", shared),
    "truth": ("True ratings", truth),
}
RATING_RUN_PARTS: Mapping[str, tuple[str, Part]] = {
    "errors": ("Errors", errors),
    "curves": RUN_PARTS["curves"],
    "sweeps": RUN_PARTS["sweeps"],
    "biases": ("Learnt biases", biases),
    "cost": RUN_PARTS["cost"],
}
RATING_PARTS: Mapping[str, tuple[str, Part]] = {**RATING_DATA_PARTS, **RATING_RUN_PARTS}
"""Name -> title and what makes it; those of runs need some."""
