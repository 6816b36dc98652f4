"""`crowdcore runs …`: start, list, compare and manage the runs of the workspace."""

from __future__ import annotations

import json as json_module
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer

from crowdcore import runs
from crowdcore.cli import _command as opt
from crowdcore.cli._command import full_id
from crowdcore.cli._output import jsonable, print_json, print_table, save_table, say
from crowdcore.cli.train import ListPresets, OptionalDataset, PresetName, choose_runs
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.data import CrowdDataset
from crowdcore.data.report import plural
from crowdcore.runs.run import leading

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
    _check_method(opened, old.method, old.settings | changes, old.accept)
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
    """Make the spec of a run; ``tried``: settings that a search varies."""
    _check_method(opened, method, given | dict(tried or {}), accept)
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


def _check_method(dataset: Labelled, method: str, given: dict[str, Any], accept: bool) -> None:
    """Refuse a method or settings now that the run's process would refuse later."""
    from crowdcore.learning import split_settings
    from crowdcore.learning.api import method_for
    from crowdcore.learning.embedding import check_inputs

    split_settings(method_for(dataset, method), given)
    if isinstance(dataset, CrowdDataset):
        check_inputs(dataset, accept, str(given.get("backbone", "mlp")))


def _values(text: str) -> tuple[str, Range | Choice]:
    """Parse ``NAME=LOW:HIGH[:log]`` or ``NAME=[…]``."""
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
    """Return a value to check the setting's bounds with."""
    if isinstance(values, runs.Choice):
        return values.values[0]
    return int(values.low) if values.integer else values.low


def _print_started(started: list[Run], json: bool) -> None:
    if json:
        print_json([{"id": run.id, "method": run.spec.method, "state": run.state} for run in started])
        return
    for run in started:
        say(f"{run.id}  {run.spec.method} on {run.spec.dataset}: {run.state}")
    say("Follow them with `crowdcore runs list`, or on the app's page Runs.")


_BEST = (
    "* highest validation accuracy (of tags: F1 of spans; of ratings: lowest error) among the runs listed with the "
    "same data and validation labels; test has no say."
)
_SHORT = 8  # digits shown
app = typer.Typer(help="Runs of the workspace (CROWDCORE_WORKSPACE, else ./workspace).", no_args_is_help=True)
for command in (start, again, search):
    app.command()(command)

RunId = Annotated[str, typer.Argument(metavar="ID", help="A run, or the beginning of its id.")]
RunIds = Annotated[list[str], typer.Argument(metavar="ID…", help="Runs, or the beginnings of their ids.")]
State = Literal["queued", "running", "finished", "failed", "cancelled"]


