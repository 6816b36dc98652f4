"""`crowdcore report`: a dataset and its runs as one HTML page and a folder of tables and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, Json, Read, is_folder, open_labels
from crowdcore.cli._output import print_json, print_notes, progress
from crowdcore.cli._runs import full_id, reference_named
from crowdcore.data import CrowdDataset
from crowdcore.data.report import plural


def report(
    dataset: DatasetName,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.", callback=is_folder)],
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="ID",
            help="A run, or the beginning of its id; repeatable. Runs on other datasets take part in sweeps only.",
        ),
    ] = None,
    part: Annotated[
        list[str] | None, typer.Option("--part", help="Parts of the report; repeatable. Default: everything available.")
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            "--reference",
            "-r",
            help="What is taken for the truth: gold, an aggregator, or run:ID; default: gold, without any 'auto'.",
        ),
    ] = "",
    names: Annotated[bool, typer.Option("--names", help="Show the workers' ids instead of pseudonyms.")] = False,
    svg: Annotated[bool, typer.Option(help="Also write the figures as SVG.")] = True,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Write a report: one offline HTML file, and CSV and SVG files of everything it shows."""
    from crowdcore import runs
    from crowdcore.runs import datasets
    from crowdcore.runs.report import Trained, build, command_line, write_report

    ds = open_labels(dataset, read, accept)
    ids = [full_id(given) for given in run or []]
    known = {i: runs.get_run(i) for i in ids}
    trained = [Trained(i, runs.learnt(i), runs.command_line(one.spec), one.name) for i, one in known.items()]
    elsewhere = dict.fromkeys(known[t.id].spec.dataset for t in trained if t.result.fingerprint != ds.fingerprint)
    crowds = [datasets.open_dataset(other, runs.Workspace.open()) for other in elsewhere]
    again = command_line(dataset, ids, part or (), reference, names, str(out))
    truth = reference_named(reference, ds) if isinstance(ds, CrowdDataset) else reference
    with progress() as tell:
        tell(0, "Putting it together")
        found = build(ds, trained, part, crowds=crowds, reference=truth, show_names=names, command=again)
        files, fault = write_report(found, out, svg, lambda share, title: tell(share, f"Drawing {title}"))
    if json:
        print_json({"dataset": ds.name, "written": files, "exhibits": [e.title for e in found.exhibits], "note": fault})
        return
    tables, figures = len(found.exhibits), sum(exhibit.figure is not None for exhibit in found.exhibits)
    print(f"{ds.name}: {plural(tables, 'table')} and {plural(figures, 'figure')} -> {out / 'report.html'}")
    print_notes((fault,) if fault else ())
