"""Commands are grouped, and an option means the same in each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from crowdcore.cli import _commands, app

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
    for name, command in commands.items():
        for option, given in options(command).items():
            kind = str(given.type_descriptor.annotation).removeprefix("list[").removesuffix("]")
            facts = kind.removeprefix("<class '").removesuffix("'>"), given.metavar
            facts += (given.help,) if option not in OF_EACH | {"--out"} else ()
            seen.setdefault(option, {}).setdefault(facts, []).append(name)
    different = {option: ways for option, ways in seen.items() if len(ways) > 1 and option not in OF_EACH}
    assert different == {}


def test_output_seeds_and_reference_are_spelled_alike(commands: dict[str, Any]) -> None:
    short = {"--out": "-o", "--reference": "-r", "--method": "-m", "--set": "-s"}
    for name, command in commands.items():
        found = options(command)
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
