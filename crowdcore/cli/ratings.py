"""`crowdcore ratings info | workers | tasks | task | pairs | shared-bias | aggregate`: labels that are numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from crowdcore.cli._command import Drawn, Shown
from crowdcore.cli._options import Settings, settings
from crowdcore.cli._output import Printed
from crowdcore.data import RatingDataset
from crowdcore.exhibits import Exhibit, ratings
from crowdcore.exhibits.ratings import RatingView, rating_view


def info(seen: RatingView) -> Shown:
    """Summarise ratings: counts, error, agreement (ICC, Krippendorff's α, weighted κ, AC2)."""
    name, shown = seen.dataset.name, [ratings.summary(seen), ratings.agreement(seen)]
    facts = {"dataset": name, "notes": seen.notes, **{e.name: e.table for e in shown}}
    return Shown(facts, [Printed(e.table, f"{name}: {e.title}", e.notes) for e in shown], shown[1])


def workers(seen: RatingView) -> Drawn:
    """Bias, spread, scale, correlation and error of each worker, with intervals."""
    return Drawn(*_shown(seen, ratings.worker_bias(seen)))


def tasks(
    seen: RatingView,
    sort: Annotated[ratings.Sort, typer.Option(help="In which order.")] = "surprise",
    worker: Annotated[str, typer.Option(help="Only tasks that this worker rated, with their rating.")] = "",
    other: Annotated[str, typer.Option(help="Only tasks that this worker also rated.")] = "",
) -> Shown:
    """Tasks with ratings: which are disputed, and which hold surprising ratings."""
    return Shown(*_shown(seen, ratings.rated_tasks(seen, sort, worker, other)))


def task(
    seen: RatingView, task: Annotated[str, typer.Option("--task", "-t", help="Its name; `ratings tasks` lists them.")]
) -> Drawn:
    """Every worker's rating of one task beside its true rating, its estimate, and the worker's usual bias."""
    exhibit = ratings.task_ratings(seen, task)
    facts, printed, _ = _shown(seen, exhibit)
    return Drawn({**facts, **asdict(ratings.rated_task(seen, task))}, printed, exhibit)


def pairs(seen: RatingView) -> Drawn:
    """Distance, weighted kappa and error correlation of each pair of workers."""
    return Drawn(*_shown(seen, ratings.errors_alike(seen)))


def shared_bias(
    seen: RatingView, bins: Annotated[int, typer.Option(help="Number of equal parts of the range.", min=2)] = 10
) -> Drawn:
    """Where in the range of the truth does the whole crowd overrate or underrate?"""
    return Drawn(*_shown(seen, ratings.shared_bias(seen, bins)))


def aggregate(
    ds: RatingDataset,
    method: Annotated[str, typer.Option("--method", "-m", help="mean, median, raykar-em; default: compare all.")] = "",
    set_: Settings = None,
) -> Shown:
    """Infer the true ratings with one method, or compare all methods with gold."""
    from crowdcore.aggregation import ratings as methods

    if not method:
        seen = rating_view(ds)
        return Shown(*_shown(seen, ratings.aggregators(seen)))
    found = methods.get(method, **settings(set_)).fit(ds)
    table = found.frame(ds)
    facts = {"dataset": ds.name, "method": method, "settings": found.settings, "ratings": table}
    return Shown(facts, [Printed(table, f"{ds.name}: true ratings by {method}", found.notes, 15)], table)


def _shown(seen: RatingView, exhibit: Exhibit) -> tuple[dict[str, object], list[Printed], Exhibit]:
    name = seen.dataset.name
    printed = Printed(exhibit.table, f"{name}: {exhibit.title}", exhibit.notes, 20)
    return {"dataset": name, "notes": exhibit.notes, "table": exhibit.table}, [printed], exhibit
