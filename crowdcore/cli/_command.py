"""A command is a function of what it is about: a parameter of a dataset or view stands for the options that open it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NewType

import pandas as pd
import typer

from crowdcore.cli._options import (
    Accept,
    DatasetName,
    Figure,
    HideNames,
    Json,
    Out,
    Read,
    ReferenceName,
    find_path,
    open_dataset,
    settings,
)
from crowdcore.cli._output import Printed, print_json, print_table, save_exhibit, save_table
from crowdcore.cli._runs import reference_named, say_reference
from crowdcore.data import CrowdDataset, RatingDataset, load_ratings, read_ratings
from crowdcore.data.tags import need_tags
from crowdcore.exhibits import Exhibit, View, view
from crowdcore.exhibits.ratings import RatingView, rating_view

RatingsName = Annotated[str, typer.Argument(help="Name of a dataset whose labels are numbers, or a path to one.")]
RatingReference = Annotated[
    str, typer.Option("--reference", "-r", help="What counts as the truth: gold, or an aggregator of ratings.")
]


def open_view(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    read: Read = None,
    accept: Accept = False,
) -> View:
    """A dataset by name or path, seen by what ``--reference`` names; workers under pseudonyms where asked for."""
    opened = open_dataset(dataset, read, accept)
    return view(opened, reference_named(reference, opened), hidden=hide_names)


def open_ratings(dataset: RatingsName, read: Read = None, accept: Accept = False) -> RatingDataset:
    """Ratings by name, or by path when the name is one."""
    folder, given = find_path(dataset), settings(read, "--read")
    if folder is None:
        return load_ratings(dataset, accept=accept, **given)
    return read_ratings(folder, accept=accept, **given)


def open_rating_view(
    dataset: RatingsName,
    reference: RatingReference = "",
    hide_names: HideNames = False,
    read: Read = None,
    accept: Accept = False,
) -> RatingView:
    """Ratings by name or path, compared with what ``--reference`` names."""
    return rating_view(open_ratings(dataset, read, accept), reference, hidden=hide_names)


TaggedView = NewType("TaggedView", View)
"""A view of a crowd that tags tokens."""


def open_tagged_view(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    read: Read = None,
    accept: Accept = False,
) -> TaggedView:
    """`open_view`, where other crowds are refused before anything is computed."""
    opened = open_dataset(dataset, read, accept)
    need_tags(opened)
    return TaggedView(view(opened, reference_named(reference, opened), hidden=hide_names))


OPENERS: dict[Any, Callable[..., Any]] = {
    CrowdDataset: open_dataset,
    RatingDataset: open_ratings,
    View: open_view,
    TaggedView: open_tagged_view,
    RatingView: open_rating_view,
}


@dataclass(frozen=True, eq=False)
class Shown:
    """What a command found.

    Args:
        facts: for machines.
        printed: tables for people.
        saved: what ``--out`` writes.
    """

    facts: Mapping[str, Any]
    printed: Sequence[Printed]
    saved: Exhibit | pd.DataFrame

    def put(self, json: Json = False, out: Out = None) -> None:
        """Write the table to a file, and print."""
        if out:
            save_table(self.saved if isinstance(self.saved, pd.DataFrame) else self.saved.table, out)
        if json:
            print_json(self.facts)
            return
        for table in self.printed:
            print_table(*table)


class Drawn(Shown):
    """The same, where ``saved`` is an exhibit with a figure."""

    saved: Exhibit

    def put(self, json: Json = False, out: Out = None, figure: Figure = None) -> None:
        """Write the table and the figure to files, and print."""
        save_exhibit(self.saved, None, figure)
        super().put(json, out)


def command(function: Callable[..., Any]) -> Callable[..., None]:
    """The function as Typer takes it, with plain options.

    A parameter of one of the types of `OPENERS` becomes the parameters of its opener; a function that returns `Shown`
    or `Drawn` has those of its ``put`` too.
    """
    asked = inspect.signature(function, eval_str=True)
    opened = {p.name: OPENERS[p.annotation] for p in asked.parameters.values() if p.annotation in OPENERS}
    put = getattr(asked.return_annotation, "put", None)
    own = [p for p in asked.parameters.values() if p.name not in opened]
    of = {name: _parameters(opener) for name, opener in opened.items()}
    first = [p for found in of.values() for p in found[:1]]
    others = [p for found in of.values() for p in found[1:]]
    after = [] if put is None else _parameters(put)[1:]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        say_reference(found=False)  # of a command before, in the same process
        ends = {p.name: given.pop(p.name) for p in after}
        for name, opener in opened.items():
            given[name] = opener(**{p.name: given.pop(p.name) for p in of[name]})
        found = function(**given)
        say_reference(found=True)
        if put is not None:
            put(found, **ends)

    every = [p.replace(kind=p.KEYWORD_ONLY) for p in (*first, *own, *others, *after)]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in every}
    return run


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())
