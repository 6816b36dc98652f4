"""`crowdcore fetch`: download a named dataset from its public source."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdcore.cli._options import Json
from crowdcore.cli._output import print_json
from crowdcore.data import load_dataset, sources


def fetch(
    name: Annotated[str, typer.Argument(help=f"Dataset: {', '.join(sources.names())}.")],
    force: Annotated[bool, typer.Option("--force", help="Fetch again although it is there.")] = False,
    url_base: Annotated[str | None, typer.Option(help="Address of a mirror that holds the source's files.")] = None,
    json: Json = False,
) -> None:
    """Download a dataset from its public source into the cache; a broken download goes on where it stopped."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        bars = {file.name: bar.add_task(file.name, start=True, total=None) for file in sources.get(name).files}
        folder = sources.fetch(
            name,
            url_base=url_base,
            force=force,
            progress=lambda file, done, total: bar.update(bars[file], completed=done, total=total),
        )
    ds = load_dataset(name)
    if json:
        print_json({"name": name, "folder": str(folder), "tasks": ds.n_tasks, "annotations": ds.n_annotations})
    else:
        print(f"{name}: {ds.n_tasks} tasks, {ds.n_annotations} annotations by {ds.n_workers} workers, in {folder}")
