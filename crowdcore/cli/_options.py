"""Arguments and options that several commands share, and opening a dataset by name or path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdcore.core.errors import DataError, SettingError, missing_extra
from crowdcore.core.spelling import read_options
from crowdcore.data import CrowdDataset, load_dataset, read_dataset, read_ratings
from crowdcore.data.catalogue import dataset_folders, holds_ratings, is_path
from crowdcore.data.ratings import Labelled
from crowdcore.data.uploads import find_upload
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
    typer.Option(
        "--out", "-o", help=f"Also write the table to this file ({', '.join(TABLES)}).", callback=ends_in(*TABLES)
    ),
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


def open_dataset(dataset: DatasetName, read: Read = None, accept: Accept = False) -> CrowdDataset:
    """A dataset by name, by path when the name is one, or by what the app calls an upload to the workspace."""
    folder = find_path(dataset)
    given = settings(read, "--read")
    if folder is None:
        return load_dataset(dataset, accept=accept, **given)
    return read_dataset(folder, accept=accept, **given)


def open_labels(dataset: str, read: list[str] | None = None, accept: bool = False) -> Labelled:
    """`open_dataset`, or ratings where the labels of the folder are numbers."""
    folder = find_path(dataset) or dataset_folders().get(dataset)
    if folder is None or not holds_ratings(folder):
        return open_dataset(dataset, read, accept)
    return read_ratings(folder, accept=accept, **settings(read, "--read"))


def find_path(dataset: str) -> Path | None:
    """The file or folder that a dataset argument means; None for the name of a dataset of `crowdcore datasets`."""
    path = Path(dataset) if is_path(dataset) else None
    found = dataset in dataset_folders() or (path is not None and path.exists())
    return path if found else find_upload(dataset) or path


def with_epochs(pairs: list[str] | None, epochs: int | None) -> dict[str, Any]:
    """What ``--set`` and ``--epochs`` give."""
    return settings(pairs) | ({} if epochs is None else {"epochs": epochs})


def settings(pairs: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """Turn ``["smoothing=0.1", "hard=true"]`` into a dictionary; values are JSON where they parse, else text."""
    return read_options(pairs or [], option)
