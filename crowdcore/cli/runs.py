"""`crowdcore runs …`: what was trained in the workspace, and what can be done with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import typer

from crowdcore.cli._options import Json
from crowdcore.cli._output import jsonable, print_json, print_table, save_table
from crowdcore.cli._runs import full_id, row
from crowdcore.cli._start import again, search, start
from crowdcore.core.errors import CrowdError

if TYPE_CHECKING:
    from crowdcore.runs import Run

__all__ = ["app"]

app = typer.Typer(help="Runs of the workspace (CROWDCORE_WORKSPACE, else ./workspace).", no_args_is_help=True)
for command in (start, again, search):
    app.command()(command)

RunId = Annotated[str, typer.Argument(metavar="ID", help="A run, or the beginning of its id.")]
State = Literal["queued", "running", "finished", "failed", "cancelled"]


@app.command("list")
def list_(
    dataset: Annotated[str | None, typer.Option(help="Only runs on this dataset.")] = None,
    state: Annotated[State | None, typer.Option(help="Only runs in this state.")] = None,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    from crowdcore import runs

    runs.engine_state()  # an engine that was killed while runs waited is started again
    found = runs.list_runs(dataset, state and [state])
    if json:
        print_json([_facts(r) for r in found])
    elif found:
        print_table(pd.DataFrame([row(r) for r in found]), "Runs; test accuracy in %, mean ± std over seeds")
    else:
        print("There are no runs here yet: start some with `crowdcore runs start`, or on the app's page Train.")


@app.command()
def show(run_id: RunId, json: Json = False) -> None:
    """Everything about one run, with the command that computes it again."""
    from crowdcore import runs

    run = runs.get_run(full_id(run_id))
    facts = _facts(run)
    if json:
        print_json(facts)
        return
    plain = {k: v for k, v in facts.items() if k not in {"spec", "scores"}} | facts["spec"] | facts["scores"]
    print_table(pd.DataFrame({"": list(plain), " ": [str(v) for v in plain.values()]}), f"Run {run.id}", limit=200)


@app.command()
def log(run_id: RunId, lines: Annotated[int, typer.Option("--lines", "-n", min=1)] = 40, json: Json = False) -> None:
    """The last lines that a run's process wrote."""
    from crowdcore import runs

    found = runs.log_lines(full_id(run_id), lines)
    print_json(found) if json else print("\n".join(found))


@app.command()
def cancel(run_id: RunId, json: Json = False) -> None:
    """End a run; what it has learnt by then is kept."""
    from crowdcore import runs

    found = full_id(run_id)
    runs.cancel(found)
    _say(found, "is being cancelled", json)


@app.command()
def resume(run_id: RunId, json: Json = False) -> None:
    """Let a failed or cancelled run go on from its last checkpoint."""
    from crowdcore import runs

    run = runs.resume(full_id(run_id))
    _say(run.id, "is queued again", json)


@app.command()
def delete(
    run_ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Runs, or the beginnings of their ids.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete runs with their results, after asking."""
    from crowdcore import runs

    found = [runs.get_run(full_id(i)) for i in run_ids]
    if not yes:
        for run in found:
            print(f"{run.id}  {run.spec.method} on {run.spec.dataset}, {run.state}")
        if not typer.confirm(f"Delete {len(found)} run{'s' if len(found) > 1 else ''} and what they wrote?"):
            raise CrowdError("Nothing was deleted.")
    runs.delete([r.id for r in found])
    if json:
        print_json({"deleted": [r.id for r in found]})
    else:
        print(f"Deleted {len(found)} run{'s' if len(found) > 1 else ''}.")


@app.command()
def export(
    run_id: RunId,
    folder: Annotated[Path, typer.Argument(help="Where to write.")],
    kind: Annotated[
        Literal["torch", "onnx"], typer.Option(help="Tensors with a script that needs no crowdcore, or ONNX.")
    ] = "torch",
    json: Json = False,
) -> None:
    """Write a run's classifier for use elsewhere."""
    from crowdcore import runs

    written = [str(p) for p in runs.export_model(full_id(run_id), folder, kind)]
    print_json({"written": written}) if json else print("\n".join(written))


@app.command()
def predictions(
    run_id: RunId,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file (.csv, .parquet).")] = None,
    json: Json = False,
) -> None:
    """Class and probabilities of every task, the mean over seeds."""
    from crowdcore import runs

    frame = runs.predictions(full_id(run_id))
    if out:
        save_table(frame, out)
    if json:
        print_json(frame)
    elif not out:
        print_table(frame)


def _facts(run: Run) -> dict[str, Any]:
    from crowdcore import runs

    facts: dict[str, Any] = jsonable(run)
    return facts | {"spec": run.spec.model_dump(mode="json"), "command": runs.command_line(run.spec)}


def _say(run_id: str, what: str, json: bool) -> None:
    from crowdcore import runs

    if json:
        print_json({"id": run_id, "state": runs.get_run(run_id).state})
    else:
        print(f"Run {run_id} {what}.")
