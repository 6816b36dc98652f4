"""Which of three ways selected an epoch, from the words that training leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.learning.comparison.comparability import WAYS, selected_by
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd


@pytest.mark.parametrize(
    ("select_on", "way"),
    [
        ("auto", "gold"),
        ("gold", "gold"),
        ("holdout", "gold"),
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


def test_the_ways_in_words() -> None:
    assert list(WAYS.values()) == ["gold of validation", "crowd labels held out", "none (last)"]
