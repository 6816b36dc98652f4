"""`crowdcore reproduce`: the papers' tables and figures, the paper's numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from crowdcore.cli._options import Device, Json, is_folder
from crowdcore.cli._output import print_json, print_table, progress

_LISTS = ("list", "LIST")


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="LIST|ID…", help="Which; all of them: all. LIST lists them.")
    ] = None,
    scale: Annotated[
        Literal["small", "paper"],
        typer.Option(help="small: two cores, all together within an hour. paper: all seeds and epochs, for a GPU."),
    ] = "small",
    device: Device = "auto",
    train: Annotated[bool, typer.Option(help="Train what is missing; otherwise show only what exists.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write tables (.csv, .json, .md) and figures to this folder.", callback=is_folder
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Reproduce a paper's table or figure, beside the paper's numbers.

    Runs that are trained already are not trained again: interrupted, the same command goes on.
    """
    from crowdcore import reproduce as found

    if not ids or ids[0] in _LISTS:
        rows = [{"id": e.id, "title": e.title, "source": e.source, "at this scale": e.scale_in_words(scale)}
                for e in found.ENTRIES.values()]  # fmt: skip
        listed = pd.DataFrame(rows)
        wide = ("title", "source", "at this scale")
        print_json(listed) if json else print_table(listed, "Reproductions", limit=len(listed), wrapped=wide)
        return
    entries = list(found.ENTRIES.values()) if ids == ["all"] else [found.get(id) for id in dict.fromkeys(ids)]
    if train:
        runs = [run for entry in entries for run in found.start(entry, scale, device=device)]
        with progress() as tell:
            found.wait(list(dict.fromkeys(runs)), tell)
    told = []
    for entry in entries:
        parts = found.look(entry, scale)
        shown = found.told(entry, scale, parts)
        files = found.write(entry, scale, parts, out) if out else []
        told.append({"id": entry.id, "title": entry.title, "notes": shown.notes, "table": shown.table, "files": files})
        if not json:
            table, footnotes = found.footnoted(shown.table, parts)
            table["run"] = table["run"].str[:8]
            notes, wrapped = (*footnotes, *shown.notes), ("row", "column", "measure", "ours")
            print_table(table, f"{entry.id}: {entry.title}", notes, limit=300, wrapped=wrapped)
    if json:
        print_json(told)
