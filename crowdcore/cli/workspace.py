"""`crowdcore workspace …`: whether the folder of all runs is whole, a copy of it, and a folder out of such a copy."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Json
from crowdcore.cli._output import print_json

app = typer.Typer(help="The folder of runs and uploads (CROWDCORE_WORKSPACE, else ./workspace).", no_args_is_help=True)


@app.command()
def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild the record from the results; nothing is deleted.")
    ] = False,
    json: Json = False,
) -> None:
    """Say where record and files of the workspace do not fit together; exit code 1 when something is left to repair."""
    from crowdcore.runs import check_workspace

    found = check_workspace(repair=repair)
    if json:
        print_json([dataclasses.asdict(finding) for finding in found])
    else:
        print("\n".join(f"{one.what} {one.done}".strip() for one in found) or "Record and files fit together.")
        if found and not repair:
            print("`crowdcore workspace check --repair` puts this right.")
    if not all(finding.done for finding in found):
        raise typer.Exit(1)


@app.command()
def backup(file: Annotated[Path, typer.Argument(help="The ZIP file to write.")], json: Json = False) -> None:
    """Write record, results, checkpoints and uploads to one file, also while runs go on."""
    from crowdcore.runs import backup_workspace

    n = backup_workspace(file)
    print_json({"file": file.resolve(), "files": n}) if json else print(f"{n} files are kept in {file}.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `crowdcore workspace backup` wrote.")],
    folder: Annotated[
        Path | None, typer.Argument(help="Where, empty or not there; default: CROWDCORE_WORKSPACE, else ./workspace.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a workspace out of a backup; nothing is overwritten."""
    from crowdcore.runs import restore_workspace

    place = restore_workspace(file, folder).folder
    print_json({"folder": place}) if json else print(f"The workspace is {place}: set CROWDCORE_WORKSPACE to use it.")
