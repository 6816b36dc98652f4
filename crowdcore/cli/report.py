"""`crowdcore report`: a dataset and its runs as one page. `crowdcore reproduce`: the papers' tables and figures."""

from __future__ import annotations

from typing import Annotated, Literal

import pandas as pd
import typer

from crowdcore import reproduce as reproductions, runs
from crowdcore.cli import _command as opt
from crowdcore.cli._command import choose_reference, full_id, open_labels
from crowdcore.cli._output import print_json, print_note, print_notes, print_table, say
from crowdcore.core.shown import progress
from crowdcore.data import CrowdDataset
from crowdcore.data.report import plural
from crowdcore.data.settings import need_classes

_LISTS = ("list", "LIST")


def report(
    dataset: opt.DatasetName,
    out: opt.NeededFolder,
    run: opt.Runs = None,
    part: Annotated[
        list[str] | None, typer.Option("--part", help="Parts of the report; repeatable. Default: everything available.")
    ] = None,
    reference: opt.ReferenceName = "",
    hide_names: opt.HideNames = True,
    svg: Annotated[bool, typer.Option(help="Also write the figures as SVG.")] = True,
    json: opt.Json = False,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Write a report: one offline HTML file, and CSV, LaTeX and SVG files of what it shows.

    Runs on other datasets take part in sweeps only.
    """
    from crowdcore.runs.report import Trained, build, command_line, write_report

    ds = open_labels(dataset, read, accept)
    ids = [full_id(given) for given in run or []]
    known = {i: runs.get_run(i) for i in ids}
    trained = [Trained(i, runs.learnt(i), runs.command_line(one.spec), one.name) for i, one in known.items()]
    elsewhere = dict.fromkeys(known[t.id].spec.dataset for t in trained if t.result.fingerprint != ds.fingerprint)
    crowds = [need_classes(open_labels(other, accept=True)) for other in elsewhere]
    again = command_line(dataset, ids, part or (), reference, not hide_names, str(out))
    truth, note = choose_reference(reference, ds) if isinstance(ds, CrowdDataset) else (reference, "")
    with progress() as tell:
        tell(0, "Putting it together")
        doc = build(ds, trained, part, crowds=crowds, reference=truth, show_names=not hide_names, command=again)
        files, fault = write_report(doc, out, svg, lambda share, title: tell(share, f"Drawing {title}"))
    print_note(note)
    if json:
        print_json({"dataset": ds.name, "written": files, "exhibits": [e.title for e in doc.exhibits], "note": fault})
        return
    tables, figures = len(doc.exhibits), sum(exhibit.figure is not None for exhibit in doc.exhibits)
    say(f"{ds.name}: {plural(tables, 'table')} and {plural(figures, 'figure')} -> {out / 'report.html'}")
    print_notes((fault,) if fault else ())


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="LIST|ID…", help="Which; all of them: all. LIST lists them.")
    ] = None,
    scale: Annotated[
        Literal["small", "paper"],
        typer.Option(help="small: two cores, all together within an hour. paper: all seeds and epochs, for a GPU."),
    ] = "small",
    device: opt.Device = "auto",
    train: Annotated[bool, typer.Option(" /--no-train", help="Only show what is trained already.")] = True,
    out: opt.OutFolder = None,
    json: opt.Json = False,
) -> None:
    """Reproduce a paper's table or figure, beside the paper's numbers; --out writes tables and figures.

    Trained runs are not trained again: after an interruption, the same command continues.
    """
    if not ids or ids[0] in _LISTS:
        rows = [{"id": e.id, "title": e.title, "source": e.source, "at this scale": e.scale_in_words(scale)}
                for e in reproductions.ENTRIES.values()]  # fmt: skip
        listed = pd.DataFrame(rows)
        wide = ("title", "source", "at this scale")
        print_json(listed) if json else print_table(listed, "Reproductions", limit=len(listed), wrapped=wide)
        return
    entries = (
        list(reproductions.ENTRIES.values()) if ids == ["all"] else [reproductions.get(id) for id in dict.fromkeys(ids)]
    )
    if train:
        runs = [run for entry in entries for run in reproductions.start(entry, scale, device=device)]
        with progress() as tell:
            reproductions.wait(list(dict.fromkeys(runs)), tell)
    written = []
    for entry in entries:
        parts = reproductions.look(entry, scale)
        shown = reproductions.told(entry, scale, parts)
        files = reproductions.write(entry, scale, parts, out) if out else []
        written.append(
            {"id": entry.id, "title": entry.title, "notes": shown.notes, "table": shown.table, "files": files}
        )
        if not json:
            table, footnotes = reproductions.footnoted(shown.table, parts)
            table["run"] = table["run"].str[:8]
            notes, wrapped = (*footnotes, *shown.notes), ("row", "column", "measure", "ours")
            print_table(table, f"{entry.id}: {entry.title}", notes, limit=300, wrapped=wrapped)
    if json:
        print_json(written)
