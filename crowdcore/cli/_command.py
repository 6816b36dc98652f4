"""Commands made from functions: the types of parameters say which options open them, the result's which show it.

The functions are those of the exhibits' catalogue, or return `Shown`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, TypeAlias

import pandas as pd
import typer

from crowdcore.cli import _options as opt
from crowdcore.cli._options import Accept, DatasetName, HideNames, Read, ReferenceName
from crowdcore.cli._output import Printed, print_json, print_note, print_table, save_exhibit, save_table
from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.data import CrowdDataset, RatingDataset
from crowdcore.data.ratings import Labelled
from crowdcore.data.tags import need_tags
from crowdcore.exhibits import Exhibit, View, view
from crowdcore.exhibits.fits import canonical
from crowdcore.exhibits.view import named

if TYPE_CHECKING:
    from crowdcore.analysis.reference import Reference

Runs = Annotated[
    list[str] | None, typer.Option("--run", metavar="ID", help="A run, for exhibits of results; repeatable.")
]
TaggedView = NewType("TaggedView", View)
"""A view of a crowd that tags tokens."""
_LONG = 40  # letters beyond which a column takes several lines


def choose_reference(name: str, dataset: CrowdDataset) -> tuple[Reference, str]:
    """The reference that ``--reference`` names; where none is named, also a sentence on what was taken.

    Args:
        name: gold, reviewed, an aggregator (``dawid-skene smoothing=0.1`` sets it), or ``run:ID``; empty: gold or,
            where there is none, the model that the app's pages take (`default_reference`).
        dataset: what it is about.

    Raises:
        SettingError: no such reference.
    """
    from crowdcore import aggregation
    from crowdcore.analysis import default_reference
    from crowdcore.analysis.reference import REVIEWED

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
        canonical(name)  # a wrong setting is named
    elif name not in ("", *own):
        near = did_you_mean(name.lower(), [*own, *aggregation.names()])
        remedy = f"{near}Aggregators: {', '.join(aggregation.names())}."
        raise SettingError("--reference", f"be {', '.join(own)}, an aggregator or run:ID", name, remedy)
    return named(dataset, name or "gold"), ""


Opener: TypeAlias = Callable[..., tuple[Any, str]]
"""What opens the subject of a command from options; with a note on the reference."""


def open_only(read_it: Callable[[str, list[str] | None, bool], Labelled]) -> Opener:
    """An opener of a dataset."""

    def opener(dataset: DatasetName, read: Read = None, accept: Accept = False) -> tuple[Any, str]:
        return read_it(dataset, read, accept), ""

    return opener


def open_view(tagged: bool = False) -> Opener:
    """An opener of a crowd and its reference; ``tagged``: crowds without sentences are refused before all else."""

    def opener(
        dataset: DatasetName,
        reference: ReferenceName = "",
        hide_names: HideNames = False,
        read: Read = None,
        accept: Accept = False,
    ) -> tuple[Any, str]:
        crowd = opt.open_crowd(dataset, read, accept)
        if tagged:
            need_tags(crowd)
        truth, note = choose_reference(reference, crowd)
        return view(crowd, truth, hidden=hide_names), note

    return opener


def open_rating_view(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    read: Read = None,
    accept: Accept = False,
) -> tuple[Any, str]:
    """Ratings and what they are compared with."""
    from crowdcore.exhibits.ratings import rating_view

    return rating_view(opt.open_ratings(dataset, read, accept), reference, hidden=hide_names), ""


def open_results(read_it: Callable[[str, list[str] | None, bool], Labelled], single: bool = False) -> Opener:
    """An opener of results of runs on such a dataset: name -> result, under names that set them apart, or one."""

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
    """An opener of a crowd with each of several runs on it, or with one."""

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

        seen, note = open_view()(dataset, reference, hide_names, read, accept)
        results = results_of(run).items()
        views = [of_run(seen, one, name, seed=seed, at=at, part=part) for name, one in results]
        return views[0] if single else views, note

    return opener


OPENERS: dict[Any, Opener] = {
    "Labelled": open_only(opt.open_labels),
    "CrowdDataset": open_only(opt.open_crowd),
    "RatingDataset": open_only(opt.open_ratings),
    "View": open_view(),
    "TaggedView": open_view(tagged=True),
    "RatingView": open_rating_view,
    "RunView": open_runs(single=True),
    "Sequence[RunView]": open_runs(),
    "Results": open_results(opt.open_crowd),
    "Mapping[str, TrainingResult]": open_results(opt.open_crowd),
    "TrainingResult": open_results(opt.open_crowd, single=True),
    "RatingResults": open_results(opt.open_rated),
    "RatingsResult": open_results(opt.open_rated, single=True),
    "AnyResults": open_results(opt.open_labels),
}
"""Type of a parameter, as it is written -> what opens it from options, with a note on the reference."""
_ONLY_IN_PYTHON = ("RunView | None", "Source | None", "Reference | None")


@dataclass(frozen=True, eq=False)
class Shown:
    """What a command shows.

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

    def put(self, json: opt.Json = False, out: opt.Out = None) -> None:
        """Write the table to a file, and print."""
        if out:
            save_table(self.saved if isinstance(self.saved, pd.DataFrame) else self.saved.table, out)
        if json:
            print_json(self.facts)
            return
        for table in self.printed:
            print_table(*table)