@app.command("list")
def list_(
    dataset: Annotated[list[str] | None, typer.Option(help="Only runs on this dataset; may be repeated.")] = None,
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Only this method; may be repeated.")
    ] = None,
    state: Annotated[State | None, typer.Option(help="Only runs in this state.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only runs with this tag; repeated: with all of them.")] = None,
    find: Annotated[str, typer.Option(help="Only runs with all these words in their name, settings, note …")] = "",
    trials: Annotated[bool, typer.Option("--with-trials", "--trials", help="Also show trials.")] = False,
    out: opt.Out = None,
    json: opt.Json = False,
) -> None:
    """List runs, newest first, with the settings in which they differ."""
    from crowdcore.data.catalogue import full_name

    if problem := runs.engine_state().problem:  # an engine that was killed while runs waited is started again
        say(f"crowdcore: {problem}", err=True)
    everything = runs.list_runs()
    matches = runs.matching(
        everything,
        datasets=[full_name(name) for name in dataset or ()],
        methods=method or (),
        states=[state] if state else (),
        tags=tag or (),
        words=find,
        trials=trials,
    )
    if out:
        table = runs.run_table(matches)
        save_table(table.assign(started=table["started"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")), out)
    if json:
        best, differ = runs.best_runs(matches), runs.differing(matches)
        print_json([_facts(run) | {"best": run.id in best, "differs_in": differ[run.id]} for run in matches])
    elif matches:
        several = any(len(run.spec.seeds) > 1 for run in matches)
        title = f"Runs; accuracies in %{', mean ± std over seeds' if several else ''}"
        print_table(
            _table(matches),
            title,
            (_BEST,) if runs.best_runs(matches) else (),
            limit=200,
            wrapped=("name", "settings", "tags", "note"),
        )
    elif everything:
        say(f"None of {plural(len(everything), 'run')} matches these filters.")
    else:
        say("There are no runs here yet: start some with `crowdcore runs start`, or on the app's page Runs.")


@app.command()
def show(run_id: RunId, json: opt.Json = False) -> None:
    """Show everything about one run, with the command that computes it again."""
    run = runs.get_run(full_id(run_id))
    facts = _facts(run)
    if json:
        print_json(facts)
        return
    nested = ("spec", "parameters", "scores")
    plain = {k: v for k, v in facts.items() if k not in nested}
    for part in nested:
        plain |= {"device asked for" if k == "device" else k: v for k, v in facts[part].items()}
    print_table(pd.DataFrame({"": list(plain), " ": [str(v) for v in plain.values()]}), f"Run {run.id}", limit=200)


@app.command()
def log(
    run_id: RunId, lines: Annotated[int, typer.Option("--lines", "-n", min=1)] = 40, json: opt.Json = False
) -> None:
    """Show the last lines that a run's process wrote."""
    log_lines = runs.log_lines(full_id(run_id), lines)
    _answer(log_lines, "\n".join(log_lines), json)


@app.command()
def diff(run_ids: RunIds, out: opt.Out = None, json: opt.Json = False) -> None:
    """Show in which settings, data, seeds and devices some runs differ."""
    compared = [runs.get_run(i) for i in dict.fromkeys(map(full_id, run_ids))]
    if len(compared) < 2:
        raise CrowdError("Name a second run to compare with.")
    frame = runs.settings_table(compared)
    if out:
        save_table(frame, out)
    if json:
        print_json(frame)
    elif len(frame):
        print_table(frame, plural(len(compared), "run"), limit=200)
    else:
        say("These runs have the same settings, seeds and data.")


@app.command()
def rename(
    run_id: RunId,
    name: Annotated[str, typer.Argument(help="The new name; '' restores the original name.")],
    json: opt.Json = False,
) -> None:
    """Name a run."""
    runs.rename(full := full_id(run_id), name)
    _show_marks([full], json)


@app.command()
def note(
    run_id: RunId,
    text: Annotated[str, typer.Argument(help="Replaces the previous note; '' deletes it.")],
    json: opt.Json = False,
) -> None:
    """Write a note about a run."""
    runs.set_note(full := full_id(run_id), text)
    _show_marks([full], json)


@app.command()
def tag(
    run_ids: RunIds,
    add: Annotated[list[str] | None, typer.Option(help="Add this tag; may be repeated.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Remove this tag; may be repeated.")] = None,
    json: opt.Json = False,
) -> None:
    """Add tags to runs, or remove them."""
    if not add and not remove:
        raise CrowdError("No tag was named: pass --add TAG or --remove TAG.")
    runs.change_tags(ids := [full_id(i) for i in run_ids], add or (), remove or ())
    _show_marks(ids, json)


@app.command()
def cancel(
    run_ids: RunIds,
    now: Annotated[
        bool, typer.Option("--now", help="Do not wait for the end of the epoch; keep the last checkpoint.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """End runs after their current epoch; their results so far are kept."""
    ids = [full_id(i) for i in run_ids]
    for run_id in ids:
        runs.cancel(run_id, now=now)
    if json:
        print_json([{"id": run_id, "state": runs.get_run(run_id).state} for run_id in ids])
    else:
        say("\n".join(f"Run {run_id} is being cancelled." for run_id in ids))


@app.command()
def resume(run_id: RunId, json: opt.Json = False) -> None:
    """Resume a failed or cancelled run from its last checkpoint."""
    run = runs.resume(full_id(run_id))
    _answer({"id": run.id, "state": run.state}, f"Run {run.id} is queued again.", json)


@app.command()
def delete(
    run_ids: RunIds,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: opt.Json = False,
) -> None:
    """Delete runs with their results, after asking."""
    doomed = [runs.get_run(i) for i in dict.fromkeys(map(full_id, run_ids))]
    if not yes:
        for run in doomed:
            say(f"{run.id}  {run.title} on {run.spec.dataset}, {run.state}")
        if not typer.confirm(f"Delete {plural(len(doomed), 'run')} and what they wrote?"):
            raise CrowdError("Nothing was deleted.")
    runs.delete([r.id for r in doomed])
    _answer({"deleted": [r.id for r in doomed]}, f"Deleted {plural(len(doomed), 'run')}.", json)


@app.command()
def export(
    run_id: RunId,
    folder: Annotated[Path, typer.Argument(help="Where to write.")],
    kind: Annotated[
        Literal["torch", "onnx"], typer.Option(help="Tensors with a script that needs no crowdcore, or ONNX.")
    ] = "torch",
    json: opt.Json = False,
) -> None:
    """Write a run's classifier for use elsewhere."""
    written = [str(p) for p in runs.export_model(full_id(run_id), folder, kind)]
    _answer({"written": written}, "\n".join(written), json)


@app.command()
def predictions(run_id: RunId, out: opt.Out = None, json: opt.Json = False) -> None:
    """Show class and probabilities of every task, the mean over seeds."""
    frame = runs.predictions(full_id(run_id))
    if out:
        save_table(frame, out)
    if json:
        print_json(frame)
    elif not out:
        print_table(frame)


def _answer(facts: object, words: str, json: bool) -> None:
    """Print an answer as JSON or in words."""
    print_json(facts) if json else say(words)


def _facts(run: Run) -> dict[str, Any]:
    return {**jsonable(run), "spec": run.spec.model_dump(mode="json"), "command": runs.command_line(run.spec)}


def _show_marks(run_ids: list[str], json: bool) -> None:
    """Print the current name, note and tags of runs."""
    marked = [runs.get_run(run_id) for run_id in run_ids]
    facts = [{"id": run.id, "name": run.name, "note": run.note, "tags": run.tags} for run in marked]
    lines = [f"{run.id}  {' | '.join(filter(None, (run.title, ', '.join(run.tags), run.note)))}" for run in marked]
    _answer(facts, "\n".join(lines), json)


def _table(rows: Sequence[Run]) -> pd.DataFrame:
    """Table of runs for people, without empty columns."""
    frame = runs.run_table(rows)
    shown = pd.DataFrame(
        {
            "id": frame["id"].str[:_SHORT],
            "name": frame["name"],
            "dataset": frame["dataset"],
            "method": frame["method"],
            "settings": frame["settings"],
            "seeds": frame["seeds"],
            "state": [f"running, {run.at}" if run.state == "running" else run.state for run in rows],
            "test selected": [_score(run, "test", "selected") for run in rows],
            "test last": [_score(run, "test", "last") for run in rows],
            "validation": np.where(frame["best"], "* ", "") + [_score(run, "valid", "selected") for run in rows],
            "seconds": frame["seconds"].round(1),
            "started": [run.started.astimezone().strftime("%Y-%m-%d %H:%M") if run.started else "" for run in rows],
            "tags": frame["tags"],
            "note": [(run.note or run.message).partition("\n")[0][:60] for run in rows],
        }
    )
    empty = [name for name in ("name", "settings", "tags", "note") if not shown[name].any()]
    return shown.drop(columns=empty)


def _score(run: Run, split: str, at: str) -> str:
    """Format the accuracy in %; for tags and ratings their own measure with its name, if recorded."""
    measure = leading(run.scores)
    score = f"{split}_{measure.name}_{at}" if measure else ""
    if measure is None or measure.name == "accuracy" or score not in run.scores or not run.has_result:
        return _spread(run, f"{split}_accuracy_{at}")
    return f"{measure.words} {measure.format(run.scores, score)}"


def _spread(run: Run, score: str) -> str:
    """Format a score of a run's result in %, mean ± standard deviation over seeds."""
    mean, std = (100 * run.scores.get(name, np.nan) for name in (score, f"{score}_std"))
    if np.isnan(mean) or not (run.has_ended and run.has_result):
        return "–"
    return f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")
