"""The page Ratings in-process: its views, what was left out, and how an upload of ratings is chosen."""

from __future__ import annotations

import io

import pytest

from dashboard.services import datasets, uploads
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


def test_every_view_is_drawn_and_says_what_was_left_out(rated):
    shown = {"bias": "ICC(1)", "shared": "Reference: gold", "pairs": "10 common tasks", "truth": "raykar-em"}
    for view, said in shown.items():
        test = open_page("ratings", dataset="rated", view=view)
        assert not test.exception
        assert not test.error
        tables = "".join(frame.value.to_csv() for frame in test.dataframe)
        assert said in words(test) + tables
        assert "outside -2…3" in words(test)
    assert "60 tasks · 5 workers" in words(test)
    assert "179 ratings from -2 to 3" in words(test)
    assert "Reference: mean" in words(open_page("ratings", dataset="rated", reference="mean", view="shared"))


def test_names_are_hidden(rated):
    test = open_page("ratings", dataset="rated", names="hidden", view="pairs")
    assert not test.error
    tables = "".join(frame.value.to_csv() for frame in test.dataframe)
    assert "w0" not in words(test) + tables


def test_uploaded_ratings_are_chosen_like_any_other_dataset():
    rows = "".join(f"t{n},{who},{1 + (n + ord(who)) % 5}\n" for n in range(6) for who in "xyz")
    path = uploads.receive("stars.csv", io.BytesIO(f"task,worker,label\n{rows}".encode()))
    how = (("high", 5.0), ("kind", "ratings"), ("low", 1.0))
    name = uploads.accept(uploads.examine(path, how), path, how)
    assert name in datasets.names()
    test = open_page("ratings", dataset=name)
    assert not test.exception
    assert not test.error
    assert "18 ratings from 1 to 5" in words(test)


def test_a_crowd_of_classes_is_told_which_datasets_are_ratings(rated):
    test = open_page("ratings", dataset="demo")
    assert not test.exception
    assert "demo are classes" in words(test)
    assert datasets.rating_datasets() == ["rated"]
