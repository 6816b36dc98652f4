"""Ratings: what is outside the range is reported, and every row is accounted for."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.data import examine_ratings
from crowdcore.data.reading.examine import rating_values


def test_the_real_ones_with_the_mean_of_their_readme(data_folder):
    with pytest.raises(cc.DataError, match=r"5 ratings outside 0…1 .*rows 1,278, 3,985, 4,225, 5,090, 6,906"):
        cc.load_ratings("movie_reviews")
    assert cc.load_ratings("movie_reviews", accept=True).n_annotations == 7435
    wide = cc.load_ratings("movie_reviews", low=-0.1, high=1.1)
    assert (wide.n_annotations, wide.n_workers, int(wide.annotated.sum())) == (7440, 135, 1500)
    mean = np.bincount(wide.task, wide.rating, wide.n_tasks)[wide.annotated] / wide.labels_per_task[wide.annotated]
    truth = wide.gold[wide.annotated]
    assert round(float(np.sqrt(np.mean((mean - truth) ** 2))), 4) == 0.0755
    assert round(float(1 - np.mean((mean - truth) ** 2) / np.var(truth)), 4) == 0.8298


def test_numbers_are_no_classes(data_folder):
    assert cc.load_dataset("movie_reviews", accept=True).kind.name == "ratings"
    with pytest.raises(cc.DataError, match=r"The labels are numbers"):
        cc.load_dataset("movie_reviews", kind="classes")


def test_every_row_is_kept_or_reported(write):
    path = write(
        "task,worker,rating,gold\na,x,1,2\na,y,9,2\na,z,good,2\n,x,2,1\nb,x,,7\nb,y,-3,7\nb,z,2.50,7\n", "stars.csv"
    )
    ratings = examine_ratings(path, low=0, high=5)
    left_out = {f.code: f.left_out for f in ratings.report.changes}
    assert left_out == {
        "rating-not-a-number": 1,
        "rating-outside-range": 2,
        "missing-task": 1,
        "missing-label": 1,
        "gold-outside-range": 0,
        "workers-without-labels": 0,
    }
    stars = ratings.dataset(accept=True)
    assert stars.rating.tolist() == [1, 2.5]
    assert stars.gold.tolist()[0] == 2
    assert np.isnan(stars.gold[1])
    assert stars.file_row.tolist() == [1, 7]
    assert "ratings from 0 to 5" in ratings.report.text()


def test_gold_that_contradicts_itself_is_unknown(write):
    path = write("task,worker,rating,gold\na,x,1,2\na,y,2,2.5\nb,x,3,-0.0\nb,y,4,0\nc,x,1,\nc,y,2,9\n", "stars.csv")
    ratings = examine_ratings(path, low=0, high=5)
    by_code = {f.code: (f.rows, f.count) for f in ratings.report.findings if "gold" in f.code}
    assert by_code == {"gold-contradicts": ((2,), 1), "gold-outside-range": ((6,), 1), "partial-gold": ((), 2)}
    assert np.isnan(ratings.dataset(accept=True).gold).tolist() == [True, False, True]
    assert ratings.dataset(accept=True).gold[1] == 0


def test_the_range_must_be_known(write):
    path = write("task,worker,rating\na,x,1\n", "stars.csv")
    with pytest.raises(cc.DataError, match=r"\(stars.csv\). Pass low=") as refused:
        cc.read_ratings(path)
    assert [remedy.setting for remedy in refused.value.remedies] == [("low", "high"), "levels"]
    with pytest.raises(cc.SettingError, match="`low` must be below `high`"):
        cc.read_ratings(path, low=2, high=1)
    with pytest.raises(cc.SettingError, match="`classes` must be left out"):
        cc.read_ratings(path, low=0, high=1, classes=["1"])


def test_words_stand_for_numbers_as_the_user_says():
    frame = pd.DataFrame({"task": list("aab"), "worker": list("xyx"), "label": ["good", " bad", "fair"]})
    rated = cc.ratings_from_frame(frame, levels=["bad", "fair", "good"], gold={"b": "good"})
    assert (rated.low, rated.high, rated.rating.tolist(), rated.gold.tolist()[1]) == (1, 3, [3, 1, 2], 3)
    assert cc.ratings_from_frame(frame, 0, 1, levels=["bad", "fair", "good"]).rating.tolist() == [1, 0, 0.5]
    with pytest.raises(cc.DataError, match="2 ratings that are no number"):
        cc.ratings_from_frame(frame.assign(label=["2,5", "3,5", "3"]), 1, 5)
    with pytest.raises(cc.DataError, match=r"1 rating .*'fair'"):
        cc.ratings_from_frame(frame, levels=["bad", "good"])


def test_repeats_are_kept_or_reduced():
    frame = pd.DataFrame({"task": list("aaab"), "worker": list("xxyx"), "rating": [1, 2, 3, 4]})
    assert cc.ratings_from_frame(frame, 0, 5).n_annotations == 4
    assert cc.ratings_from_frame(frame, 0, 5, repeats="last").rating.tolist() == [2, 3, 4]


def test_a_dataset_is_read_only_and_comes_back_from_a_pickle():
    rated = cc.ratings_from_frame(pd.DataFrame({"task": ["a"], "worker": ["x"], "rating": [0.5]}), 0, 1)
    again = pickle.loads(pickle.dumps(rated))
    assert again.fingerprint == rated.fingerprint
    with pytest.raises(ValueError, match="read-only"):
        again.rating[0] = 1
    with pytest.raises(cc.DataError, match=r"`rating` holds 0\.5, outside 0…0\.4"):
        cc.data.RatingDataset("x", 0, 0.4, rated.task_ids, rated.worker_ids, rated.task, rated.worker, rated.rating)


def test_wide_tables_of_numbers(write):
    path = write("item,ann,ben,cem,gold\na,0.11,0.52,,0.5\nb,0.33,-1,0.74,0.1\nc,0.95,1.36,0.27,\n", "wide.csv")
    ratings = examine_ratings(path, low=-1, high=1)
    rated = ratings.dataset(accept=True)
    assert (ratings.report.format, rated.n_workers, ratings.report.n_rows, rated.n_annotations) == ("wide", 3, 9, 7)
    assert sum(f.left_out for f in ratings.report.findings) == 2
    assert rated.rating.tolist() == [0.11, 0.52, 0.33, -1, 0.74, 0.95, 0.27]


def test_a_score_is_a_rating():
    frame = pd.DataFrame({"item": ["a"], "rater": ["x"], "score": [0.5]})
    assert cc.ratings_from_frame(frame, 0, 1).rating.tolist() == [0.5]


def test_an_infinite_number_is_no_end_of_the_range(write):
    values = rating_values(write("task,worker,rating\na,x,1\na,y,inf\nb,x,4\n", "stars.csv"))
    assert (values.low, values.high, values.words) == (1, 4, ("inf",))
