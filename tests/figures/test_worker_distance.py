"""The distance matrix: order, groups, tree, zoom, and what it weighs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis, figures
from crowdcore.analysis import WorkerDistance
from testkit.crowds import simulate_crowd


def distances(n: int, seed: int = 0) -> WorkerDistance:
    rng = np.random.default_rng(seed)
    points = rng.random((n, 4))
    matrix = ((points[:, None] - points[None]) ** 2).sum(2)
    ids = pd.Index([f"w{r:04d}" for r in range(n)])
    return WorkerDistance(matrix, rng.integers(0, 9, (n, n)).astype(np.int32), "mse", ids, tuple("abcdefgh"), "gold")


def test_cells_stand_in_the_order_of_the_tree():
    distance = analysis.worker_distance(simulate_crowd())
    order = analysis.order_workers(distance, 3)
    fig = figures.worker_distance(distance, order)
    places = order.order
    np.testing.assert_allclose(fig.data[0].z, distance.matrix[np.ix_(places, places)].astype(np.float32))
    np.testing.assert_array_equal(fig.data[0].customdata, distance.overlap[np.ix_(places, places)])
    assert list(fig.layout.xaxis.ticktext) == [distance.worker_ids[r] for r in places]
    assert list(fig.layout.yaxis.range) == [11.5, -0.5]
    cuts = np.flatnonzero(np.diff(order.groups[places])) + 0.5
    assert sorted({shape.x0 for shape in fig.layout.shapes if shape.x0 == shape.x1}) == sorted(cuts)
    assert "reference: gold" in fig.layout.title.subtitle.text


def test_long_ids_are_short_and_different_beside_the_cells():
    distance = distances(12)
    ids = [f"annotator.{k}@university-of-somewhere.example" for k in range(12)]
    fig = figures.worker_distance(distance, names=ids)
    for axis in (fig.layout.xaxis, fig.layout.yaxis):
        assert len(set(axis.ticktext)) == 12
        assert max(map(len, axis.ticktext)) <= 20


def test_the_tree_has_its_merges_at_their_heights():
    distance = distances(12)
    order = analysis.order_workers(distance, 3)
    fig = figures.worker_distance(distance, order)
    branches = [t for t in fig.data if t.xaxis == "x2"]
    heights = np.sort(np.concatenate([np.reshape(t.x, (-1, 5))[:, 1] for t in branches]))
    np.testing.assert_allclose(heights, order.linkage[:, 2], rtol=1e-6)
    ends = np.concatenate([np.reshape(t.y, (-1, 5))[:, [0, 3]].ravel() for t in branches])
    at_leaves = np.concatenate([np.reshape(t.x, (-1, 5))[:, [0, 3]].ravel() for t in branches]) == 0
    assert sorted(ends[at_leaves]) == list(range(12))
    assert fig.layout.xaxis2.title.text == "3 groups"
    assert fig.layout.xaxis2.side == "top"  # below are names of workers


def test_without_an_order_there_is_no_tree():
    distance = distances(5)
    fig = figures.worker_distance(distance, names=[f"someone {k}" for k in range(5)])
    np.testing.assert_allclose(fig.data[0].z, distance.matrix.astype(np.float32))
    assert fig.layout.xaxis.ticktext[4] == "someone 4"
    assert not fig.layout.shapes and all(trace.xaxis != "x2" for trace in fig.data)


def test_unknown_distances_stay_empty():
    distance = distances(4)
    distance.matrix[0, 1] = distance.matrix[1, 0] = np.nan
    z = np.asarray(figures.worker_distance(distance).data[0].z)
    assert np.isnan(z).sum() == 2


def test_a_large_matrix_is_averaged_and_light_and_refines_on_zoom():
    n = 2571
    rng = np.random.default_rng(0)
    matrix = rng.random((n, n), np.float32)
    ids = pd.Index([f"w{r:04d}" for r in range(n)])
    distance = WorkerDistance(matrix, np.zeros((n, n), np.int8), "mse", ids, ("a", "b"), "gold")
    tree = np.stack([np.r_[0, n + np.arange(n - 2)], np.arange(1, n), np.linspace(1, 2, n - 1), np.arange(2, n + 1)], 1)
    order = analysis.WorkerOrder(np.arange(n), tree, (np.arange(n) > 1000).astype(int), ids, "")
    fig = figures.worker_distance(distance, order)
    z = np.asarray(fig.data[0].z)
    assert max(z.shape) <= 300
    assert (fig.data[0].x0, fig.data[0].dx) == (4.0, 9)
    assert z[1, 2] == pytest.approx(matrix[9:18, 18:27].mean(), rel=1e-5)
    assert fig.layout.yaxis.ticktext[1] == "w0009 … w0017"
    assert len(fig.to_json()) < 3e6
    near = figures.worker_distance(distance, order, view=((99.7, 150.2), (240.0, 200.0)))
    assert np.shape(near.data[0].z) == (41, 51)
    np.testing.assert_allclose(near.data[0].z, matrix[200:241, 100:151])
    assert (near.data[0].x0, near.data[0].y0, near.data[0].dx) == (100, 200, 1)
    assert list(near.layout.yaxis.range) == [240.0, 200.0]
    assert near.layout.coloraxis.cmax == fig.layout.coloraxis.cmax
