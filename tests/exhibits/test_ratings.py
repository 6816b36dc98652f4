"""Exhibits of ratings: numbers, names hidden and escaped, words instead of gold where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.exhibits import Exhibit, ratings
from tests.exhibits.test_contract import NAMES, strings, texts
from tests.rated_crowd import rated_crowd

EXHIBITS = (
    *(ratings.summary, ratings.agreement, ratings.worker_bias),
    *(ratings.shared_bias, ratings.errors_alike, ratings.aggregators),
)


@pytest.fixture(scope="module")
def crowd():
    plain, _ = rated_crowd(80, 6, 3)
    return replace(
        plain,
        worker_ids=pd.Index([f"<x>anna{n}</x>" for n in range(6)]),
        notes=("1 worker with a single annotation, such as '<x>anna0</x>'.",),
    )


@pytest.mark.parametrize("make", EXHIBITS)
def test_they_have_numbers_and_hide_and_escape_names(make, crowd):
    exhibit: Exhibit = make(ratings.rating_view(crowd))
    assert len(exhibit.table)
    if exhibit.figure is not None:
        assert not [text for text in strings(exhibit.figure.to_plotly_json()) if NAMES.search(text)]
    assert "anna" not in texts(make(ratings.rating_view(crowd, hidden=True)))


def test_without_gold_the_reference_is_the_mean_and_says_so(crowd):
    view = ratings.rating_view(replace(crowd, gold=None))
    assert view.truth.name == "mean"
    assert "have in common" in ratings.shared_bias(view).notes[-1]
    assert "no gold" in " ".join(ratings.aggregators(view).notes)


def test_without_gold_no_shared_bias_is_shown_not_even_that_of_rounding(crowd):
    """7e-16 was printed for crowds without any bias."""
    shown = ratings.shared_bias(ratings.rating_view(replace(crowd, gold=None)))
    assert shown.figure is None
    assert {"bias", "low", "high", "smooth", "same sign"}.isdisjoint(shown.table)
    assert shown.table["ratings"].sum() == crowd.n_annotations
    assert "cannot be seen without gold" in shown.notes[0]


def test_who_does_not_follow_the_task_is_named(crowd):
    rating = np.where(crowd.worker == 2, 0.4 + 0.01 * np.sin(np.arange(len(crowd.task))), crowd.rating)
    flat = ratings.rating_view(replace(crowd, rating=rating))
    for shown in (ratings.worker_bias(flat), ratings.errors_alike(flat)):
        assert "does not follow the tasks" in shown.notes[0]
        assert "anna2" in shown.notes[0]
    assert ratings.worker_bias(flat).table["follows"].tolist() == ["", "", "no", "", "", ""]
    assert "anna" not in ratings.worker_bias(replace(flat, hidden=True)).notes[0]
    assert "follow" not in ratings.worker_bias(ratings.rating_view(crowd)).notes[0]


def test_what_is_not_known_is_a_dash(crowd):
    alone = replace(crowd.where(crowd.worker == 0), gold=None)
    said = dict(ratings.summary(ratings.rating_view(alone)).table.to_numpy())
    assert (said["bias against mean"], said["RMSE against mean"]) == ("–", "–")
