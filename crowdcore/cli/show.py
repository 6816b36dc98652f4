"""`crowdcore show`: any figure or table of the app's pages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from pydantic import TypeAdapter, ValidationError

from crowdcore.cli._options import Accept, Figure, HideNames, Json, Out, Read, ReferenceName, open_labels
from crowdcore.cli._output import print_json, print_table, save_exhibit
from crowdcore.cli._runs import full_id, reference_named
from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.data import CrowdDataset, RatingDataset
from crowdcore.data.pseudonyms import hide_names as without_names
from crowdcore.data.ratings import Labelled
from crowdcore.data.tags import need_tags
from crowdcore.exhibits import Exhibit, View, between, view
from crowdcore.exhibits.catalogue import catalogue

_LONG = 40  # letters beyond which a column takes several lines


def show(
    exhibit: Annotated[str, typer.Argument(help="What to show; without it, all that can be shown is listed.")] = "",
    dataset: Annotated[str, typer.Argument(help="Name of a dataset (see `crowdcore datasets`) or a path.")] = "demo",
    reference: ReferenceName = "",
    set: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="An option, as listed; repeatable, also for lists."),
    ] = None,
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="ID", help="A run, for exhibits of results; repeatable.")
    ] = None,
    only: Annotated[
        tuple[str, float, float] | None,
        typer.Option(
            "--between", metavar="COLUMN MIN MAX", help="Only rows with a value in this range; inf: no limit."
        ),
    ] = None,
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Show a figure or table of the app's pages: its numbers here, its picture with --figure."""
    known = catalogue()
    if not exhibit:
        listed = pd.DataFrame([_listed(name, function) for name, function in known.items()])
        print_json(listed) if json else print_table(listed, "Exhibits", limit=len(listed), wrapped=("what", "choices"))
        return
    if exhibit not in known:
        raise SettingError("exhibit", "be one that `crowdcore show` lists", exhibit, did_you_mean(exhibit, known))
    function, ds = known[exhibit], open_labels(dataset, read, accept)
    _refuse_other_labels(exhibit, function, ds)
    pairs, of_run = _apart(function, set or [])
    given = _subject(function, ds, reference, hide_names, run or [], of_run)
    hidden = {"hidden": hide_names} if "hidden" in inspect.signature(function).parameters else {}
    made = function(*given, **_choices(exhibit, function, pairs), **hidden)
    several = [one for one in (made if isinstance(made, list) else [made]) if one is not None]
    if not several:
        raise DataError(f"There is no {exhibit} here", "`crowdcore show` says what it needs.")
    if only:
        several = [replace(one, table=between(one.table, *only)) for one in several]
    if len(several) > 1 and (out or figure):
        raise SettingError("exhibit", "be a single one to write to a file", exhibit)
    for one in several:
        save_exhibit(one, out, figure)
    if json:
        print_json([_told(one) for one in several] if len(several) > 1 else _told(several[0]))
        return
    for one in several:
        long = [c for c in one.table if one.table[c].astype(str).str.len().max() > _LONG]
        print_table(one.table, f"{ds.name}: {one.title}", one.notes, wrapped=long)


def _refuse_other_labels(exhibit: str, function: Callable[..., Any], dataset: Labelled) -> None:
    """Say so where an exhibit is about classes and the labels are numbers, or the other way round."""
    kinds = inspect.signature(function).parameters.values()
    about = next(iter(kinds)).annotation
    if isinstance(dataset, CrowdDataset) and inspect.unwrap(function).__module__ == "crowdcore.exhibits.spans":
        need_tags(dataset)
    numbers = isinstance(dataset, RatingDataset)
    if about != "AnyResults" and numbers != about.startswith("Rating"):
        what = ("classes", "numbers")[numbers]
        raise DataError(
            f"The labels of {dataset.name} are {what}, which {exhibit} is not about",
            "`crowdcore ratings` and the exhibits rating-… are about numbers, all others about classes and tags.",
        )


def _told(one: Exhibit) -> dict[str, Any]:
    return {"name": one.name, "title": one.title, "notes": one.notes, "table": one.table}


def _listed(name: str, function: Callable[..., Any]) -> dict[str, str]:
    """A row of the list: name, first sentence, choices with their defaults."""
    of, *choices = inspect.signature(function).parameters.values()
    words = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    trained = any(kind in str(p.annotation) for p in (of, *choices) for kind in ("Result", "RunView"))
    needs = "--run ID" if trained else ""
    needs += " seed=None at=selected part=" if "RunView" in str(of.annotation) else ""
    plain = (f"{c.name}=…" if c.default is c.empty else f"{c.name}={c.default}" for c in choices if _choosable(c))
    return {"exhibit": name, "what": " ".join(words.split()), "choices": " ".join(filter(None, [needs, *plain]))}


