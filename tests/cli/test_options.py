"""Commands are grouped, and their options come of what they show and mean the same in each."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import typer

import crowdcore as cc
from crowdcore.cli import _commands, app
from crowdcore.cli._command import Drawn, Shown, command
from crowdcore.cli._output import Printed
from crowdcore.data import CrowdDataset
from crowdcore.exhibits import View

OF_EACH = {"--method", "--kind", "--worker", "--over", "--add", "--remove"}
"""Names of what only the command says: its methods, its kinds, whose worker."""


def walk(command: Any, context: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its name."""
    if not hasattr(command, "list_commands"):
        yield " ".join(name), command
        return
    for child in command.list_commands(context):
        yield from walk(command.get_command(context, child), context, (*name, child))


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    main = _commands(app)
    return dict(walk(main, typer.Context(main)))


def options(command: Any) -> dict[str, Any]:
    """First name -> option."""
    return {(p.opts or p.secondary_opts)[0]: p for p in command.params if p.param_type_name == "option"}


def test_an_option_means_the_same_in_every_command(commands: dict[str, Any]) -> None:
    seen: dict[str, dict[tuple[Any, ...], list[str]]] = {}
    for name, entry in commands.items():
        for option, given in options(entry).items():
            kind = str(given.type_descriptor.annotation).removeprefix("list[").removesuffix("]")
            facts = kind.removeprefix("<class '").removesuffix("'>"), given.metavar
            facts += (given.help,) if option not in OF_EACH | {"--out"} else ()
            seen.setdefault(option, {}).setdefault(facts, []).append(name)
    different = {option: ways for option, ways in seen.items() if len(ways) > 1 and option not in OF_EACH}
    assert different == {}


def test_output_seeds_and_reference_are_spelled_alike(commands: dict[str, Any]) -> None:
    short = {"--out": "-o", "--reference": "-r", "--method": "-m", "--set": "-s"}
    for name, entry in commands.items():
        found = options(entry)
        assert all(short[one] in found[one].opts for one in short if one in found), name
        assert {given.help for one, given in found.items() if one == "--seed"} <= {
            "Exactly this seed; may be repeated."
        }
    kinds = {found["--out"].help for found in map(options, commands.values()) if "--out" in found}
    assert len(kinds) == 3  # a table, a folder, and the one or other for `simulate`


def test_commands_are_in_groups_and_a_former_name_still_works(run: Any) -> None:
    said = run("-h").out
    places = [said.index(f" {group} ") for group in ("Look", "Infer", "Learn", "Run", "Share")]
    assert places == sorted(places)
    assert "compute-worker" in said and "\n│ worker" not in said
    former = run("worker", "-h")
    assert former.out == run("compute-worker", "-h").out.replace("compute-worker", "worker") or former.code == 0
    assert "crowdcore compute-worker" in former.err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("crowdcore co", {"coordinated", "compare", "compute-worker"}), ("crowdcore info de", {"demo"})],
)
def test_a_shell_completes_names_of_commands_and_datasets(typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    asked = {"_CROWDCORE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    code = "import sys; sys.argv[0] = 'crowdcore'; from crowdcore.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert set(done.stdout.split()) == offered, done.stderr


def test_no_browser_is_passed_on(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, arguments: started.append(arguments))
    run("app", "--no-browser")
    run("app")
    assert ["--server.headless=true" in arguments for arguments in started] == [True, False]


def option_names(function) -> list[str]:
    return list(inspect.signature(command(function)).parameters)


def test_a_dataset_and_a_view_bring_the_options_that_open_them() -> None:
    def of_dataset(ds: CrowdDataset, target: str) -> None: ...

    def of_view(seen: View, limit: int = 3) -> Drawn: ...

    def of_neither(name: str = "") -> None: ...

    assert option_names(of_dataset) == ["dataset", "target", "read", "accept"]
    opened = ["dataset", "limit", "reference", "hide_names", "read", "accept"]
    assert option_names(of_view) == [*opened, "json", "out", "figure"]
    assert option_names(of_neither) == ["name"]


def test_what_is_opened_is_given_and_what_is_shown_is_printed_and_written(tmp_path, capsys) -> None:
    def count(ds: CrowdDataset, times: int = 1) -> Shown:
        table = pd.DataFrame({"tasks": [times * ds.n_tasks]})
        return Shown({"tasks": table}, [Printed(table, "Count")], table)

    run = command(count)
    given = {"dataset": "demo", "times": 2, "read": None, "accept": False}
    run(**given, json=False, out=tmp_path / "count.csv")
    assert pd.read_csv(tmp_path / "count.csv")["tasks"].tolist() == [3594]
    printed = capsys.readouterr().out
    assert "Count" in printed and "3594" in printed
    run(**given, json=True, out=None)
    assert '"tasks": 3594' in capsys.readouterr().out


def test_version_and_short_help(run) -> None:
    assert run("--version").out.strip() == cc.__version__
    assert run("aggregate", "-h").out == run("aggregate", "--help").out


def test_a_file_is_opened_in_the_app(run, tmp_path, monkeypatch) -> None:
    file, started = tmp_path / "votes.csv", []
    file.write_text("task,worker,label\n")
    monkeypatch.setattr("os.execv", lambda _, arguments: started.append(arguments[-1]))
    run(file)
    run("app", file)
    assert started == [str(file)] * 2
