"""Names of latent classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.analysis import names_at_risk
from crowdcore.core.errors import SettingError
from crowdcore.learning import train
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.metrics import match_names, match_names_without_task, reorder_classes, restore_classes
from crowdcore.learning.training.schedule import _name_notes
from tests.learning.helpers import featured_crowd


@given(st.permutations(range(5)), st.integers(0, 2**16))
def test_a_renamed_prediction_is_matched(order, seed):
    rng = np.random.default_rng(seed)
    gold = np.concatenate([np.arange(5), rng.integers(5, size=40)])
    sure = 0.6 * np.eye(5)[gold] + 0.4 * rng.dirichlet(np.ones(5), len(gold))
    latent = reorder_classes(sure[None], np.argsort(order)[None], -1)
    found = match_names(latent, gold)
    np.testing.assert_array_equal(found, [order])
    np.testing.assert_allclose(reorder_classes(latent, found, -1)[0], sure)
    np.testing.assert_allclose(restore_classes(reorder_classes(latent, found, -1), found, -1), latent)


def test_classes_that_gold_does_not_hold_stay_where_they_are():
    gold = np.array([0, 1, 0, 1, -1])
    p = np.full((1, 5, 4), 0.05)
    p[0, np.arange(5), [1, 0, 1, 0, 3]] = 0.85
    np.testing.assert_array_equal(match_names(p, gold), [[1, 0, 2, 3]])


def flipped(crowd):
    """A crowd that calls every class by the next one's name, but for a few labels."""
    rng = np.random.default_rng(0)
    label = np.where(rng.random(crowd.n_annotations) < 0.9, (crowd.gold[crowd.task] + 1) % 3, crowd.label)
    return replace(crowd, label=label.astype(crowd.label.dtype))


def test_gold_of_validation_names_what_labels_cannot():
    crowd = flipped(featured_crowd(n_tasks=300, n_workers=8))
    run = {"seeds": 2, "epochs": 15, "batch_size": 32, "lr": 0.01, "select_on": "gold"}
    left, named = train(crowd, "crowd-layer", **run), train(crowd, "crowd-layer", **run, names="validation-gold")
    assert left.accuracy("test").max() < 0.2
    assert named.accuracy("test").min() > 0.8
    assert named.accuracy("test", at="last").min() > 0.8
    np.testing.assert_allclose(named.curves["valid_accuracy"][-1], named.accuracy("valid", at="last"), atol=1e-6)
    assert (named.names["selected"] != np.arange(3)).any(1).all()
    next_class = np.roll(np.eye(3), 1, 1)
    assert np.abs(named.worker_confusion.mean((0, 1)) - next_class).max() < 0.5
    rows = crowd.features[named.task[:20]]
    np.testing.assert_allclose(named.predict_proba(rows), named.probabilities["selected"][:, :20], atol=1e-5)


def test_a_result_warns_where_labels_cannot_name_the_classes():
    crowd = flipped(featured_crowd(n_tasks=300, n_workers=8))
    run = {"seeds": 1, "epochs": 15, "batch_size": 32, "lr": 0.01, "select_on": "gold"}

    def warned(result):
        return [note for note in result.notes if "Labels alone cannot name" in note]

    # started near the right names, the confusions say so; started from the votes they cannot know
    told = train(crowd, "crowd-layer", **run, start="identity", names="validation-gold")
    assert not warned(told), "gold has named the classes"
    moved = replace(crowd, label=crowd.gold[crowd.task].astype(crowd.label.dtype))
    assert not warned(train(moved, "crowd-layer", **run))
    risks = names_at_risk(crowd, told.worker_confusion)
    assert risks == [(0, 1), (1, 2), (2, 0)]
    parts = {"worker_confusion": told.worker_confusion}
    [note] = _name_notes(crowd, parts, TrainSettings())
    assert f"{crowd.classes[0]!r} (most often {crowd.classes[1]!r})" in note


def test_names_do_not_count_as_distance_from_the_start():
    crowd = flipped(featured_crowd(n_tasks=120))
    run = {"seeds": 1, "epochs": 4, "batch_size": 32, "lr": 0.01, "select_on": "gold"}
    left, named = train(crowd, "crowd-layer", **run), train(crowd, "crowd-layer", **run, names="validation-gold")
    for at in ("last", 4):
        np.testing.assert_allclose(left.moved("worker_confusion", at), named.moved("worker_confusion", at), atol=1e-6)
    np.testing.assert_allclose(left.moved("worker_confusion", 0), 0)


@pytest.mark.parametrize("select_on", ["none", "crowd"])
def test_names_need_gold(select_on):
    with pytest.raises(SettingError, match=r"`names` must be 'as-trained', since .* not on gold labels"):
        train(featured_crowd(), "crowd-layer", epochs=1, seeds=1, select_on=select_on, names="validation-gold")


def test_the_gold_of_a_task_does_not_name_its_own_row():
    rng = np.random.default_rng(5)
    p, gold = rng.dirichlet(np.ones(3), 9), rng.integers(3, size=9)
    found = match_names_without_task(p, gold)
    for i in range(9):
        rest = np.arange(9) != i
        np.testing.assert_array_equal(found[i], p[i][match_names(p[None, rest], gold[rest])[0]])
