"""Metrics against scikit-learn and loops, names of latent classes, and the time left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss

from crowdcore.analysis import names_at_risk
from crowdcore.core.errors import SettingError
from crowdcore.learning import train
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training import events, metrics
from crowdcore.learning.training.metrics import match_names, match_names_without_task, reorder_classes, restore_classes
from crowdcore.learning.training.schedule import _name_notes
from tests.learning.helpers import featured_crowd


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4) * 0.5, (3, 50)).astype(np.float32)
    truth = rng.integers(-1, 4, 50)
    return p, truth


def test_accuracy_f1_and_nll_are_scikit_learns(case):
    p, truth = case
    known = truth >= 0
    for s in range(3):
        given = p[s, known].argmax(1)
        assert metrics.accuracy(p, truth)[s] == pytest.approx(accuracy_score(truth[known], given))
        assert metrics.macro_f1(p, truth)[s] == pytest.approx(f1_score(truth[known], given, average="macro"))
        q = p[s, known].astype(float)
        expected = log_loss(truth[known], q / q.sum(1, keepdims=True), labels=range(4))
        assert metrics.negative_log_likelihood(p, truth)[s] == pytest.approx(expected, rel=1e-5)
        for c in range(4):
            of = truth == c
            assert metrics.class_accuracy(p, truth)[s, c] == pytest.approx((p[s, of].argmax(1) == c).mean())


def test_a_class_without_tasks_has_no_accuracy_and_does_not_count():
    p = np.eye(3)[[0, 1, 1]]
    truth = np.array([0, 1, 0])
    assert np.isnan(metrics.class_accuracy(p, truth)[2])
    assert metrics.macro_f1(p, truth) == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert np.isnan(metrics.accuracy(p, np.array([-1, -1, -1])))


def test_calibration_error_by_hand():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    truth = np.array([0, 1, 0, 1])
    # bins of 1/10: 0.9 twice, half of them right; 0.6 right; 0.7 right
    assert metrics.calibration_error(p, truth, bins=10) == pytest.approx((2 * 0.4 + 0.4 + 0.3) / 4)


def test_recovery_error_is_tannos():
    rng = np.random.default_rng(1)
    true, found = rng.dirichlet(np.ones(3), (4, 3)), rng.dirichlet(np.ones(3), (2, 4, 3))
    loops = [
        sum((found[s, r, a, b] - true[r, a, b]) ** 2 for r in range(4) for a in range(3) for b in range(3)) / 12
        for s in range(2)
    ]
    np.testing.assert_allclose(metrics.recovery_error(true, found), loops)
    weighted = metrics.recovery_error(true, found, np.array([1, 0, 0, 0]))
    np.testing.assert_allclose(weighted, ((found[:, 0] - true[0]) ** 2).sum((1, 2)) / 3)
    found[:, 1, 0] = np.nan
    np.testing.assert_allclose(
        metrics.recovery_error(true, found), metrics.recovery_error(true[[0, 2, 3]], found[:, [0, 2, 3]])
    )


def test_correlations_are_numpys():
    rng = np.random.default_rng(2)
    true, found = rng.dirichlet(np.ones(3), (6, 3)), rng.dirichlet(np.ones(3), (2, 6, 3))
    for s in range(2):
        a, b = (np.array([np.trace(m) / 3 for m in ms]) for ms in (true, found[s]))
        assert metrics.skill_correlation(true, found)[s] == pytest.approx(np.corrcoef(a, b)[0, 1])
    omega, estimate = rng.random(20), rng.random((1, 20))
    estimate[0, :5] = np.nan
    assert metrics.omega_correlation(omega, estimate)[0] == pytest.approx(np.corrcoef(omega[5:], estimate[0, 5:])[0, 1])
    assert np.isnan(metrics.omega_correlation(np.ones(4), np.ones((1, 4)))).all()


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
    parts = {"worker_confusion": told.worker_confusion, "worker_counts": 20 * told.worker_confusion}
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
    with pytest.raises(SettingError, match="`names`"):
        train(featured_crowd(), "crowd-layer", epochs=1, seeds=1, select_on=select_on, names="validation-gold")


def test_the_gold_of_a_task_does_not_name_its_own_row():
    rng = np.random.default_rng(5)
    p, gold = rng.dirichlet(np.ones(3), 9), rng.integers(3, size=9)
    found = match_names_without_task(p, gold)
    for i in range(9):
        rest = np.arange(9) != i
        np.testing.assert_array_equal(found[i], p[i][match_names(p[None, rest], gold[rest])[0]])


def test_what_was_done_before_a_run_went_on_does_not_make_it_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 2.0, 4.0, 6.0])
    monkeypatch.setattr(events.time, "perf_counter", lambda: next(now))
    resumed = events.Pace()  # at seven of ten epochs, of two seconds each
    assert [resumed.remaining(done, 0.1) for done in (0.8, 0.9, 1.0)] == pytest.approx([4, 2, 0])
