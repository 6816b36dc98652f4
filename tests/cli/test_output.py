"""Tables fit the terminal without cutting a cell; nothing is left out unsaid."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest
from rich.console import Console

from crowdcore.cli._output import print_table

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
