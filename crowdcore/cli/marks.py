"""`crowdcore marks`: mark tasks and labels, and write what to label again and what to train on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, HideNames, Json, Read, open_dataset
from crowdcore.cli._output import print_json, print_table, save_table


def marks(
    dataset: DatasetName,
    add: Annotated[
        tuple[str, str] | None, typer.Option(metavar="TASK CLASS", help="This class is right for the task.")
    ] = None,
    unclear: Annotated[
        list[str] | None, typer.Option(metavar="TASK", help="Nobody can tell the task's class; may be repeated.")
    ] = None,
    worker: Annotated[str, typer.Option(help="The worker whose label on the task was looked at.")] = "",
    comment: Annotated[str, typer.Option(help="Kept with the marks added.")] = "",
    by: Annotated[str, typer.Option(help="Who says so; with --undo: whose last mark.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take the last mark back.")] = False,
    export: Annotated[
        Path | None, typer.Option(help="Write the tasks marked wrong or unclear to this file (.csv, .parquet).")
    ] = None,
    training: Annotated[
        Path | None, typer.Option(help="Write the labels that differ from marked classes to this file.")
    ] = None,
    hide_names: HideNames = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Mark tasks: what is marked is a reference (reviewed), a list to label again, a list to train workers on."""
    from crowdcore import exhibits
    from crowdcore.analysis import Reference
    from crowdcore.marks import add_mark, undo_mark

    ds = open_dataset(dataset, accept, read)
    said = [*([add] if add else []), *((task, None) for task in unclear or [])]
    for task, truth in said:
        add_mark(ds, task, truth, worker=worker, comment=comment, by=by)
    if undo:
        undo_mark(ds, by=by or None)
    seen = exhibits.view(ds, Reference("gold", ds.gold), hidden=hide_names)
    if export:
        save_table(exhibits.review.relabel_list(seen).table, export)
    if training:
        save_table(exhibits.review.training_list(seen).table, training)
    found = exhibits.review.marked_tasks(seen)
    if json:
        print_json({"dataset": ds.name, "fingerprint": ds.fingerprint, "marks": found.table, "notes": found.notes})
        return
    print_table(found.table, f"{ds.name}: marks", found.notes, wrapped=("text", "comment"))
