"""`crowdcore runs start | again | search`: training in the background, from the command line."""

from __future__ import annotations

import json as json_module
import uuid
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crowdcore import runs
from crowdcore.cli import _options as opt
from crowdcore.cli._command import full_id
from crowdcore.cli._output import print_json
from crowdcore.cli.train import ListPresets, OptionalDataset, PresetName, choose_runs
from crowdcore.core.errors import SettingError
from crowdcore.data import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.runs import Choice, Range, Run, RunSpec

_DEFAULT = "Default: conal; for ratings and tags crowd-layer."
Priority = Annotated[int, typer.Option(help="Runs with a higher one go first.")]


def start(
    dataset: OptionalDataset = None,
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help=f"A learning method; may be repeated. {_DEFAULT}")
    ] = None,
    preset: PresetName = None,
    seeds: opt.AnySeeds = None,
    seed: opt.Seed = None,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    set: opt.Settings = None,
    priority: Priority = 0,
    accept: opt.Accept = False,
    json: opt.Json = False,
    list_presets: ListPresets = False,
) -> None:
    """Train in the background: prints the runs' ids and returns at once."""
    given = opt.with_epochs(set, epochs)
    read = partial(opt.open_labels, accept=accept)
    name, opened, rows, which = choose_runs(preset, dataset, method, given, seeds or 0, seed, read)
    group = uuid.uuid4().hex[:8]
    specs = [_spec(name, opened, one, which, device, own, accept, priority, group) for _, one, own in rows]
    _print_started([runs.submit(spec) for spec in specs], json)


def again(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="A run, or the beginning of its id.")],
    set: opt.Settings = None,
    json: opt.Json = False,
) -> None:
    """Start a new run like an old one, with some settings changed."""
    old = runs.get_run(full_id(run_id)).spec
    changes = opt.settings(set)
    opened = opt.open_labels(old.dataset, accept=True)
    _checked(opened, old.method, old.settings | changes, old.accept)
    _print_started([runs.run_again(full_id(run_id), **changes)], json)


def search(
    dataset: opt.DatasetName,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="lr=0.0001:0.1:log, embedding=20:80, lr=[0.001,0.01]; may be repeated. Default: the settings that the "
            "papers choose on the validation split, between their values.",
        ),
    ] = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help=f"A learning method. {_DEFAULT}")] = None,
    trials: Annotated[int, typer.Option(min=1, help="Runs at most.")] = 20,
    sampler: Annotated[Literal["tpe", "grid", "random"], typer.Option(help="How to choose the next settings.")] = "tpe",
    seeds: opt.Seeds = 3,
    seed: opt.Seed = None,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    set: opt.Settings = None,
    accept: opt.Accept = False,
    json: opt.Json = False,
) -> None:
    """Search settings in the background; every trial is a run.

    The best has the highest validation accuracy; of tags the highest F1 of spans, of ratings the lowest RMSE.
    """
    from crowdcore.learning.learners import kind_of, usual_method
    from crowdcore.runs.searching import usually_searched

    given, opened = opt.with_epochs(set, epochs), opt.open_labels(dataset, accept=accept)
    method = method or usual_method(opened)
    space = dict(_values(text) for text in over) if over else usually_searched(method, kind_of(opened))
    tried = {name: _first(values) for name, values in space.items()}
    which = seed or range(seeds)
    spec = _spec(dataset, opened, method, which, device, given, accept, tried=tried)
    _print_started([runs.search(spec, space, trials, sampler=sampler)], json)


def _spec(
    dataset: str,
    opened: Labelled,
    method: str,
    seeds: Any,
    device: str,
    given: dict[str, Any],
    accept: bool,
    priority: int = 0,
    group: str = "",
    tried: Mapping[str, Any] | None = None,
) -> RunSpec:
    """What to train; ``tried`` are settings that a search will put in the place of these."""
    _checked(opened, method, given | dict(tried or {}), accept)
    return runs.RunSpec(
        dataset=dataset,
        fingerprint=opened.fingerprint,
        method=method,
        settings=given,
        seeds=tuple(seeds),
        device=device,
        priority=priority,
        accept=accept,
        group=group,
    )


def _checked(dataset: Labelled, method: str, given: dict[str, Any], accept: bool) -> None:
    """Refuse now what the run's process would refuse later."""
    from crowdcore.learning import split_settings
    from crowdcore.learning.api import method_for
    from crowdcore.learning.training.inputs import check_inputs

    split_settings(method_for(dataset, method), given)
    if isinstance(dataset, CrowdDataset):
        check_inputs(dataset, accept)


def _values(text: str) -> tuple[str, Range | Choice]:
    """``NAME=LOW:HIGH[:log]`` or ``NAME=[…]``."""
    name, equals, values = text.partition("=")
    refusal = SettingError("--over", "look like NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=[A,B,…]", text)
    try:
        if values.startswith("["):
            return name, runs.Choice(values=tuple(json_module.loads(values)))
        low, high, *log = values.split(":")
        if not equals or not name or log not in ([], ["log"]):
            raise refusal
        integer = all(part.lstrip("-").isdecimal() for part in (low, high))
        return name, runs.Range(low=float(low), high=float(high), log=bool(log), integer=integer)
    except SettingError:
        raise
    except ValueError:
        raise refusal from None


def _first(values: Range | Choice) -> Any:
    """A value to try the setting's bounds with."""
    if isinstance(values, runs.Choice):
        return values.values[0]
    return int(values.low) if values.integer else values.low


def _print_started(started: list[Run], json: bool) -> None:
    if json:
        print_json([{"id": run.id, "method": run.spec.method, "state": run.state} for run in started])
        return
    for run in started:
        print(f"{run.id}  {run.spec.method} on {run.spec.dataset}: {run.state}")
    print("Follow them with `crowdcore runs list`, or on the app's page Train.")
