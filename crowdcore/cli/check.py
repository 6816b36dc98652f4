"""`crowdcore check`: does a crowd keep its rules? For continuous integration of annotation projects."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Accept, HideNames, Json, Read, ends_in, open_dataset
from crowdcore.cli._output import print_json, print_table
from crowdcore.core.errors import SettingError


def check(
    dataset: Annotated[str, typer.Argument(help="Name of a dataset or a path to one.")] = "",
    rules: Annotated[
        Path | None, typer.Option(help="Rules (.yaml, .toml, .json); default: all at recommended limits.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Rules that the data cannot decide also fail.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.", callback=ends_in())] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to this file.", callback=ends_in())] = None,
    example_rules: Annotated[
        bool, typer.Option("--example-rules", help="Print a commented file of rules, and exit.")
    ] = False,
    hide_names: HideNames = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Check a crowd against rules: exit code 0 if all hold, 1 if one fails, 2 for bad input or rules."""
    from crowdcore import analysis
    from crowdcore.core.drawable import renamed
    from crowdcore.exhibits.view import worker_names

    if example_rules:
        print(analysis.example_rules())
        return
    if not dataset:
        raise SettingError("DATASET", "be given", "nothing", "`crowdcore datasets` lists those there are.")
    limits = analysis.read_rules(rules) if rules else None
    ds = open_dataset(dataset, read, accept)
    found = renamed(analysis.check(ds, limits), worker_names(ds, hide_names))
    for file, text in ((junit, analysis.junit_xml(found, strict)), (html, analysis.check_page(found, strict))):
        if file:
            file.write_text(text, encoding="utf-8")
    failed = found.failed(strict)
    if json:
        shown = {"dataset": found.dataset, "fingerprint": found.fingerprint, "reference": found.reference}
        print_json({**shown, "failed": [o.rule for o in failed], "rules": found.frame()})
    else:
        shown_columns = ["rule", "verdict", "sentence", "workers"]
        title = f"{found.dataset}: {len(failed)} of {len(found.outcomes)} rules failed (reference: {found.reference})"
        print_table(found.frame()[shown_columns], title, wrapped=("sentence", "workers"))
    sys.exit(1 if failed else 0)
