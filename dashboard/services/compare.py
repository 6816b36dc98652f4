"""Results of training runs under names, runs that can be drawn with them, and cached exhibits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from crowdcore.exhibits.view import cached
from dashboard.services.datasets import names as dataset_names
from dashboard.services.opening import kind, labelled
from dashboard.services.runs import learnt, readable, runs_of, trials

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.api import Learnt
    from crowdcore.learning.results.result import At
    from crowdcore.runs import Run


Runs = tuple[str, ...]
P = ParamSpec("P")
T = TypeVar("T")


def compared(name: str, runs: Runs) -> dict[str, Any]:
    """Results by the runs' names, else by what tells each from the others; in the order chosen.

    They are of the kind that the dataset's labels are: `TrainingResult` or `RatingsResult`.
    """
    from crowdcore.learning.comparison import variation

    given = {one.id: one.name for one in runs_of(name)}
    return cached(variation.name_runs)(tuple(map(learnt, runs)), tuple(given.get(one, "") for one in runs))


def shown(exhibit: Callable[Concatenate[Any, P], T], name: str, runs: Runs, *settings: P.args, **none: P.kwargs) -> T:
    """Show an exhibit of results of runs; cached."""
    results = compared(name, runs)
    return _show(exhibit, tuple(results), tuple(results.values()), *settings)  # type: ignore[no-any-return]


@cached
def _show(exhibit: Callable[..., Any], names: tuple[str, ...], results: tuple[Learnt, ...], *settings: Any) -> Any:
    return exhibit(dict(zip(names, results, strict=True)), *settings)


def partners(name: str, runs: Runs) -> dict[str, tuple[str, ...]]:
    """Other datasets -> their newest finished runs of the same methods and settings as these."""
    from crowdcore.core.errors import CrowdError
    from crowdcore.runs import get_run

    kinds = [_kind(get_run(known)) for known in runs]
    newest_runs: dict[str, tuple[str, ...]] = {}
    for other in dataset_names():
        if other == name:
            continue
        newest: list[Run] = []
        for one in runs_of(other):
            if _kind(one) in kinds and all(_kind(one) != _kind(seen) for seen in newest):
                try:
                    fits = kind(other) == kind(name) and readable(one, other)
                except CrowdError:  # its dataset cannot be opened any more
                    continue
                newest += [one] if fits else []
        if newest:
            newest_runs[other] = tuple(one.id for one in newest)
    return newest_runs


def searches(name: str) -> dict[str, Runs]:
    """Searches of a dataset, newest first -> their trials with a result, in the order of their start."""
    ended_trials = {}
    for search in runs_of(name):
        if search.spec.search is not None:
            ended_trials[search.id] = tuple(t.id for t in reversed(trials(name, search.id)) if readable(t, name))
    return {search: ended for search, ended in ended_trials.items() if ended}


def _kind(one: Run) -> tuple[str, dict[str, object]]:
    return one.spec.method, one.spec.settings


def axes(name: str, runs: Runs, crowds: tuple[str, ...], searches: Runs) -> dict[str, str]:
    """Settings and facts that vary among the runs, of this dataset and of others; those of searches come first."""
    from crowdcore.learning.comparison import variation

    plans = [one.spec.search for one in runs_of(name) if one.id in searches]
    searched = {setting for plan in plans if plan is not None for setting in plan.space}
    known = cached(variation.facts_of_runs)(tuple(map(learnt, runs)), tuple(map(labelled, (name, *crowds))))
    return {x: variation.in_words(x) for x in sorted(variation.axes(known), key=lambda x: x not in searched)}


def sweep(name: str, runs: Runs, crowds: tuple[str, ...], x: str, at: At) -> Exhibit:
    """Accuracy, of ratings RMSE, along what varies."""
    return _cached_sweep(tuple(map(learnt, runs)), tuple(map(labelled, (name, *crowds))), x, at)


@cached
def _cached_sweep(results: tuple[Learnt, ...], crowds: tuple[Labelled, ...], x: str, at: At) -> Exhibit:
    from crowdcore.exhibits.comparison import along
    from crowdcore.learning.comparison import variation

    return along(results, cached(variation.facts_of_runs)(results, crowds), x, at)
