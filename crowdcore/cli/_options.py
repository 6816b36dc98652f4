"""Arguments and options that several commands share, and the dataset that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdcore.core.errors import DataError, SettingError, missing_extra
from crowdcore.core.settings import text_settings
from crowdcore.core.spelling import read_options
from crowdcore.data import CrowdDataset, RatingDataset, catalogue, read_ratings
from crowdcore.data.kinds import need_classes, need_ratings
from crowdcore.data.ratings import Labelled
from crowdcore.data.settings import ReadSettings
from crowdcore.learning.settings import SEEDS

TABLES = (".csv", ".parquet")
FIGURES = (".html", ".svg", ".png", ".pdf")
_FILES = {*TABLES, *FIGURES, ".json", ".jsonl", ".md", ".tsv", ".txt", ".xlsx", ".zip"}


def ends_in(*endings: str) -> Callable[[typer.CallbackParam, Path | None], Path | None]:
    """A check of an option's file before anything is computed: its ending, its folder, and what drawing it needs.

    Without ``endings`` any will do.

    Raises:
        SettingError: another ending.
        DataError: its folder does not exist, or it is a folder.
        MissingExtraError: a figure that no package is installed to draw.
    """

    def check(option: typer.CallbackParam, file: Path | None) -> Path | None:
        if file is None:
            return None
        if endings and file.suffix.lower() not in endings:
            listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
            raise SettingError(option.opts[0], f"end in {listed}", str(file))
        if not file.parent.is_dir():
            raise DataError(f"The folder {file.parent} of {option.opts[0]} does not exist", "Create it first.")
        if file.is_dir():
            raise DataError(f"{file} of {option.opts[0]} is a folder", "Choose another file.")
        if endings == FIGURES and file.suffix.lower() != FIGURES[0]:
            refusal = missing_extra(f"Drawing to {file.suffix}", "kaleido")
            if refusal:
                raise refusal
        return file

    return check


def is_folder(option: typer.CallbackParam, folder: Path | None) -> Path | None:
    """A check of an option's folder before anything is computed.

    Raises:
        SettingError: it is called as a file is.
        DataError: it is a file.
    """
    if folder is None or folder.is_dir():
        return folder
    if folder.exists():
        raise DataError(f"{folder} of {option.opts[0]} is a file", "Choose another folder.")
    if folder.suffix.lower() in _FILES:
        raise SettingError(option.opts[0], "be a folder", str(folder), "Leave its ending out.")
    return folder


is_table = ends_in(*TABLES)
DatasetName = Annotated[str, typer.Argument(help="Name of a dataset (see `crowdcore datasets`) or a path to one.")]
ReferenceName = Annotated[
    str,
    typer.Option(
        "--reference",
        "-r",
        help="What counts as the truth: gold, reviewed (marks), an aggregator, run:ID; default: gold, else 'auto'.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept",
        help="Continue although rows would be dropped or merged, images or texts left out (all reported).",
    ),
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="How to read a file, where its content does not say: label=answer, worker=hit_worker, format=wide, "
        'workers=["ann","ben"], missing=["NA"], classes=["no","yes"], repeats=first …; may be repeated.',
    ),
]
HideNames = Annotated[
    bool,
    typer.Option(
        "--hide-names", help="Show pseudonyms instead of worker ids, and no extra columns of the annotations."
    ),
]
Checkpoint = Annotated[Path | None, typer.Option(help="Keep checkpoints in this folder, and resume from them.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help=f"Also write the table to this file ({', '.join(TABLES)}).", callback=is_table),
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", "-o", help="Save the result to this folder.", callback=is_folder)
]
Figure = Annotated[
    Path | None,
    typer.Option("--figure", help=f"Also draw it to this file ({', '.join(FIGURES)}).", callback=ends_in(*FIGURES)),
]
Seeds = Annotated[int, typer.Option(help="How many seeds.", min=1)]
AnySeeds = Annotated[
    int | None, typer.Option("--seeds", help=f"How many seeds; default: {SEEDS}, or the preset's.", min=1)
]
Seed = Annotated[list[int] | None, typer.Option(help="Exactly this seed; may be repeated.", min=0)]
Epochs = Annotated[int | None, typer.Option(help="Passes over the training tasks; default: the method's.", min=1)]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; may be repeated.")
]


def open_labels(dataset: str, read: list[str] | None = None, accept: bool = False) -> Labelled:
    """A dataset by name, by path, or by what the app calls an upload to the workspace, whatever its labels are."""
    return catalogue.open_labels(dataset, accept=accept, **reading(read))


def open_crowd(dataset: str, read: list[str] | None = None, accept: bool = False) -> CrowdDataset:
    """`open_labels`, where labels must be classes or tags."""
    return need_classes(open_labels(dataset, read, accept))


def open_rated(dataset: str, read: list[str] | None = None, accept: bool = False) -> RatingDataset:
    """`open_labels`, where labels must be numbers."""
    return need_ratings(open_labels(dataset, read, accept))


def open_ratings(dataset: str, read: list[str] | None = None, accept: bool = False) -> RatingDataset:
    """A dataset whose labels are read as numbers."""
    return read_ratings(catalogue.find_dataset(dataset), accept=accept, **reading(read))


def reading(pairs: list[str] | None) -> dict[str, Any]:
    """Settings of ``--read``; names of columns, classes and workers are text, whatever they look like."""
    return read_options(pairs or [], "--read", text_settings(ReadSettings))


def with_epochs(pairs: list[str] | None, epochs: int | None) -> dict[str, Any]:
    """Settings of ``--set`` and ``--epochs``."""
    return settings(pairs) | ({} if epochs is None else {"epochs": epochs})


def settings(pairs: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """Turn ``["smoothing=0.1", "hard=true"]`` into a dictionary; values are JSON where they parse, else text."""
    return read_options(pairs or [], option)
