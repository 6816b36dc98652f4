"""The command line: every page's action is also a command here.

Bad input ends with one clear line on standard error and exit code 2.
"""

from __future__ import annotations

import os
import sys

import typer

import crowdcore.core.garbage  # noqa: F401
from crowdcore.cli import rating_training
from crowdcore.cli.aggregate import aggregate
from crowdcore.cli.analyse import distances, info, mistakes, quality
from crowdcore.cli.app import app as run_app
from crowdcore.cli.check import check
from crowdcore.cli.compare import compare
from crowdcore.cli.coordinated import coordinated
from crowdcore.cli.datasets import datasets
from crowdcore.cli.embed import embed
from crowdcore.cli.examine import examine
from crowdcore.cli.export import export
from crowdcore.cli.fetch import fetch
from crowdcore.cli.glossary import glossary
from crowdcore.cli.marks import marks
from crowdcore.cli.next_labels import next_labels
from crowdcore.cli.overview import overview
from crowdcore.cli.rating_topics import topics as rating_topics
from crowdcore.cli.ratings import app as ratings_app
from crowdcore.cli.report import report
from crowdcore.cli.reproduce import reproduce
from crowdcore.cli.rounds import rounds
from crowdcore.cli.runs import app as runs_app
from crowdcore.cli.show import show
from crowdcore.cli.simulate import simulate
from crowdcore.cli.spans import spans
from crowdcore.cli.topics import topics
from crowdcore.cli.train import train
from crowdcore.cli.worker import scheduler, worker
from crowdcore.cli.workspace import app as workspace_app
from crowdcore.core.errors import CrowdError, need_posix

__all__ = ["app", "main"]

app = typer.Typer(
    name="crowdcore",
    help="Who makes which labelling mistakes, which of those are shared, and what is the truth behind them?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    datasets,
    examine,
    info,
    overview,
    check,
    show,
    mistakes,
    distances,
    quality,
    coordinated,
    spans,
    marks,
    rounds,
    aggregate,
    train,
    compare,
    simulate,
    report,
    reproduce,
    worker,
    scheduler,
    fetch,
    export,
    embed,
    glossary,
    topics,
):
    app.command()(command)
app.command("next")(next_labels)
app.command("app")(run_app)
for of_ratings in (rating_training.train, rating_training.compare, rating_training.biases, rating_topics):
    ratings_app.command()(of_ratings)
app.add_typer(ratings_app, name="ratings")
app.add_typer(runs_app, name="runs")
app.add_typer(workspace_app, name="workspace")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a `CrowdError` is one line on standard error and exit code 2."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve a shared machine
    try:
        need_posix("crowdcore")
        from crowdcore.runs.record import patient

        with patient(60):
            app(arguments)
    except CrowdError as error:
        print(f"crowdcore: {error}", file=sys.stderr)
        sys.exit(2)
