"""Options in, tables and exit codes out."""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
import typer
from rich.console import Console

import crowdcore as cc
from crowdcore.cli import _commands, app
from crowdcore.cli._command import Drawn, Shown, command
from crowdcore.cli._output import Printed, in_command, print_table
from crowdcore.core.errors import Remedy
from crowdcore.core.spelling import log_visibly, visible
from crowdcore.data import CrowdDataset
from crowdcore.exhibits import View

FRAME = pd.DataFrame({"worker": ["w1", "w2"], **{f"quantity_{i}": [i, 1000.5 + i] for i in range(20)}})
WORDS = "The labels look like guesses, and contradicts is a long word here."


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """``printed()``: the output since the last call, without bold and colours."""
    return lambda: re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``terminal(80)``: from now on, output goes to a terminal of 80 columns."""

    def wide(columns: int) -> None:
        monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))
        monkeypatch.setenv("COLUMNS", str(columns))

    return wide


def test_columns_that_do_not_fit_are_named_and_no_cell_is_cut(terminal, printed) -> None:
    terminal(80)
    print_table(FRAME)
    said = printed()
    table, rest = said.split("… and ")
    shown = [name for name in FRAME.columns if f" {name} " in table]
    assert shown == list(FRAME.columns[: len(shown)]) and len(shown) > 2
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table
    named = " ".join(rest.split())
    assert named.startswith(f"{21 - len(shown)} more columns: {FRAME.columns[len(shown)]}, ")
    assert named.endswith("writes them all.") and "quantity_19" in named


def test_names_and_cells_of_several_words_are_not_cut_either(terminal, printed) -> None:
    words = FRAME.rename(columns=lambda name: name.replace("_", " of kind ")).assign(worker=["ann lee", "ben 王 jr"])
    print_table(words)
    piped = printed()
    assert "…" not in piped and [name for name in words if name not in piped] == []
    terminal(80)
    print_table(words)
    assert "…" not in printed().split("… and ")[0]


def test_words_keep_their_column_and_are_not_cut(terminal, printed) -> None:
    terminal(60)
    print_table(FRAME.assign(reason=WORDS), wrapped=["reason"])
    table = printed().split("… and ")[0]
    assert "reason" in table
    assert [word for word in WORDS.split() if word not in table] == []


def test_a_pipe_gets_all_columns(printed) -> None:
    print_table(FRAME.head(1))
    head = printed().splitlines()[1]
    assert [name for name in FRAME.columns if name not in head] == []


def test_a_terminal_of_one_column_still_gets_a_table(terminal, printed) -> None:
    terminal(20)
    print_table(FRAME)
    assert "and 20 more columns" in " ".join(printed().split())


def test_an_empty_table_says_so(printed) -> None:
    print_table(FRAME.head(0), "Shared mistakes", notes=("Nobody errs.",))
    assert printed() == "Shared mistakes: none\nNote: Nobody errs.\n"


RATED = "task,worker,label\na,ann,1\na,ann,2\nb,ben,3\n"
RANGE = ("--read", "low=1", "--read", "high=3")


@pytest.mark.parametrize(
    ("remedy", "option"),
    [
        (Remedy(("task", "worker")), "pass --read task=… and --read worker=…"),
        (Remedy("missing", ["-1"]), """pass --read 'missing=["-1"]'"""),
        (Remedy("repeats", ("first", "last")), "pass --read repeats=first or --read repeats=last"),
        (Remedy(("task", "worker"), ["q", "1"]), "pass --read task=q and --read worker=1"),
        (Remedy("task", ["doc_id", "sent_id"]), """pass --read 'task=["doc_id", "sent_id"]'"""),
        (Remedy("label", "given label"), "pass --read 'label=given label'"),
        (Remedy("header", False), "pass --read header=false"),
        (Remedy("label", "a\x1b[31m"), """pass --read 'label="a\\u001b[31m"'"""),
        (Remedy("select_on", "none", of="method"), "pass --set select_on=none"),
        (Remedy.accept(), "pass --accept"),
        (Remedy.read_as("ratings"), "use `crowdcore ratings`"),
        (Remedy.take_reference("mean"), "pass --reference mean"),
    ],
)
def test_a_remedy_as_an_option(remedy: Remedy, option: str) -> None:
    assert in_command(remedy) == option


def test_findings_name_options_too(run, tmp_path) -> None:
    (tmp_path / "alone.csv").write_text("task,worker,label\n" + "".join(f"{k},ann,x\n" for k in range(12)))
    assert "pass --read task=…" in run("examine", tmp_path / "alone.csv").out


@pytest.mark.parametrize(
    ("command", "argument", "got"),
    [
        ("aggregate rated.csv -m nope {}", "aggregator", "nope"),
        ("tasks rated.csv --worker anne {}", "worker", "anne"),
        ("export rated.csv x.conll {}", "target", "x.conll"),
        ("info rated.csv --read levels=[a,b]", "--read levels", "[a,b]"),
    ],
)
def test_refused_options_of_ratings(refused, rated, command, argument, got) -> None:
    words = [w for word in command.split() for w in (RANGE if word == "{}" else [word])]
    error = refused("ratings", *words)
    assert (error.argument, error.got) == (argument, got)


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("info rated.csv", {"low", "high"}),
        ("info demo", {"kind"}),
        ("export rated.csv wide.csv --wide {}", {"repeats"}),
    ],
)
def test_remedies_of_ratings(refused, rated, command, settings) -> None:
    words = [w for word in command.split() for w in (RANGE if word == "{}" else [word])]
    assert settings <= {name for remedy in refused("ratings", *words).remedies for name in remedy.settings}


@pytest.fixture
def rated(tmp_path, monkeypatch) -> None:
    """A folder with rated.csv, to work in."""
    (tmp_path / "rated.csv").write_text(RATED)
    monkeypatch.chdir(tmp_path)


WORKER, TASK, LABEL = "an\x1b[31mn", "t\x9b2Ja", "c\u202ea\x07t"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(tmp_path):
    file = tmp_path / "votes.csv"
    rows = [
        (f"{TASK}{n}", f"{WORKER}{w}", f"{LABEL}{(n + w * n) % 2}", f"{LABEL}{n % 2}")
        for n in range(12)
        for w in (1, 2)
    ]
    text = "task,worker,label,gold\n" + "".join(",".join(row) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("command", ["examine", "info", "mistakes", "quality", "check", "marks", "aggregate"])
def test_no_command_prints_what_a_terminal_obeys(run, hostile, command: str) -> None:
    done = run(command, hostile)
    assert not OBEYED.search(done.out + done.err)
    assert "\\x1b[31m" in done.out + done.err or command in ("mistakes", "marks", "aggregate", "check")


def test_json_stays_json(run, hostile) -> None:
    done = run("info", hostile, "--json")
    assert not OBEYED.search(done.out)
    assert json.loads(done.out)["examples"][0][0].startswith(WORKER)


def test_a_log_line(capsys) -> None:
    log_visibly("test-of-logs")
    try:
        raise ValueError(WORKER)
    except ValueError:
        logging.getLogger("test-of-logs").exception("could not read %s", LABEL)
    logged = capsys.readouterr().err
    assert visible(WORKER) in logged and visible(LABEL) in logged and not OBEYED.search(logged)


@pytest.mark.parametrize(
    ("command", "argument", "got"),
    [
        ("info demoo", "name", "demoo"),
        ("aggregate demo -m dawid-skeen", "aggregator", "dawid-skeen"),
        ("aggregate demo -m dawid-skene --set smoothing=-1", "smoothing", "-1"),
        ("aggregate demo --set smoothing", "--set", "smoothing"),
        ("mistakes demo --reference dawid-skeen", "--reference", "dawid-skeen"),
        ("mistakes demo --reference GOLD", "--reference", "GOLD"),
        ("rounds demo", "by", ""),
        ("rounds demo demo --by halves", "rounds", ""),
        ("rounds demo --by shift", "by", "shift"),
        ("rounds demo --by shift --hide-names", "by", "shift"),
        ("train --preset labelme-tabel", "preset", "labelme-tabel"),
        ("train demo --preset labelme-table -m conal", "--method", ""),
        ("train", "DATASET", ""),
        ("marks demo --unclear 0 --comment caf\udce9", "comment", ""),
    ],
)
def test_what_is_refused_names_its_argument(refused, command, argument, got) -> None:
    error = refused(*command.split())
    assert error.argument == argument
    assert not got or str(error.got) in (got, f"{got}.0")


def test_a_misspelled_setting_of_a_reference_is_named(refused) -> None:
    error = refused("mistakes", "demo", "--reference", "dawid-skene smothing=1")
    assert (error.argument, error.got) == ("a setting of dawid-skene", "smothing")


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
        options_of = options(entry)
        assert all(short[one] in options_of[one].opts for one in short if one in options_of), name
        assert {given.help for one, given in options_of.items() if one == "--seed"} <= {
            "Exactly this seed; may be repeated."
        }
    kinds = {options_of["--out"].help for options_of in map(options, commands.values()) if "--out" in options_of}
    assert len(kinds) == 3  # a table, a folder, and the one or other for `simulate`


def test_commands_are_in_groups_and_a_former_name_still_works(run: Any) -> None:
    out = run("-h").out
    places = [out.index(f" {group} ") for group in ("Look", "Infer", "Learn", "Run", "Share")]
    assert places == sorted(places)
    assert "compute-worker" in out and "\n│ worker" not in out
    former = run("worker", "-h")
    assert former.out == run("compute-worker", "-h").out.replace("compute-worker", "worker") or former.code == 0
    assert "crowdcore compute-worker" in former.err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("crowdcore co", {"coordinated", "compare", "compute-worker"}), ("crowdcore info de", {"demo"})],
)
def test_a_shell_completes_names_of_commands_and_datasets(typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    values = {"_CROWDCORE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    code = "import sys; sys.argv[0] = 'crowdcore'; from crowdcore.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **values}, capture_output=True, text=True, check=False
    )
    assert set(done.stdout.split()) == offered, done.stderr


def test_a_free_port_and_no_browser_are_passed_on(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, arguments: started.append(arguments))
    run("app", "--no-browser")
    run("app")
    assert ["--server.headless=true" in arguments for arguments in started] == [True, False]
    port = int(started[0][6].removeprefix("--server.port="))
    with socket.create_server(("localhost", port)):
        run("app", "--no-browser")
        assert f"http://localhost:{port + 1}" in run("app", "--port", str(port + 1)).out
    assert int(started[2][6].removeprefix("--server.port=")) > port


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
