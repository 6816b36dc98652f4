"""`crowdcore marks`: mark tasks and labels, and write what to label again and what to train on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdcore.cli._options import TABLES, Accept, DatasetName, HideNames, Json, Read, ends_in, open_dataset
from crowdcore.cli._output import print_json, print_table, save_table
from crowdcore.core.errors import DataError

if TYPE_CHECKING:
    from crowdcore.data import CrowdDataset
    from crowdcore.taken_marks import TakenMarks


def marks(
    dataset: DatasetName,
    add: Annotated[
        tuple[str, str] | None, typer.Option(metavar="TASK CLASS", help="This class is right for the task.")
    ] = None,
    unclear: Annotated[
        list[str] | None, typer.Option(metavar="TASK", help="The task's class cannot be decided; may be repeated.")
    ] = None,
    worker: Annotated[str, typer.Option(help="The worker whose label you looked at.")] = "",
    comment: Annotated[str, typer.Option(help="Comment stored with the added marks.")] = "",
    by: Annotated[str, typer.Option(help="Author of the marks; with --undo: whose last mark.")] = "",
    take: Annotated[
        Path | None, typer.Option("--import", help="Import marks from a CSV with the columns task and right class.")
    ] = None,
    carry: Annotated[bool, typer.Option("--carry", help="Take over marks from earlier data of the same name.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last mark.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the tasks marked wrong or unclear to this file (.csv, .parquet).", callback=ends_in(*TABLES)
        ),
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="Write the labels that differ from marked classes to this file.", callback=ends_in(*TABLES)),
    ] = None,
    hide_names: HideNames = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Mark tasks; marks serve as a reference (reviewed), a list to relabel, and a list to train workers on."""
    from crowdcore import exhibits
    from crowdcore.analysis import Reference
    from crowdcore.marks import add_mark, undo_mark
    from crowdcore.taken_marks import marks_of_earlier_data, marks_of_file

    ds = open_dataset(dataset, read, accept)
    said = [*([add] if add else []), *((task, None) for task in unclear or [])]
    for task, truth in said:
        add_mark(ds, task, truth, worker=worker, comment=comment, by=by)
    for taken in (marks_of_file(ds, take) if take else None, marks_of_earlier_data(ds) if carry else None):
        if taken is not None:
            _keep(ds, taken, accept or taken.faults.columns[0] == "data")
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


def _keep(dataset: CrowdDataset, taken: TakenMarks, accept: bool) -> None:
    """Keep marks that were made elsewhere; those that do not fit are told, and refused unless accepted."""
    from crowdcore.marks import keep_marks

    where = taken.faults.columns[0]  # the row of a file, or the data that were marked
    told = [f"{where} {f[where]}, column {f['column']!r}: {f['fault']}" for f in taken.faults.to_dict("records")]
    if told and not accept:
        more = f"; and {len(told) - 20:,} more" if len(told) > 20 else ""
        raise DataError(
            f"{len(told):,} of {len(told) + len(taken.marks):,} marks cannot be taken, so none was",
            f"Correct them, or take the others with --accept: {'; '.join(told[:20])}{more}.",
        )
    keep_marks(dataset, taken.marks)
    typer.echo(f"Marks taken: {len(taken.marks):,}. Not taken: {len(told):,}.", err=True)
    for line in (*taken.notes, *told):
        typer.echo(line, err=True)
