"""Options that commands share, and commands made from functions.

The types of a function's parameters choose the options that open them, the type of its result the options that show it.
The functions are those of the exhibits' catalogue, or return `Shown`.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import pandas as pd
import typer

from crowdcore.cli._output import STANDARD, Printed, print_json, print_note, print_readable, save_exhibit, save_table
from crowdcore.core.errors import DataError, SettingError, did_you_mean, either, missing_extra
from crowdcore.core.settings import text_settings
from crowdcore.core.spelling import read_options
from crowdcore.data import CrowdDataset, RatingDataset, catalogue, read_ratings
from crowdcore.data.ratings import Labelled
from crowdcore.data.settings import ReadSettings, need_classes, need_ratings
from crowdcore.data.tags import need_tags
from crowdcore.data.writers.tables import ENDINGS
from crowdcore.exhibits import Exhibit, view
from crowdcore.exhibits.view import named
from crowdcore.learning.settings import SEEDS

if TYPE_CHECKING:
    from crowdcore.analysis.reference import Reference


TABLES = ENDINGS
FIGURES = (".html", ".svg", ".png", ".pdf")
FILES = {*TABLES, *FIGURES, ".conll", ".jsonl", ".tsv", ".txt", ".xlsx", ".xml", ".zip"}


def ends_in(*endings: str) -> Callable[[typer.CallbackParam, Path | None], Path | None]:
    """Check an option's file before all else: its ending (none given: any), its folder, and what drawing needs."""

    def check(option: typer.CallbackParam, file: Path | None) -> Path | None:
        if file is None or (endings == TABLES and file == STANDARD):
            return file
        if endings and file.suffix.lower() not in endings:
            raise SettingError(option.opts[0], f"end in {either(endings)}", str(file))
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
    """Check an option's folder before anything is computed: it is no file, and not named like one."""
    if folder is None or folder.is_dir():
        return folder
    if folder.exists():
        raise DataError(f"{folder} of {option.opts[0]} is a file", "Choose another folder.")
    if folder.suffix.lower() in FILES:
        raise SettingError(option.opts[0], "be a folder", str(folder), "Leave its ending out.")
    return folder


