"""Output fits the terminal, leaves nothing out unsaid, names options, and obeys nothing that comes from data."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable

import pandas as pd
import pytest
from rich.console import Console

from crowdcore.cli._output import in_command, print_table
from crowdcore.core.errors import Remedy, SettingError
from crowdcore.core.spelling import log_visibly, visible

FRAME = pd.DataFrame({"worker": ["w1", "w2"], **{f"quantity_{i}": [i, 1000.5 + i] for i in range(20)}})
WORDS = "The labels look like guesses, and contradicts is a long word here."


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """``printed()``: what was printed since, without bold and colours."""
    return lambda: re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``terminal(80)``: what is printed from now on goes to a terminal of 80 columns."""

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


def test_a_comment_that_is_no_text(refused) -> None:
    error = refused("marks", "demo", "--unclear", "0", "--comment", "caf\udce9")
    assert isinstance(error, SettingError) and error.argument == "comment"
