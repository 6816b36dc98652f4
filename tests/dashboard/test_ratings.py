"""The page Ratings in-process: its pickers, its exhibits, and what is left out only when the user agrees."""

from __future__ import annotations

import pytest

from tests.dashboard.app_page import open_page, words
from tests.rated_crowd import rated_crowd


@pytest.fixture
def rated(tmp_path, monkeypatch):
    """A folder of ratings, one of them outside the range."""
    folder = tmp_path / "found" / "rated"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CROWDCORE_DATA", str(folder.parent))
    crowd, _ = rated_crowd(60, 5, 3)
    table = crowd.annotations.assign(gold=crowd.gold[crowd.task])
    table.loc[0, "rating"] = 9
    table.to_csv(folder / "annotations.csv", index=False)
    (folder / "classes.txt").write_text("# regression: rating on -2..3\n")


def test_ratings_open_once_the_user_agrees(rated):
    test = open_page("ratings")
    assert not test.exception
    assert "1 rating outside -2…3 would be left out: '9.0'" in words(test)
    assert not test.dataframe
    shown = {"bias": "ICC(1)", "shared": "Reference: gold", "pairs": "10 tasks", "truth": "raykar-em"}
    for view, said in shown.items():
        test = open_page("ratings", accept="yes", view=view)
        assert not test.exception
        assert not test.error
        tables = "".join(frame.value.to_csv() for frame in test.dataframe)
        assert said in words(test) + tables
    assert "60 tasks · 5 workers · 179 ratings from -2 to 3" in words(test)


def test_names_are_hidden(rated):
    test = open_page("ratings", accept="yes", names="hidden", view="pairs")
    assert not test.error
    tables = "".join(frame.value.to_csv() for frame in test.dataframe)
    assert "w0" not in words(test) + tables
