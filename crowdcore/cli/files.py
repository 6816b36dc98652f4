"""`crowdcore datasets | examine | fetch | export | embed | marks`: datasets on this machine, and files in and out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from crowdcore.cli import _command as opt
from crowdcore.cli._output import in_command, print_json, print_note, print_readable, print_table, save_table, say
from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data import CrowdDataset, load_dataset, sources
from crowdcore.data.catalogue import dataset_folders, uploaded_datasets
from crowdcore.data.media import SIDE
from crowdcore.data.ratings import Labelled
from crowdcore.data.settings import need_classes, need_ratings
from crowdcore.data.writers.imports import TOOLS, planned, write_import

if TYPE_CHECKING:
    from crowdcore.marks import TakenMarks

AnyPath = Annotated[Path, typer.Argument(help="A file or a dataset folder.")]


def datasets(json: opt.Json = False) -> None:
    """List the datasets found in CROWDCORE_DATA, the embedded data, the cache and the workspace (uploads)."""
    frame = pd.DataFrame(
        [
            {"name": name, "folder": str(folder)}
            for name, folder in {**uploaded_datasets(), **dataset_folders()}.items()
        ],
        columns=["name", "folder"],
    )
    print_json(frame) if json else print_table(frame, "Datasets")


def examine(path: AnyPath, read: opt.Read = None, json: opt.Json = False) -> None:
    """Report how a file is read: format, columns, classes, and every row that would be dropped or merged."""
    from crowdcore.data import examine as examine_file

    report = examine_file(path, **opt.reading(read)).report
    print_json(report.as_dict()) if json else say(report.text(in_command))


def examine_ratings(path: AnyPath, read: opt.Read = None, json: opt.Json = False) -> None:
    """Report how a file of ratings is read, and every row that would be left out; nothing is imported."""
    examine(path, [*(read or []), "kind=ratings"], json)


def fetch(
    name: Annotated[str, typer.Argument(help=f"Dataset: {', '.join(sources.names())}.")],
    force: Annotated[bool, typer.Option("--force", help="Download again even if it exists.")] = False,
    url_base: Annotated[str | None, typer.Option(help="URL of a mirror of the source's files.")] = None,
    json: opt.Json = False,
) -> None:
    """Download a dataset from its public source into the cache; an interrupted download resumes."""
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
        say(f"{name}: {ds.n_tasks} tasks, {ds.n_annotations} annotations by {ds.n_workers} workers, in {folder}")


def export(
    ds: Labelled,
    target: Annotated[
        Path, typer.Argument(help="A folder (our format), or a .csv, .parquet (long table) or .conll file.")
    ],
    to: Annotated[
        str, typer.Option(help=f"Write a file that this tool imports, with proposed labels: {', '.join(TOOLS)}.")
    ] = "",
    tasks: Annotated[
        Path | None, typer.Option(help="Only tasks of this table, as `next`, `marks` or `overview` wrote it.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Of ratings: a row per task and a column per worker.")] = False,
    reference: opt.ReferenceName = "auto",
    hide_names: opt.HideNames = False,
    json: opt.Json = False,
) -> None:
    """Write a dataset as a folder in our format, its annotations as one long table, or its tags as CoNLL columns.

    With --to, write a file for a tool that people label in; --reference proposes the labels.
    """
    from crowdcore.data.pseudonyms import hide_names as without_names, in_order
    from crowdcore.data.writers import write_conll, write_folder, write_long, write_wide

    if tasks and not to:
        raise SettingError("--tasks", "go with --to", str(tasks))
    shown: Any = ds
    if hide_names:
        shown = in_order(without_names(shown))
    if to:
        _export_to(need_classes(ds), need_classes(shown), target, to, tasks, reference)
        about = {"dataset": ds.name, "written": str(target), "to": to}
        print_json(about) if json else say(f"{ds.name}: for {to} -> {target}")
        return
    table: Callable[..., Path] = write_long
    if wide:
        ds, table = need_ratings(ds), write_wide
    writers: dict[str, Callable[..., Path]]
    writers = {".csv": table, ".parquet": table, "": write_wide if wide else write_folder}
    writers |= {} if ds.kind.numeric else {".conll": write_conll}
    suffix = target.suffix.lower()
    if suffix in opt.FILES - writers.keys():
        raise SettingError("target", f"be a folder, or end in {', '.join(filter(None, writers))}", target.name)
    writers.get(suffix, writers[""])(shown, target)
    noun = f"{ds.kind.label}s"
    facts = {"dataset": ds.name, "written": str(target), noun: ds.n_annotations, "tasks": ds.n_tasks}
    print_json(facts) if json else say(f"{ds.name}: {ds.n_annotations} {noun} on {ds.n_tasks} tasks -> {target}")


def _export_to(
    ds: CrowdDataset, shown: CrowdDataset, target: Path, to: str, tasks: Path | None, reference: str
) -> None:
    """Write a file for a tool, with the workers' names of ``shown``."""
    from crowdcore.analysis.reference import note_on_confidence
    from crowdcore.data.pseudonyms import pseudonyms

    inferred, _ = opt.choose_reference(reference, ds)
    doubt, _, _ = note_on_confidence(ds, inferred).partition(" Tasks are shown")
    print_note(doubt and f"{doubt} The file holds them as they are.")
    plan = planned(tasks) if tasks else None
    if shown is not ds and plan is not None and "worker" in plan:
        plan["worker"] = plan["worker"].map(dict(zip(ds.worker_ids, pseudonyms(ds), strict=True)))
    write_import(shown, target, to, inferred, tasks=plan)


