"""Who found again what was planted: the runs on planted crowds beside their truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdcore import exhibits
from crowdcore.core import spelling
from crowdcore.learning.learners import own_line
from dashboard.services.opening import dataset, kind, labelled
from dashboard.services.runs import learnt, readable, result, runs_of

if TYPE_CHECKING:
    from crowdcore.exhibits import Exhibit
    from crowdcore.exhibits.planted import Kind
    from crowdcore.runs import Run


def crowd_words(names: Sequence[str]) -> dict[str, str]:
    """What to call planted crowds that stand together."""
    return exhibits.planted.crowd_names({name: labelled(name) for name in names})


def runs_on(names: Sequence[str]) -> list[tuple[str, Run]]:
    """The runs on planted crowds with the crowd's name, oldest first within a crowd."""
    return [(name, run) for name in names for run in reversed(runs_of(name)) if run.spec.search is None]


def _called(name: str, run: Run) -> str:
    """A method with its own settings."""
    from crowdcore.learning.recovery.plan import Candidate

    method, settings = spelling.read(own_line(run.spec.method, run.spec.settings, kind(name)))
    return Candidate(method=method, settings=settings).name


def newest(names: Sequence[str]) -> dict[tuple[str, str], Run]:
    """(crowd, what the method is called) -> its newest run that came to a result."""
    return {(name, _called(name, run)): run for name, run in runs_on(names) if readable(run, name)}


def errors(names: Sequence[str]) -> Exhibit | None:
    """Who recovered what of these crowds; None while no run has ended."""
    found = newest(names)
    if not found:
        return None
    if kind(names[0]) == "ratings":
        from crowdcore.learning.ratings.result import RatingsResult

        words = crowd_words(names)
        called = {one if len(names) == 1 else f"{one}, {words[name]}": run for (name, one), run in found.items()}
        rated = {one: learnt(run.id) for one, run in called.items()}
        return exhibits.comparison.rating_errors({k: r for k, r in rated.items() if isinstance(r, RatingsResult)})
    results = {key: result(run.id) for key, run in found.items()}
    methods = {called: run.spec.method for (_, called), run in found.items()}
    return exhibits.planted.recovery_errors({name: dataset(name) for name in names}, results, methods)


def matrices(name: str, kind: Kind, worker: str) -> Exhibit | None:
    """The planted matrix of a crowd beside what every method learnt; None where no method learns it."""
    opened = dataset(name)
    at = [str(w) for w in opened.worker_ids].index(worker) if kind != "common" else 0
    found = {called: result(run.id) for (_, called), run in newest([name]).items()}
    return exhibits.planted.planted_and_learnt(opened, found, kind, at)
