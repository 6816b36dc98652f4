"""Two rounds: first what they are, then the answer; they are parts of the dataset, or another one."""

from __future__ import annotations

from tests.dashboard.app_page import open_page, table, words


def test_without_rounds_the_page_asks_and_concludes_nothing() -> None:
    test = open_page("rounds", dataset="demo")
    assert not test.exception
    assert "Which labels are of the second round?" in words(test)
    assert "beyond noise" not in words(test)
    assert not test.dataframe


def test_halves_of_the_crowd_are_a_chance_check_without_a_headline() -> None:
    test = open_page("rounds", dataset="demo", by="halves", at="1")
    assert not test.exception
    assert not test.error
    assert "chance check" in words(test)
    assert "Nothing changed" not in words(test)
    assert table(test, "what")["what"].iloc[0] == "labels that are right"


def test_another_dataset_is_the_second_round() -> None:
    test = open_page("rounds", dataset="demo", by="another dataset")
    assert "Which labels are of the second round?" in words(test)
    options = next(box.options for box in test.selectbox if box.label == "Second round")
    if options:
        test = open_page("rounds", dataset="demo", by="another dataset", second=options[0])
        assert not test.exception
