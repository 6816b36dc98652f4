"""Distances between workers, and their order."""

from __future__ import annotations

import sys
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import jensenshannon

import crowdcore as cc
from crowdcore.analysis import (
    WorkerDistance,
    confusion_distance,
    order_workers,
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
    with pytest.raises(cc.SettingError, match="`kind`"):
        distance_of(simulate_crowd(), kind="euclid")


def distances(matrix) -> WorkerDistance:
    matrix = np.asarray(matrix, float)
    n = len(matrix)
    return WorkerDistance(
        matrix, np.zeros((n, n), np.int32), "mse", pd.Index([f"w{r}" for r in range(n)]), ("a", "b"), "gold"
    )


def between(points) -> WorkerDistance:
    points = np.asarray(points, float).reshape(len(points), -1)
    return distances(np.sqrt(((points[:, None] - points[None]) ** 2).sum(2)))


def all_orders(tree, n):
    """Every order of the leaves that flips of the tree's merges can make."""
    for flips in product((False, True), repeat=n - 1):
        members = {r: [r] for r in range(n)}
        for k, flip in enumerate(flips):
            a, b = (members[int(c)] for c in tree[k, :2])
            members[n + k] = b + a if flip else a + b
        yield members[2 * n - 2]


@given(st.integers(2, 7), st.integers(0, 1000))
def test_no_order_of_the_leaves_is_shorter(n, seed):
    found = between(np.random.default_rng(seed).random((n, 2)))
    result = order_workers(found)

    def length(order):
        return sum(found.matrix[a, b] for a, b in pairwise(order))

    best = min(length(order) for order in all_orders(result.linkage, n))
    assert length(result.order) == pytest.approx(best)
    assert sorted(result.order) == list(range(n))


def test_planted_groups_are_found_and_contiguous():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat([0, 1, 2], [10, 6, 4]))
    result = order_workers(between(np.array([[0, 0], [6, 0], [3, 5]])[group] + rng.normal(0, 0.3, (20, 2))))
    assert result.n_groups == 3
    assert len({(a, b) for a, b in zip(group, result.groups, strict=True)}) == 3
    along = result.groups[result.order]
    assert (np.diff(along) >= 0).all() and along[0] == 0
    assert result.method.endswith("above its sides")


@pytest.mark.parametrize(("apart", "told"), [(20.5, True), (40.0, False)])
def test_another_number_of_groups_that_is_nearly_as_clear_is_told(apart, told):
    # four pairs of twins; the halves stand about as far above the pairs as these above the twins, or much farther
    points = [x + twin for x in (0.0, 10.0, apart, apart + 10.0) for twin in (0.0, 0.1)]
    result = order_workers(between(points))
    assert result.n_groups == 2
    assert result.method.endswith("; a cut into 4 is nearly as clear: a few labels may decide between them") == told
    assert "nearly as clear" not in order_workers(between(points), 2).method


@given(st.integers(1, 12), st.data())
def test_asked_for_groups_are_given(n, data):
    k = data.draw(st.integers(1, n))
    result = order_workers(between(np.random.default_rng(n).random((n, 3))), k)
    assert result.n_groups == k
    assert sorted(set(result.groups)) == list(range(k))


def test_an_outlier_is_no_group():
    points = np.concatenate([np.linspace(0, 1, 8), np.linspace(3, 4, 8), [90]])
    result = order_workers(between(points))
    assert sorted(np.bincount(result.groups)) == [1, 8, 8]


def test_the_order_of_the_workers_does_not_matter():
    rng = np.random.default_rng(3)
    points, places = rng.random((15, 2)), rng.permutation(15)
    before, after = order_workers(between(points), 4), order_workers(between(points[places]), 4)
    together = before.groups[:, None] == before.groups
    np.testing.assert_array_equal(together[np.ix_(places, places)], after.groups[:, None] == after.groups)


def test_unknown_distances_take_the_mean_of_their_workers():
    matrix = np.array([[0, 1, np.nan], [1, 0, 3], [np.nan, 3, 0]])
    filled = matrix.copy()
    filled[0, 2] = filled[2, 0] = (1 + 3) / 2
    result, expected = order_workers(distances(matrix), 2), order_workers(distances(filled), 2)
    np.testing.assert_array_equal(result.linkage, expected.linkage)
    assert "1 unknown distances" in result.method
    nothing = order_workers(distances(np.where(np.eye(3), 0, np.nan)))
    assert sorted(nothing.order) == [0, 1, 2]


def test_many_workers_keep_the_trees_own_order(monkeypatch):
    monkeypatch.setattr("crowdcore.analysis.workers.distance.MOST_OPTIMAL", 5)
    result = order_workers(between(np.random.default_rng(0).random((8, 2))), 2)
    assert "up to 5 workers" in result.method
    assert sorted(result.order) == list(range(8))
    assert (np.diff(result.groups[result.order]) >= 0).all()


def test_one_worker_is_a_group():
    result = order_workers(distances([[0]]))
    assert list(result.order) == [0] and result.n_groups == 1
    assert result.frame().to_dict("records") == [{"worker": "w0", "position": 0, "group": 0}]


def test_order_refusals():
    with pytest.raises(cc.SettingError, match="`n_groups`"):
        order_workers(distances(np.zeros((3, 3))), 4)
