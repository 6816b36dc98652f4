"""Distances between workers: literal oracles, invariances, evidence."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import jensenshannon

import crowdcore as cc
from crowdcore.analysis import (
    confusion_distance,
    shrunken_confusion,
    worker_confusion,
    worker_distance,
    worker_distance as distance_of,
)
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference

KINDS = ("shrunken-mse", "mse", "shared-mse", "jensen-shannon")


def literal(confusion, kind, r, s):
    """One distance, straight from its definition."""
    n_classes = len(confusion.classes)
    x, y = confusion.matrices[r], confusion.matrices[s]
    shared = [a for a in range(n_classes) if not np.isnan(x[a, 0]) and not np.isnan(y[a, 0])]
    if r == s:
        return 0.0
    if kind == "shrunken-mse":
        x, y = shrunken_confusion(confusion)[[r, s]]
    if kind in ("mse", "shrunken-mse"):
        return np.mean((np.nan_to_num(x) - np.nan_to_num(y)) ** 2)
    if not shared:
        return np.nan
    if kind == "shared-mse":
        return np.mean((x[shared] - y[shared]) ** 2)
    n, k = confusion.evidence[r, shared], confusion.evidence[s, shared]
    with np.errstate(invalid="ignore"):  # SciPy takes the root of -1e-17
        rows = [np.nan_to_num(jensenshannon(x[a], y[a], base=2)) for a in shared]
    return np.average(rows, weights=n * k / (n + k))


@pytest.mark.parametrize("kind", KINDS)
@given(crowd=crowds(), soft=st.booleans())
def test_every_distance_is_that_of_its_definition(kind, crowd, soft):
    confusion = worker_confusion(crowd, soft_reference(crowd) if soft else "gold")
    result = confusion_distance(confusion, kind)
    pairs = range(crowd.n_workers)
    expected = [[literal(confusion, kind, r, s) for s in pairs] for r in pairs]
    # The root in Jensen-Shannon turns rounding of 1e-16 into 1e-8.
    np.testing.assert_allclose(result.matrix, expected, atol=2e-7 if kind == "jensen-shannon" else 1e-12)
    np.testing.assert_array_equal(result.matrix, result.matrix.T)
    np.testing.assert_array_equal(np.diag(result.matrix), 0)
    known = confusion.evidenced
    np.testing.assert_array_equal(result.overlap, [[(known[r] & known[s]).sum() for s in pairs] for r in pairs])
    assert (result.matrix[~np.isnan(result.matrix)] >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_workers_can_come_in_any_order(kind):
    crowd = simulate_crowd(n_workers=9)
    places = np.random.default_rng(0).permutation(9)  # worker r becomes places[r]
    moved = make_crowd(crowd.task, places[crowd.worker], crowd.label, 300, 9, 4, crowd.gold)
    before, after = worker_distance(crowd, kind=kind).matrix, worker_distance(moved, kind=kind).matrix
    np.testing.assert_allclose(after[np.ix_(places, places)], before, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_show(kind, monkeypatch):
    crowd = simulate_crowd(n_workers=11)
    whole = worker_distance(crowd, kind=kind).matrix
    monkeypatch.setattr(sys.modules["crowdcore.analysis.workers.distance"], "_BLOCK", 3)
    np.testing.assert_allclose(worker_distance(crowd, kind=kind).matrix, whole, atol=1e-8)


def test_twins_are_at_zero_and_opposites_far():
    gold = np.array([0, 1] * 10)
    task = np.arange(20)
    label = np.concatenate([gold, gold, 1 - gold])
    crowd = make_crowd(np.tile(task, 3), np.repeat([0, 1, 2], 20), label, 20, 3, 2, gold)
    for kind, far in ((kind, 1.0) for kind in KINDS):
        matrix = worker_distance(crowd, kind=kind).matrix
        assert matrix[0, 1] == 0.0
        assert matrix[0, 2] == pytest.approx(far)


def test_rows_without_evidence_are_zero_for_mse_only():
    # w0 knows class 0 only, w1 class 1 only: nothing is shared
    crowd = make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2, gold=np.array([0, 1]))
    assert worker_distance(crowd, kind="mse").matrix[0, 1] == pytest.approx(0.5)
    assert np.isnan(worker_distance(crowd, kind="shared-mse").matrix[0, 1])
    assert np.isnan(worker_distance(crowd, kind="jensen-shannon").matrix[0, 1])
    assert worker_distance(crowd).overlap[0, 1] == 0
    frame = worker_distance(crowd).frame()
    assert frame.to_dict("records") == [{"worker_a": "w0", "worker_b": "w1", "distance": 0.5, "shared_rows": 0}]


def test_ccc_figure_3_on_labelme(data_folder):
    """The distance of CCC's Fig. 3, written down once more: rows of counts normalised, empty rows 0, mean square."""
    crowd = cc.load_dataset("labelme")
    rows = np.zeros((59, 8, 8))
    np.add.at(rows, (crowd.worker, crowd.gold[crowd.task], crowd.label), 1)
    rows /= np.maximum(rows.sum(2, keepdims=True), 1)
    expected = ((rows[:, None] - rows[None]) ** 2).mean((2, 3))
    np.testing.assert_allclose(worker_distance(crowd, "gold", "mse").matrix, expected, atol=1e-15)


def test_refusals():
    with pytest.raises(cc.SettingError, match="`kind` must be one of shrunken-mse, mse, shared-mse, jensen-shannon"):
        distance_of(simulate_crowd(), kind="euclid")
