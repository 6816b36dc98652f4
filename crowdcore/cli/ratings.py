"""`crowdcore ratings …`: crowds whose labels are numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, Figure, HideNames, Json, Out, Read, Settings, is_path, settings
from crowdcore.cli._output import print_json, print_table, save_exhibit, save_table

if TYPE_CHECKING:
    from crowdcore.data import RatingDataset
    from crowdcore.exhibits import Exhibit
    from crowdcore.exhibits.ratings import RatingView

__all__ = ["app", "open_ratings"]

app = typer.Typer(help="Labels that are numbers: who is off by how much, and what is the truth?", no_args_is_help=True)

Reference = Annotated[
    str, typer.Option("--reference", "-r", help="What is taken for the truth: gold, or an aggregator of ratings.")
]


@app.command()
def info(
    dataset: DatasetName,
    reference: Reference = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Summarise ratings: counts, error, agreement (ICC, Krippendorff's α, weighted κ, AC2)."""
    from crowdcore.exhibits import ratings

    view = _view(dataset, reference, hide_names, read, accept)
    shown = [ratings.summary(view), ratings.agreement(view)]
    if json:
        print_json({"dataset": view.dataset.name, "notes": view.notes, **{e.name: e.table for e in shown}})
    else:
        for exhibit in shown:
            print_table(exhibit.table, f"{view.dataset.name}: {exhibit.title}", exhibit.notes)
    save_exhibit(shown[1], out, None)


@app.command()
def examine(
    path: Annotated[Path, typer.Argument(help="A file or a dataset folder.")], read: Read = None, json: Json = False
) -> None:
    """Report how a file of ratings is understood, and every row that would be left out; nothing is taken in."""
    from crowdcore.data import examine_ratings

    report = examine_ratings(path, **settings(read, "--read")).report
    print_json(report.as_dict()) if json else print(report.text())


@app.command()
def export(
    dataset: DatasetName,
    target: Annotated[Path, typer.Argument(help="A folder (our format), or a .csv or .parquet file.")],
    wide: Annotated[bool, typer.Option("--wide", help="A row per task and a column per worker.")] = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Write ratings as a folder in our format, or as a table: a row per rating, or a column per worker."""
    from crowdcore.data.writers import write_folder, write_long, write_wide

    of = open_ratings(dataset, read, accept)
    write = write_wide if wide else write_long if target.suffix in {".csv", ".parquet"} else write_folder
    write(of, target)
    facts = {"dataset": of.name, "written": str(target), "ratings": of.n_annotations, "tasks": of.n_tasks}
    print_json(facts) if json else print(f"{of.name}: {of.n_annotations} ratings on {of.n_tasks} tasks -> {target}")


@app.command()
def workers(
    dataset: DatasetName,
    reference: Reference = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Bias, spread, scale, correlation and error of each worker, with intervals."""
    from crowdcore.exhibits import ratings

    view = _view(dataset, reference, hide_names, read, accept)
    _show(view, ratings.worker_bias(view), json, out, figure)


@app.command()
def pairs(
    dataset: DatasetName,
    reference: Reference = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Distance, weighted kappa and error correlation of each pair of workers."""
    from crowdcore.exhibits import ratings

    view = _view(dataset, reference, hide_names, read, accept)
    _show(view, ratings.errors_alike(view), json, out, figure)


@app.command()
def shared_bias(
    dataset: DatasetName,
    reference: Reference = "",
    bins: Annotated[int, typer.Option(help="Equal parts of the range.", min=2)] = 10,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Where in the range of the truth does the whole crowd overrate or underrate?"""
    from crowdcore.exhibits import ratings

    view = _view(dataset, reference, False, read, accept)
    _show(view, ratings.shared_bias(view, bins), json, out, figure)


@app.command()
def aggregate(
    dataset: DatasetName,
    method: Annotated[str, typer.Option("--method", "-m", help="mean, median, raykar-em; default: compare all.")] = "",
    set_: Settings = None,
    json: Json = False,
    out: Out = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Infer the true ratings with one method, or compare all methods with gold."""
    from crowdcore.aggregation import ratings as methods
    from crowdcore.exhibits import ratings

    if not method:
        view = _view(dataset, "", False, read, accept)
        return _show(view, ratings.aggregators(view), json, out, None)
    of = open_ratings(dataset, read, accept)
    found = methods.get(method, **settings(set_)).fit(of)
    table = found.frame(of)
    if out:
        save_table(table, out)
    if json:
        print_json({"dataset": of.name, "method": method, "settings": found.settings, "ratings": table})
    else:
        print_table(table, f"{of.name}: true ratings by {method}", found.notes, limit=15)
    return None


def open_ratings(name: str, read: list[str] | None, accept: bool) -> RatingDataset:
    """Ratings by name, or by path when the name is one."""
    from crowdcore.data import load_ratings, read_ratings

    mapping = settings(read, "--read")
    if is_path(name):
        return read_ratings(Path(name), accept=accept, **mapping)
    return load_ratings(name, accept=accept, **mapping)


def _view(name: str, reference: str, hidden: bool, read: list[str] | None, accept: bool) -> RatingView:
    from crowdcore.exhibits.ratings import rating_view

    return rating_view(open_ratings(name, read, accept), reference, hidden=hidden)


def _show(view: RatingView, exhibit: Exhibit, json: bool, out: Path | None, figure: Path | None) -> None:
    save_exhibit(exhibit, out, figure)
    if json:
        print_json({"dataset": view.dataset.name, "notes": exhibit.notes, "table": exhibit.table})
    else:
        print_table(exhibit.table, f"{view.dataset.name}: {exhibit.title}", exhibit.notes, limit=20)
