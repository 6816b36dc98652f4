"""Which tasks of a dataset are labelled anew."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import SettingError
from crowdcore.data.simulate import TaskChoice, rodrigues

DEMO = cc.load_dataset("demo")


def test_all_tasks_stay_in_place_and_lose_their_annotations() -> None:
    chosen = TaskChoice().of(DEMO)
    assert (chosen.gold == DEMO.gold).all()
    assert chosen.classes == DEMO.classes
    assert (chosen.n_annotations, chosen.truth) == (0, None)
    assert (chosen.features[np.arange(20)] == DEMO.features[np.arange(20)]).all()


def test_classes_are_numbered_in_the_order_asked_for() -> None:
    chosen = TaskChoice(classes=("seven", "two"), n_train=30, n_test=11).of(DEMO)
    place = DEMO.task_ids.get_indexer(chosen.task_ids)
    assert {DEMO.classes[g] for g in DEMO.gold[place]} == {"seven", "two"}
    assert [chosen.classes[g] for g in chosen.gold] == [DEMO.classes[g] for g in DEMO.gold[place]]
    assert [(chosen.split == k).sum() for k in (0, 2)] == [30, 11]
    assert (chosen.split == DEMO.split[place]).all()
    assert (chosen.media.images[np.arange(40)] == DEMO.media.images[place[:40]]).all()
    assert rodrigues(chosen).n_annotations == 150


def test_unknown_gold_stays_unknown() -> None:
    assert (TaskChoice(n_train=500).of(DEMO).gold[:100] == DEMO.gold[:100]).all()
    assert (TaskChoice(classes=("one",)).of(DEMO).gold == 0).all()


def test_a_class_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingError, match=r"`classes` must name classes of demo, but got 'eleven'\. It has zero"):
        TaskChoice(classes=("eleven",)).of(DEMO)
