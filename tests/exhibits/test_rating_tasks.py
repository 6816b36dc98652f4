"""Tasks with ratings: which come first, what is said of one, names hidden and escaped, columns explained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import RatingDataset
from crowdcore.exhibits.glossary import meaning
from crowdcore.exhibits.ratings import rated_task, rated_tasks, rating_view, task_ratings
from tests.exhibits.test_contract import NAMES, strings, texts
from tests.rated_crowd import rated_crowd


@pytest.fixture(scope="module")
def crowd() -> RatingDataset:
    plain, _ = rated_crowd(80, 6, 3)
    rating = plain.rating.copy()
    rating[plain.task_start[11]] += 1.5
    names = pd.Index([f"<x>anna{n}</x>" for n in range(6)])
    return replace(plain, worker_ids=names, rating=rating, extra=None)


def test_the_task_of_a_slip_comes_first_and_its_rating_is_called_surprising(crowd: RatingDataset) -> None:
    view = rating_view(crowd)
    listed = rated_tasks(view)
    assert listed.table["task"].iloc[0] == "t11"
    assert listed.click is not None and listed.click(11) == {"task": "t11"}
    shown = task_ratings(view, "t11").table
    assert shown["surprising"].tolist().count("yes") == 1
    assert shown["surprising"].loc[crowd.worker[crowd.task_start[11]]] == "yes"
    assert rated_tasks(view, "spread").table["spread of ratings"].is_monotonic_decreasing


def test_one_task_has_gold_an_estimate_with_its_interval_and_what_workers_said(crowd: RatingDataset) -> None:
    view = rating_view(crowd)
    found, rows = rated_task(view, "t5"), crowd.task == 5
    assert found.reference == crowd.gold[5]
    assert found.low < found.estimate < found.high
    assert found.mean == pytest.approx(crowd.rating[rows].mean())
    assert found.spread == pytest.approx(crowd.rating[rows].std(ddof=1))
    table = task_ratings(view, "t5").table
    assert table["rating − gold"].tolist() == pytest.approx((crowd.rating[rows] - crowd.gold[5]).tolist())
    assert np.allclose(table["rating"] - table["usual bias"], table["without it"])
    with pytest.raises(DataError, match="has no task 'nope'"):
        rated_task(view, "nope")


def test_of_one_worker_those_it_rated_and_of_two_those_that_both_did(crowd: RatingDataset) -> None:
    view = rating_view(crowd)
    one, other = view.workers[:2]
    own = [set(crowd.task[crowd.worker == n]) for n in range(2)]
    listed = rated_tasks(view, worker=one).table
    assert set(listed.index) == own[0]
    assert listed["its p value"].is_monotonic_increasing
    assert set(rated_tasks(view, worker=one, other=other).table.index) == own[0] & own[1]
    with pytest.raises(SettingError, match="nobody"):
        rated_tasks(view, worker="nobody")


@pytest.mark.parametrize("reference", ["gold", "mean", "median", "raykar-em"])
def test_names_are_hidden_and_escaped_and_columns_explained(crowd: RatingDataset, reference: str) -> None:
    plain, hidden = (rating_view(crowd, reference, hidden=hide) for hide in (False, True))
    exhibit = task_ratings(plain, "t5")
    assert exhibit.figure is not None
    assert not [text for text in strings(exhibit.figure.to_plotly_json()) if NAMES.search(text)]
    worker = hidden.workers[0]
    for made in (task_ratings(hidden, "t5"), rated_tasks(hidden, worker=worker)):
        assert "anna" not in texts(made)
        assert [str(c) for c in made.table if not meaning(str(c))] == []


def test_a_task_that_nobody_rated_has_a_page_without_ratings(crowd: RatingDataset) -> None:
    view = rating_view(crowd.where(crowd.task != 5))
    assert rated_task(view, "t5").n_ratings == 0
    assert np.isnan(rated_task(view, "t5").mean)
    assert "t5" not in set(rated_tasks(view).table["task"])
    assert len(task_ratings(view, "t5").table) == 0


def test_words_that_ratings_stand_for_are_on_the_axis_and_the_mean_is_not_held_against_itself() -> None:
    frame = pd.DataFrame([(t, w, word) for t in "ab" for w, word in zip("xyz", ["bad", "fair", "good"], strict=True)])
    frame.columns = ["task", "worker", "rating"]
    view = rating_view(cc.ratings_from_frame(frame, levels=["bad", "fair", "good"], accept=True))
    figure = task_ratings(view, "a").figure
    assert figure is not None
    assert list(figure.layout.xaxis.ticktext) == ["bad", "fair", "good"]
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 3]
    assert "mean − mean" not in rated_tasks(view, "error").table
