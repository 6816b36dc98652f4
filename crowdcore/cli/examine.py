"""`crowdcore examine`: what a file holds, and what would be dropped or merged, before anything is taken in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Json, Read, settings
from crowdcore.cli._output import print_json


def examine(
    path: Annotated[Path, typer.Argument(help="A file or a dataset folder.")], read: Read = None, json: Json = False
) -> None:
    """Report how a file is understood: format, columns, classes, and every row that would be dropped or merged."""
    from crowdcore.data import examine as examine_file

    report = examine_file(path, **settings(read, "--read")).report
    print_json(report.as_dict()) if json else print(report.text())
