"""`crowdcore show`: any figure or table of the app's pages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import pandas as pd
import typer
from pydantic import TypeAdapter, ValidationError

from crowdcore.cli import _options as opt
from crowdcore.cli._command import Runs, as_drawn, call, openers_of, options_of
from crowdcore.cli._output import print_json, print_note, print_table, save_exhibit
from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.exhibits import between
from crowdcore.exhibits.catalogue import catalogue


def show(
    exhibit: Annotated[str, typer.Argument(help="What to show; without it, all that can be shown is listed.")] = "",
    dataset: Annotated[str, typer.Argument(help="Name of a dataset (see `crowdcore datasets`) or a path.")] = "demo",
    reference: opt.ReferenceName = "",
    set: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="An option, as listed; repeatable, also for lists."),
    ] = None,
    run: Runs = None,
    only: Annotated[
        tuple[str, float, float] | None,
        typer.Option(
            "--between", metavar="COLUMN MIN MAX", help="Only rows with a value in this range; inf: no limit."
        ),
    ] = None,
    hide_names: opt.HideNames = False,
    json: opt.Json = False,
    out: opt.Out = None,
    figure: opt.Figure = None,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Show a figure or table of the app's pages: its numbers here, its picture with --figure."""
    known = catalogue()
    if not exhibit:
        listed = pd.DataFrame([_listed(name, function) for name, function in known.items()])
        print_json(listed) if json else print_table(listed, "Exhibits", limit=len(listed), wrapped=("what", "choices"))
        return
    if exhibit not in known:
        raise SettingError("exhibit", "be one that `crowdcore show` lists", exhibit, did_you_mean(exhibit, known))
    function = known[exhibit]
    shared = {"dataset": dataset, "reference": reference, "run": run, "hide_names": hide_names}
    options = {**shared, "read": read, "accept": accept, **_choices(exhibit, function, set or [])}
    made, opened, note = call(function, options)
    several = [one for one in (made if isinstance(made, list) else [made]) if one is not None]
    if not several:
        raise DataError(f"There is no {exhibit} here", "`crowdcore show` says what it needs.")
    if only:
        several = [replace(one, table=between(one.table, *only)) for one in several]
    if len(several) > 1 and (out or figure):
        raise SettingError("exhibit", "be a single one to write to a file", exhibit)
    print_note(note)
    for one in several:
        save_exhibit(one, out, figure)
    shown = [as_drawn(one, _name_of(next(iter(opened.values())))) for one in several]
    if json:
        print_json([one.facts for one in shown] if len(shown) > 1 else shown[0].facts)
        return
    for one in shown:
        one.put()


def _name_of(subject: Any) -> str:
    """Name of the dataset that an exhibit is about, by its first argument."""
    if isinstance(subject, dict | list):  # results by name, or views of several runs
        subject = next(iter(subject.values() if isinstance(subject, dict) else subject))
    of = getattr(subject, "dataset", subject)  # of a view a dataset, of a result its name
    return of if isinstance(of, str) else str(of.name)


def _chosen(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What can be chosen of an exhibit: what it is opened with besides the shared options, and its own parameters."""
    shared = inspect.signature(show).parameters
    openers = [inspect.signature(opener, eval_str=True) for opener in openers_of(function).values()]
    extra = [p for opener in openers for p in opener.parameters.values() if p.name not in shared]
    return {p.name: p for p in (*extra, *options_of(function))}


def _listed(name: str, function: Callable[..., Any]) -> dict[str, str]:
    """A row of the list: name, first sentence, choices with their defaults."""
    words = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    of_runs = any("run" in inspect.signature(opener).parameters for opener in openers_of(function).values())
    choices = [f"{c.name}={'…' if c.default is c.empty else c.default}" for c in _chosen(function).values()]
    return {
        "exhibit": name,
        "what": " ".join(words.split()),
        "choices": " ".join([*(["--run ID"] if of_runs else []), *choices]),
    }


def _choices(exhibit: str, function: Callable[..., Any], pairs: list[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs, each as the type of the parameter; a list is given by repeating its name."""
    choices = _chosen(function)
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in choices:
            raise SettingError("--set", f"be NAME=VALUE, with a name among {', '.join(choices) or 'none'}", pair)
        given.setdefault(name, []).append(value)
    found = {}
    for name, parameter in choices.items():
        if name in given:
            found[name] = _value(name, parameter.annotation, given[name])
        elif parameter.default is parameter.empty:
            raise SettingError(name, f"be chosen: `crowdcore show {exhibit} DATASET -s {name}=…`", "nothing")
    return found


def _value(name: str, kind: Any, texts: list[str]) -> Any:
    """What is given, as the type that it is to have."""
    try:
        return TypeAdapter(kind).validate_python(texts if str(kind).startswith("tuple") else texts[-1])
    except ValidationError as error:
        raise SettingError(name, f"satisfy: {error.errors()[0]['msg'].lower()}", texts[-1]) from error
