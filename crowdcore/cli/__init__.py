"""The command line: every page's action is also a command here.

Bad input ends with one clear line on standard error and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import typer

import crowdcore.core.garbage  # noqa: F401
from crowdcore.cli import rating_training, ratings
from crowdcore.cli._command import command
from crowdcore.cli._words import as_typed, in_command
from crowdcore.cli.act import next_labels, overview, rounds
from crowdcore.cli.aggregate import aggregate
from crowdcore.cli.analyse import coordinated, distances, info, mistakes, quality, spans
from crowdcore.cli.app import app as run_app
from crowdcore.cli.check import check
from crowdcore.cli.compare import compare
from crowdcore.cli.files import datasets, embed, examine, examine_ratings, export, export_ratings, fetch
from crowdcore.cli.glossary import glossary
from crowdcore.cli.marks import marks
from crowdcore.cli.report import report
from crowdcore.cli.reproduce import reproduce
from crowdcore.cli.runs import app as runs_app
from crowdcore.cli.show import show
from crowdcore.cli.simulate import simulate
from crowdcore.cli.topics import rating_topics, topics
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
ratings_app = typer.Typer(
    help="Labels that are numbers: how biased is each worker, and what is the truth?", no_args_is_help=True
)
_COMMANDS: dict[typer.Typer, tuple[Callable[..., Any], ...]] = {
    app: (
        *(datasets, examine, info, overview, check, show, mistakes, distances, quality, coordinated, spans, marks),
        *(rounds, aggregate, train, compare, simulate, report, reproduce, worker, scheduler, fetch, export, embed),
        *(glossary, topics),
    ),
    ratings_app: (
        *(
            ratings.info,
            ratings.workers,
            ratings.tasks,
            ratings.task,
            ratings.pairs,
            ratings.shared_bias,
            ratings.aggregate,
        ),
        *(rating_training.train, rating_training.compare, rating_training.biases),
    ),
}
_RENAMED: dict[typer.Typer, dict[str, Callable[..., Any]]] = {
    app: {"next": next_labels, "app": run_app},
    ratings_app: {"examine": examine_ratings, "export": export_ratings, "topics": rating_topics},
}
for of, functions in _COMMANDS.items():
    for function in functions:
        of.command()(command(function))
for of, named in _RENAMED.items():
    for name, function in named.items():
        of.command(name)(command(function))
app.add_typer(ratings_app, name="ratings")
app.add_typer(runs_app, name="runs")
app.add_typer(workspace_app, name="workspace")


@cache
def _commands() -> Callable[[list[str] | None], Any]:
    """All commands, which Typer would make from their functions' signatures at every call."""
    return typer.main.get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a `CrowdError` or a file's error is one line on standard error and exit code 2."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve a shared machine
    try:
        need_posix("crowdcore")
        from crowdcore.runs.record import patient

        with patient(60):
            _commands()(arguments)
    except CrowdError as error:
        print(f"crowdcore: {as_typed(error.phrased(in_command))}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:
            raise
        why = f"{error.filename} cannot be opened: {error.strerror or error}"
        print(f"crowdcore: {why}. Choose another file or folder.", file=sys.stderr)
        sys.exit(2)
