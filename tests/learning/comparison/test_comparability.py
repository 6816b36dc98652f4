"""What results can be compared by: selection and features seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.cli.train import accuracy_table as table
from crowdcore.exhibits import comparison as exhibits, differences
from crowdcore.learning.comparison import summary
from crowdcore.learning.comparison.comparability import features_seen, warnings
from crowdcore.learning.ratings.problem import rating_problem
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.problem import make_problem
from crowdcore.learning.validation import WAYS, selected_by
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up
from tests.learning.ratings.crowd import rated_crowd

RATED, _ = rated_crowd()


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(200)


def test_runs_that_saw_features_without_labels_stand_apart(crowd):
    results = {
        name: made_up(crowd, "gaussian-em", draw=k, settings={"unlabelled": seen})
        for k, (name, seen) in enumerate([("all of them", "all"), ("none", "no"), ("none either", "no")])
    }
    assert exhibits.accuracies(results).table["run"].drop_duplicates().tolist()[0] == "none"
    assert exhibits.accuracies(results).table["features without labels"].iloc[-1] == "the test features themselves"
    for shown in differences.tests(results):
        assert shown.table.empty
        assert "against each other" in shown.notes[0]
    assert any("without labels" in words for words in warnings(results))
    alike = {name: results[name] for name in ("none", "none either")}
    assert "features without labels" not in exhibits.accuracies(alike).table
    assert not differences.over_seeds(alike).table.empty


@pytest.mark.parametrize(
    ("chosen", "seen"),
    [
        ("dl-em", "no"),
        ("gaussian-em unlabelled=all", "all"),
        ("0.6 dl-em^0.6 + 0.4 gaussian-em unlabelled=validation", "validation"),
    ],
)
def test_what_auto_chose_may_have_seen_features_without_labels(crowd, chosen, seen):
    result = made_up(crowd, "auto", settings={"unlabelled": "no", "chosen": chosen})
    assert features_seen(result) == seen


def test_a_table_of_one_kind_tells_it_too(crowd):
    result = made_up(crowd, "gaussian-em", settings={"unlabelled": "all"})
    for told in (exhibits.accuracies({"a": result}).table, table([summary.row(result)])):
        assert set(told["features without labels"]) == {"the test features themselves"}


@pytest.mark.parametrize(
    ("select_on", "way"),
    [
        ("auto", "gold"),
        ("gold", "gold"),
        ("holdout", "training-gold"),
        ("consensus", "crowd"),
        ("crowd", "crowd"),
        ("none", "none"),
    ],
)
def test_every_setting_of_the_trainer_is_one_of_the_ways(select_on: str, way: str) -> None:
    crowd = featured_crowd(200)
    crowd = replace(crowd, split=np.where(np.arange(200) % 5 == 0, 1, crowd.split))
    assert selected_by(make_problem(crowd, TrainSettings(select_on=select_on)).validated_on) == way


def test_tasks_held_out_without_gold_are_judged_by_the_crowd() -> None:
    crowd = featured_crowd(200)
    hidden = replace(crowd, gold=np.where(crowd.split == 0, -1, crowd.gold))
    assert selected_by(make_problem(hidden, TrainSettings(select_on="holdout")).validated_on) == "crowd"


def test_ratings_whose_epoch_gold_selects_are_not_said_to_be_selected_by_the_crowd() -> None:
    words = {s: rating_problem(RATED, TrainSettings(select_on=s)).validated_on for s in ("holdout", "crowd", "none")}
    assert {s: selected_by(said) for s, said in words.items()} == {
        "holdout": "training-gold", "crowd": "crowd", "none": "none",
    }  # fmt: skip
    split = np.where(np.arange(RATED.n_tasks) % 5 == 0, 1, 0)
    valid = rating_problem(replace(RATED, split=split), TrainSettings(select_on="gold"))
    assert selected_by(valid.validated_on) == "gold"


def test_the_ways_in_words() -> None:
    assert list(WAYS.values()) == [
        "gold of the valid split", "gold of training tasks held out", "crowd labels held out", "none (last)",
    ]  # fmt: skip