def completes(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes an argument in the shell."""

    def matching(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return matching


is_table = ends_in(*TABLES)
DatasetName = Annotated[
    str,
    typer.Argument(
        help="Name of a dataset (see `crowdcore datasets`), a path to one, or - for standard input.",
        autocompletion=completes(catalogue.list_datasets),
    ),
]
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
    bool, typer.Option("--accept", help="Continue although rows, images or texts would be left out or merged.")
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
    bool, typer.Option("--hide-names/--names", help="Show pseudonyms, and no extra columns; or the workers' ids.")
]
Checkpoint = Annotated[Path | None, typer.Option(help="Keep checkpoints in this folder, and resume from them.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help=f"Also write the table to this file ({', '.join(TABLES)}); - prints CSV.", callback=is_table
    ),
]
_SEEDS = f"{SEEDS}, or the preset's"
_TO_FOLDER = typer.Option("--out", "-o", help="Write the results to this folder.", callback=is_folder)
OutFolder = Annotated[Path | None, _TO_FOLDER]
NeededFolder = Annotated[Path, _TO_FOLDER]
Figure = Annotated[
    Path | None,
    typer.Option("--figure", help=f"Also draw it to this file ({', '.join(FIGURES)}).", callback=ends_in(*FIGURES)),
]
Seeds = Annotated[int, typer.Option(help="How many seeds.", min=1)]
AnySeeds = Annotated[int | None, typer.Option("--seeds", help="How many seeds.", min=1, show_default=_SEEDS)]
Seed = Annotated[list[int] | None, typer.Option(help="Exactly this seed; may be repeated.", min=0)]
Epochs = Annotated[int | None, typer.Option(help="Passes over the training tasks; default: the method's.", min=1)]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting of what is named; may be repeated."),
]


def open_labels(dataset: str, read: list[str] | None = None, accept: bool = False) -> Labelled:
    """Open a dataset of any labels by name, by path, or by the app's name of an upload to the workspace."""
    source = piped() if dataset == str(STANDARD) else dataset
    return catalogue.open_labels(source, accept=accept, **reading(read))


@functools.cache
def piped() -> Path:
    """Return a file with the content of standard input, kept as long as this process."""
    file = Path(tempfile.mkdtemp(prefix="crowdcore-"), "input")
    atexit.register(shutil.rmtree, file.parent, ignore_errors=True)
    file.write_bytes(sys.stdin.buffer.read())
    return file


def open_crowd(dataset: str, read: list[str] | None = None, accept: bool = False) -> CrowdDataset:
    """Open a dataset whose labels must be classes or tags."""
    return need_classes(open_labels(dataset, read, accept))


def open_rated(dataset: str, read: list[str] | None = None, accept: bool = False) -> RatingDataset:
    """Open a dataset whose labels must be numbers."""
    return need_ratings(open_labels(dataset, read, accept))


def open_ratings(dataset: str, read: list[str] | None = None, accept: bool = False) -> RatingDataset:
    """Open a dataset, and read its labels as numbers."""
    return read_ratings(catalogue.find_dataset(dataset), accept=accept, **reading(read))


def reading(pairs: list[str] | None) -> dict[str, Any]:
    """Settings of ``--read``; names of columns, classes and workers stay text, even if they look like numbers."""
    return read_options(pairs or [], "--read", text_settings(ReadSettings))


def with_epochs(pairs: list[str] | None, epochs: int | None) -> dict[str, Any]:
    """Settings of ``--set`` and ``--epochs``."""
    return settings(pairs) | ({} if epochs is None else {"epochs": epochs})


def settings(pairs: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """Turn ``["smoothing=0.1", "hard=true"]`` into a dictionary; values are JSON where they parse, else text."""
    return read_options(pairs or [], option)


_OF_RUN = typer.Option("--run", metavar="ID", help="A run, or the beginning of its id, where results are shown.")
Run = Annotated[str | None, _OF_RUN]
Runs = Annotated[list[str] | None, _OF_RUN]
_LONG = 40  # letters beyond which a column takes several lines


def choose_reference(name: str, dataset: CrowdDataset) -> tuple[Reference, str]:
    """Return the reference of ``--reference``; by default, without gold, also a sentence about the choice.

    ``name`` is gold, reviewed, an aggregator with settings (``dawid-skene smoothing=0.1``), or ``run:ID``; empty: gold
    or, without gold, the app's `default_reference`.
    """
    from crowdcore import aggregation
    from crowdcore.analysis import default_reference
    from crowdcore.analysis.reference import REVIEWED
    from crowdcore.exhibits.fits import canonical

    if not name and not dataset.has_gold:
        name = default_reference(dataset)
        note = f"{dataset.name} has no gold: the truth is what the aggregator {name!r} says; --reference takes another."
        return named(dataset, name), note if dataset.n_annotations else ""
    kind, _, run_id = name.partition(":")
    if kind == "run":
        from crowdcore.runs import reference

        return reference(full_id(run_id), dataset), ""
    own = ["gold", *REVIEWED]
    method = name.split(" ")[0]
    if method in aggregation.aggregators:
        canonical(name)  # refuses wrong settings
    elif name not in ("", *own):
        near = did_you_mean(name.lower(), [*own, *aggregation.names()])
        remedy = f"{near}Aggregators: {', '.join(aggregation.names())}."
        raise SettingError("--reference", f"be {', '.join(own)}, an aggregator or run:ID", name, remedy)
    return named(dataset, name or "gold"), ""


Opener: TypeAlias = Callable[..., tuple[Any, str]]
"""Function that opens the subject of a command from options, with a note on the reference."""


def open_only(read_it: Callable[[str, list[str] | None, bool], Labelled]) -> Opener:
    """Return an opener of a dataset."""

    def opener(dataset: DatasetName, read: Read = None, accept: Accept = False) -> tuple[Any, str]:
        return read_it(dataset, read, accept), ""

    return opener


def open_view(read_it: Callable[[str, list[str] | None, bool], Labelled], tagged: bool = False) -> Opener:
    """Return an opener of a dataset and its reference; ``tagged``: crowds without sentences are refused first."""

    def opener(
        dataset: DatasetName,
        reference: ReferenceName = "",
        hide_names: HideNames = False,
        read: Read = None,
        accept: Accept = False,
    ) -> tuple[Any, str]:
        labels = read_it(dataset, read, accept)
        if tagged:
            need_tags(need_classes(labels))
        truth, note = (reference, "") if labels.kind.numeric else choose_reference(reference, need_classes(labels))
        return view(labels, truth, hidden=hide_names), note

    return opener


def open_results(read_it: Callable[[str, list[str] | None, bool], Labelled], single: bool = False) -> Opener:
    """Return an opener of results of runs on such a dataset: name -> result, under distinct names, or one."""

    def opener(dataset: DatasetName, run: Runs = None, read: Read = None, accept: Accept = False) -> tuple[Any, str]:
        read_it(dataset, read, accept)  # labels of another kind are refused
        results = results_of(run)
        return next(iter(results.values())) if single else results, ""

    return opener


def results_of(run: list[str] | None) -> dict[str, Any]:
    """Name -> result of each run."""
    from crowdcore import runs as recorded
    from crowdcore.learning.comparison import variation

    if not run:
        raise SettingError("--run", "be given: this exhibit is about trained models", "nothing")
    ids = [full_id(one) for one in run]
    return variation.name_runs([recorded.learnt(i) for i in ids], [recorded.get_run(i).name for i in ids])


def open_runs(single: bool = False) -> Opener:
    """Return an opener of a crowd with each of several runs on it, or with one."""

    def opener(
        dataset: DatasetName,
        run: Runs = None,
        seed: int | Literal["each"] | None = None,
        at: Literal["selected", "last"] | int = "selected",
        part: Literal["", "own"] = "",
        reference: ReferenceName = "",
        hide_names: HideNames = False,
        read: Read = None,
        accept: Accept = False,
    ) -> tuple[Any, str]:
        from crowdcore.exhibits.recovered import of_run

        seen, note = open_view(open_crowd)(dataset, reference, hide_names, read, accept)
        results = results_of(run).items()
        views = [of_run(seen, one, name, seed=seed, at=at, part=part) for name, one in results]
        return views[0] if single else views, note

    return opener


OPENERS: dict[Any, Opener] = {
    "Labelled": open_only(open_labels),
    "CrowdDataset": open_only(open_crowd),
    "RatingDataset": open_only(open_ratings),
    "View": open_view(open_crowd),
    "TaggedView": open_view(open_crowd, tagged=True),
    "RatingView": open_view(open_ratings),
    "RunView": open_runs(single=True),
    "Sequence[RunView]": open_runs(),
    "Results": open_results(open_crowd),
    "Mapping[str, TrainingResult]": open_results(open_crowd),
    "TrainingResult": open_results(open_crowd, single=True),
    "RatingResults": open_results(open_rated),
    "RatingsResult": open_results(open_rated, single=True),
    "AnyResults": open_results(open_labels),
}
"""Type of a parameter, as it is written -> what opens it from options, with a note on the reference."""
_ONLY_IN_PYTHON = ("RunView | None", "Source | None", "Reference | None")


@dataclass(frozen=True, eq=False)
class Shown:
    """Output of a command.

    Args:
        facts: for machines.
        printed: tables for people.
        saved: what ``--out`` writes.
        note: on the reference, for standard error.
    """

    facts: Any
    printed: Sequence[Printed]
    saved: Exhibit | pd.DataFrame
    note: str = ""

    def put(self, json: Json = False, out: Out = None) -> None:
        """Write the table to a file, and print."""
        if out:
            save_table(self.saved if isinstance(self.saved, pd.DataFrame) else self.saved.table, out)
        if out == STANDARD:
            return
        if json:
            print_json(self.facts)
            return
        for table in self.printed:
            print_readable(*table)


class Drawn(Shown):
    """Output of a command with a figure: ``saved`` is an exhibit."""

    saved: Exhibit

    def put(self, json: Json = False, out: Out = None, figure: Figure = None) -> None:
        """Write the table and the figure to files, and print."""
        save_exhibit(self.saved, None, figure)
        super().put(json, out)


def as_drawn(exhibit: Exhibit, about: str) -> Drawn:
    """Return an exhibit about a dataset, by name, as output of a command."""
    table = exhibit.table
    long = [str(c) for c in table if table[c].astype(str).str.len().max() > _LONG]
    facts = {"name": exhibit.name, "title": exhibit.title, "notes": exhibit.notes, "table": table}
    return Drawn(
        {"dataset": about, **facts},
        [Printed(table, f"{about}: {exhibit.title}", exhibit.notes, wrapped=long)],
        exhibit,
    )


def openers_of(function: Callable[..., Any], ratings: bool = False) -> dict[str, Opener]:
    """Map each parameter that is no option to its opener; ``ratings``: labels of any kind must be numbers."""
    known = OPENERS | ({"Labelled": OPENERS["RatingDataset"]} if ratings else {})
    parameters = inspect.signature(function).parameters.values()
    return {p.name: known[p.annotation] for p in parameters if p.annotation in known}


def options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that are options, with their types."""
    opened, written = openers_of(function), inspect.signature(function).parameters
    return [
        p
        for p in _parameters(function)
        if p.name not in (*opened, "hidden") and written[p.name].annotation not in _ONLY_IN_PYTHON
    ]


def call(
    function: Callable[..., Any], options: Mapping[str, Any], ratings: bool = False
) -> tuple[Any, dict[str, Any], str]:
    """Return the function's result, its opened arguments, and a note on the reference; ``ratings``: of numbers."""
    from crowdcore.data.pseudonyms import hide_names as without_names

    own = {p.name: options[p.name] for p in options_of(function) if p.name in options}
    opened, note = {}, ""
    parameters = inspect.signature(function).parameters
    hides = bool({"hidden", "hide_names"} & parameters.keys())  # by itself
    for name, opener in openers_of(function, ratings).items():
        wanted = inspect.signature(opener).parameters
        opened[name], on_reference = opener(**{key: value for key, value in options.items() if key in wanted})
        note = note or on_reference
        if isinstance(opened[name], CrowdDataset | RatingDataset) and options.get("hide_names") and not hides:
            opened[name] = without_names(opened[name])
    hidden = {"hidden": options["hide_names"]} if "hidden" in parameters else {}
    return function(**opened, **own, **hidden), opened, note


def command(function: Callable[..., Any], ratings: bool = False) -> Callable[..., None]:
    """Return the function as a Typer command with plain options.

    A parameter whose type is one of `OPENERS` becomes the options of its opener; a function that returns an exhibit,
    `Shown` or `Drawn` has those of ``put`` too.
    """
    returned = inspect.signature(function).return_annotation
    puts: dict[str, Callable[..., None]] = {"Shown": Shown.put, "Drawn": Drawn.put, "Exhibit": Drawn.put}
    put = puts.get(returned)
    openers = [_parameters(opener) for opener in openers_of(function).values()]
    own = options_of(function)
    if returned == "Exhibit":
        own = [_described(p, function.__doc__ or "") for p in own]
    after = [] if put is None else _parameters(put)[1:]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        ends = {p.name: given.pop(p.name) for p in after}
        made, opened, note = call(function, given, ratings)
        if isinstance(made, Exhibit):
            made = as_drawn(made, next(iter(opened.values())).dataset.name)
        print_note(note or getattr(made, "note", ""))
        if put is not None:
            made.put(**ends)

    every = [p for of in openers for p in of[:1]] + own + [p for of in openers for p in of[1:]] + after
    every = list({p.name: p.replace(kind=p.KEYWORD_ONLY) for p in every}.values())
    run.__doc__ = inspect.cleandoc(function.__doc__ or "").split("\n\nArgs:")[0]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in every}
    return run


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _described(parameter: inspect.Parameter, docstring: str) -> inspect.Parameter:
    """Return an exhibit's parameter as an option, with help from its docstring."""
    line = re.search(rf"^ +{parameter.name}: (.+)", docstring, re.MULTILINE)
    option = typer.Option(help=line[1][:1].upper() + line[1][1:] if line else None)
    return parameter.replace(annotation=Annotated[parameter.annotation, option])


def full_id(given: str) -> str:
    """Return the full id of a run from its beginning, which must fit exactly one run."""
    from crowdcore import runs

    if len(given) == 32:
        return given
    matches = [r.id for r in runs.list_runs() if given and r.id.startswith(given)]
    if len(matches) != 1:
        what = "There is no run" if not matches else f"There are {len(matches)} runs"
        raise DataError(f"{what} whose id begins with {given!r}", "`crowdcore runs list` shows those there are.")
    return matches[0]