def embed(
    dataset: opt.DatasetName,
    target: Annotated[
        Path | None,
        typer.Argument(help="Output folder; without it, only report what would be computed and how long it takes."),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="tfidf or sentences (of texts), efficientnet (of images, pretrained), pixels (for a network from "
            "scratch), logmel (of sounds), given; auto: tfidf, efficientnet or logmel."
        ),
    ] = "auto",
    given: Annotated[
        str, typer.Option(help="Your own embeddings: a .npy file in the order of tasks, or a further column.")
    ] = "",
    model: Annotated[
        str, typer.Option(help="For sentences: a local sentence-transformers model; default: the first found.")
    ] = "",
    side: Annotated[
        int | None,
        typer.Option(help=f"For pixels: side of the images; default: that of the first image, at most {SIDE}."),
    ] = None,
    allow_urls: Annotated[bool, typer.Option("--allow-urls", help="Download images given as URLs.")] = False,
    device: opt.Device = "auto",
    json: opt.Json = False,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Write a dataset with what a classifier learns from: features of its texts, images or sounds, or pixels.

    Texts that are empty, and files that cannot be used, are named; --accept leaves their tasks out. With tfidf the
    folder also holds text_features.npz, which makes the same features from new texts.
    """
    from crowdcore.learning import embedding

    settings = {"given": given, "model": model, "side": side, "allow_urls": allow_urls, "device": device}
    facts = embedding.prepare(opt.open_crowd(dataset, read, accept), target, kind, accept, **settings)
    if json:
        print_json(facts)
        return
    seconds = facts.get("seconds")
    end = f" -> {target}" if target else "" if seconds is None else f", about {max(1, round(seconds)):,} s"
    say(f"{facts['dataset']}: {embedding.KINDS[facts['kind']]}, {facts['tasks']} tasks{end}")
    for note in facts.get("notes", ()):
        say(note)


def marks(
    dataset: opt.DatasetName,
    add: Annotated[
        tuple[str, str] | None, typer.Option(metavar="TASK CLASS", help="This class is right for the task.")
    ] = None,
    unclear: Annotated[
        list[str] | None, typer.Option(metavar="TASK", help="The task's class cannot be decided; may be repeated.")
    ] = None,
    worker: Annotated[str, typer.Option(help="The worker whose label you looked at.")] = "",
    comment: Annotated[str, typer.Option(help="Comment stored with the added marks.")] = "",
    by: Annotated[str, typer.Option("--author", "--by", help="Who marks; with --undo: whose last mark.")] = "",
    take: Annotated[
        Path | None, typer.Option("--import", help="Import marks from a CSV with the columns task and right class.")
    ] = None,
    carry: Annotated[bool, typer.Option("--carry", help="Take over marks from earlier data of the same name.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last mark.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the tasks marked wrong or unclear to this file.", callback=opt.is_table),
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="Write the labels that differ from marked classes to this file.", callback=opt.is_table),
    ] = None,
    hide_names: opt.HideNames = False,
    json: opt.Json = False,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Mark tasks; marks serve as a reference (reviewed), a list to relabel, and a list to train workers on."""
    from crowdcore import exhibits
    from crowdcore.analysis import Reference
    from crowdcore.marks import add_mark, marks_of_earlier_data, marks_of_file, undo_mark

    ds = opt.open_crowd(dataset, read, accept)
    for task, truth in [*([add] if add else []), *((task, None) for task in unclear or [])]:
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
    marked = exhibits.review.marked_tasks(seen)
    if json:
        print_json({"dataset": ds.name, "fingerprint": ds.fingerprint, "marks": marked.table, "notes": marked.notes})
        return
    print_readable(marked.table, f"{ds.name}: marks", marked.notes, wrapped=("text", "comment"))


def _keep(dataset: CrowdDataset, taken: TakenMarks, accept: bool) -> None:
    """Keep marks from elsewhere; faults are printed, and refused unless accepted."""
    from crowdcore.marks import keep_marks

    where = taken.faults.columns[0]  # the row of a file, or the data that were marked
    faults = [f"{where} {f[where]}, column {f['column']!r}: {f['fault']}" for f in taken.faults.to_dict("records")]
    if faults and not accept:
        more = f"; and {len(faults) - 20:,} more" if len(faults) > 20 else ""
        raise DataError(
            f"{len(faults):,} of {len(faults) + len(taken.marks):,} marks cannot be taken, so none was",
            f"Correct them: {'; '.join(faults[:20])}{more}.",
            remedies=[Remedy.accept("take the others")],
        )
    keep_marks(dataset, taken.marks)
    say(f"Marks taken: {len(taken.marks):,}. Not taken: {len(faults):,}.", err=True)
    for line in (*taken.notes, *faults):
        say(line, err=True)
