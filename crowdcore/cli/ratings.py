"""`crowdcore ratings …`: labels that are numbers. Commands for any labels, here limited to ratings, and their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdcore.aggregation import ratings as methods
from crowdcore.cli import OpensFiles, _command as opt, files, train
from crowdcore.cli._command import Drawn, Shown, as_drawn, command
from crowdcore.cli._output import Printed
from crowdcore.data import RatingDataset
from crowdcore.exhibits import ratings
from crowdcore.exhibits.ratings import RatingView, rating_view


class _Ratings(OpensFiles):
    """Commands of ratings; a file or folder alone is summarised."""

    opener = "info"
    is_opened = staticmethod(Path.exists)


app = typer.Typer(
    help="Labels that are numbers: how biased is each worker, and what is the truth?",
    cls=_Ratings,
    no_args_is_help=True,
)


def info(seen: RatingView) -> Shown:
    """Summarise ratings: counts, error, agreement (ICC, Krippendorff's α, weighted κ, AC2)."""
    name, shown = seen.dataset.name, [ratings.summary(seen), ratings.agreement(seen)]
    facts = {"dataset": name, "notes": seen.notes, **{e.name: e.table for e in shown}}
    return Shown(facts, [Printed(e.table, f"{name}: {e.title}", e.notes) for e in shown], shown[1])


def task(
    seen: RatingView, task: Annotated[str, typer.Option("--task", "-t", help="Its name; `ratings tasks` lists them.")]
) -> Drawn:
    """Show all ratings of one task beside its true rating, its estimate, and each worker's usual bias."""
    shown = as_drawn(ratings.task_ratings(seen, task), seen.dataset.name)
    return Drawn({**shown.facts, **asdict(ratings.rated_task(seen, task))}, shown.printed, shown.saved)


def aggregate(
    ds: RatingDataset,
    method: Annotated[str, typer.Option("--method", "-m", help="mean, median, raykar-em; default: compare all.")] = "",
    set: opt.Settings = None,
) -> Shown:
    """Infer the true ratings with one method, or compare all methods with gold."""
    if not method:
        return as_drawn(ratings.aggregators(rating_view(ds)), ds.name)
    result = methods.get(method, **opt.settings(set)).fit(ds)
    table = result.frame(ds)
    facts = {"dataset": ds.name, "method": method, "settings": result.settings, "ratings": table}
    return Shown(facts, [Printed(table, f"{ds.name}: true ratings by {method}", result.notes, 15)], table)


_COMMANDS: dict[str, Callable[..., Any]] = {
    "info": info,
    "workers": ratings.worker_bias,
    "tasks": ratings.rated_tasks,
    "task": task,
    "pairs": ratings.errors_alike,
    "shared-bias": ratings.shared_bias,
    "aggregate": aggregate,
    "train": train.train,
    "compare": train.compare_ratings,
    "biases": train.biases,
    "examine": files.examine_ratings,
    "export": files.export,
    "topics": train.topics,
}
for name, function in _COMMANDS.items():
    app.command(name)(command(function, ratings=True))
