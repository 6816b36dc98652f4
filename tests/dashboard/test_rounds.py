"""Two rounds: the answer first; rounds are parts of the dataset, or another one."""

from __future__ import annotations

from tests.dashboard.app_page import open_page, table, words


def test_halves_of_the_crowd_do_not_differ_beyond_noise() -> None:
    test = open_page("rounds", dataset="demo", by="halves", at="1")
    assert not test.exception
    assert not test.error
    assert "Nothing changed beyond noise." in words(test)
    assert table(test, "what")["what"].iloc[0] == "labels that are right"


def test_another_dataset_is_the_second_round() -> None:
    test = open_page("rounds", dataset="demo", by="another dataset")
    assert "Choose the second round" in words(test)
    options = next(box.options for box in test.selectbox if box.label == "Second round")
    if options:
        test = open_page("rounds", dataset="demo", by="another dataset", second=options[0])
        assert not test.exception