class Drawn(Shown):
    """`Shown`, where ``saved`` is an exhibit with a figure."""

    saved: Exhibit

    def put(self, json: opt.Json = False, out: opt.Out = None, figure: opt.Figure = None) -> None:
        """Write the table and the figure to files, and print."""
        save_exhibit(self.saved, None, figure)
        super().put(json, out)


def as_drawn(exhibit: Exhibit, about: str) -> Drawn:
    """An exhibit of a dataset, by name, as a command shows it."""
    table = exhibit.table
    long = [str(c) for c in table if table[c].astype(str).str.len().max() > _LONG]
    facts = {"name": exhibit.name, "title": exhibit.title, "notes": exhibit.notes, "table": table}
    return Drawn(
        {"dataset": about, **facts},
        [Printed(table, f"{about}: {exhibit.title}", exhibit.notes, wrapped=long)],
        exhibit,
    )


def openers_of(function: Callable[..., Any], ratings: bool = False) -> dict[str, Opener]:
    """Parameter -> what opens it, of those that are no options; ``ratings``: labels of any kind must be numbers."""
    known = OPENERS | ({"Labelled": OPENERS["RatingDataset"]} if ratings else {})
    if inspect.unwrap(function).__module__ == "crowdcore.exhibits.spans":
        known["View"] = known["TaggedView"]
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
    """The function's result, what was opened for it, and a note on the reference.

    Args:
        function: of an exhibit or a command.
        options: its own, and those that open what it is about.
        ratings: labels must be numbers.
    """
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
    """The function as Typer takes it, with plain options.

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
    """An exhibit's parameter as an option, with the help of its docstring."""
    line = re.search(rf"^ +{parameter.name}: (.+)", docstring, re.MULTILINE)
    option = typer.Option(help=line[1][:1].upper() + line[1][1:] if line else None)
    return parameter.replace(annotation=Annotated[parameter.annotation, option])


def full_id(given: str) -> str:
    """The id of the only run that begins so.

    Raises:
        DataError: there is none, or there are several.
    """
    from crowdcore import runs

    if len(given) == 32:
        return given
    found = [r.id for r in runs.list_runs() if given and r.id.startswith(given)]
    if len(found) != 1:
        what = "There is no run" if not found else f"There are {len(found)} runs"
        raise DataError(f"{what} whose id begins with {given!r}", "`crowdcore runs list` shows those there are.")
    return found[0]