def _choosable(parameter: inspect.Parameter) -> bool:
    of = ("CrowdDataset", "RatingDataset", "RatingsResult", "RunView", "Source", "Reference")
    return parameter.name != "hidden" and not any(kind in str(parameter.annotation) for kind in of)


def _subject(
    function: Callable[..., Any],
    dataset: Any,
    reference: str,
    hidden: bool,
    runs: list[str],
    of_run: Mapping[str, Any],
) -> list[Any]:
    """The arguments that are no choices: a view, or results and the dataset they are of."""
    given: list[Any] = []
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.annotation in ("View", "RunView", "Sequence[RunView]"):
            seen = view(dataset, reference_named(reference, dataset), hidden=hidden)
            given.append(seen if parameter.annotation == "View" else _run_views(seen, runs, of_run))
            if parameter.annotation == "RunView":
                given[-1] = given[-1][0]
        elif parameter.annotation == "RatingDataset":
            given.append(without_names(dataset) if hidden and "hidden" not in parameters else dataset)
        elif parameter.annotation == "CrowdDataset":
            given.append(without_names(dataset) if hidden else dataset)
        elif "Result" in str(parameter.annotation):
            results = _results(runs)
            single = parameter.annotation in ("TrainingResult", "RatingsResult")
            given.append(next(iter(results.values())) if single else results)
        else:
            break
    return given


def _apart(function: Callable[..., Any], pairs: list[str]) -> tuple[list[str], dict[str, Any]]:
    """The pairs that are the function's own, and what the others say of the run: its seed, its epoch, which part."""
    from crowdcore.exhibits.recovered import Epoch, Seed

    kinds = {"seed": Seed, "at": Epoch, "part": Literal["", "own"]}
    if "RunView" not in str(next(iter(inspect.signature(function).parameters.values())).annotation):
        return pairs, {}
    found = {}
    for name, _, text in (pair.partition("=") for pair in pairs if pair.partition("=")[0] in kinds):
        found[name] = _value(name, kinds[name], text)
    return [pair for pair in pairs if pair.partition("=")[0] not in kinds], found


def _run_views(seen: View, runs: list[str], of: Mapping[str, Any]) -> list[Any]:
    from crowdcore.exhibits.recovered import of_run

    return [of_run(seen, result, name, **of) for name, result in _results(runs).items()]


def _results(runs: list[str]) -> dict[str, Any]:
    """Name -> result of the runs asked for, under the names that set them apart."""
    from crowdcore import runs as recorded
    from crowdcore.learning.comparison import variation

    if not runs:
        raise SettingError("--run", "be given: this exhibit is about trained models", "nothing")
    ids = [full_id(one) for one in runs]
    return variation.name_runs([recorded.learnt(i) for i in ids], [recorded.get_run(i).name for i in ids])


def _choices(exhibit: str, function: Callable[..., Any], pairs: list[str]) -> Mapping[str, Any]:
    """``NAME=VALUE`` pairs as the function's arguments, each of its type."""
    kinds = inspect.get_annotations(inspect.unwrap(function), eval_str=True)
    parameters = inspect.signature(function).parameters
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in parameters:
            open_ = [p.name for p in parameters.values() if _choosable(p)][1:]
            raise SettingError("--set", f"be NAME=VALUE, with a name among {', '.join(open_) or 'none'}", pair)
        given.setdefault(name, []).append(value)
    missing = [p.name for p in list(parameters.values())[1:] if _choosable(p) and p.default is p.empty]
    for name in missing:
        if name not in given:
            raise SettingError(name, f"be chosen: `crowdcore show {exhibit} DATASET -s {name}=…`", "nothing")
    several = {name: str(kinds[name]).startswith("tuple") for name in given}
    return {name: _value(name, kinds[name], texts if several[name] else texts[-1]) for name, texts in given.items()}


def _value(name: str, kind: Any, text: str | list[str]) -> Any:
    """What is given, as the type that it is to have."""
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError as error:
        said = text if isinstance(text, str) else text[-1]
        raise SettingError(name, f"satisfy: {error.errors()[0]['msg'].lower()}", said) from error
