"""The page Reproduction in-process: finished tables, and commands for the missing ones."""

from __future__ import annotations

import pytest

from tests.dashboard.app_page import open_page, table, words

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def test_paper_beside_ours_and_the_command():
    test = open_page("reproduction", dataset="crowd", entry="conal-fig7", scale="small")
    assert [error.value for error in test.error] == []
    assert "2 of 2 rows" in words(test)
    assert "crowdcore reproduce conal-fig7 --scale small" in words(test)
    assert set(table(test, "paper")["ours"]) == {"not run yet"}
    assert set(table(test, "paper")["why different"]) == {"[1]"}
    assert "[1] Different on asymmetric, symmetric" in words(test)
    private = open_page("reproduction", dataset="crowd", entry="trace-fig7")
    assert "crowdcore reproduce" not in words(private)
    assert table(private, "paper")["paper"].iloc[0] == "75.57 ± 0.16"


def test_a_dataset_that_is_not_here_is_fetched():
    test = open_page("reproduction", dataset="crowd", entry="conal-fig1")
    assert table(test, "paper")["ours"].iloc[0] == "not run"
    assert "labelme is not here" in words(test)
