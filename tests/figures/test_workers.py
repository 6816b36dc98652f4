"""Ranking and distance of the workers, pairs wrong alike, and ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis, figures
from crowdcore.analysis import WorkerDistance
from crowdcore.figures import theme
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import make_crowd
from tests.analysis.workers.test_quality import planted
from tests.rated_crowd import rated_crowd


def test_dots_are_ranked_and_coloured_by_what_is_wrong():
    quality = analysis.worker_quality(planted())
    fig = figures.worker_ranking(quality, highlight=5, guessing=np.arange(23) >= 20)
    by_name = {trace.name: trace for trace in fig.data}
    assert list(by_name) == [
        "ordinary (20)",
        "one answer for nearly everything (1)",
        "no better than guessing (2)",
        "w5",
    ]
    x = np.concatenate([t.x for t in fig.data[:3]])
    y = np.concatenate([t.y for t in fig.data[:3]])
    assert sorted(x) == list(range(23))
    assert (np.diff(y[np.argsort(x)]) <= 0).all()
    assert by_name["one answer for nearly everything (1)"].customdata[0][0] == "w20"
    assert by_name["ordinary (20)"].error_y.array is not None
    ranked = np.argsort(-quality.accuracy, kind="stable")
    assert list(fig.layout.xaxis.ticktext) == [f"w{r}" for r in ranked]
    assert fig.data[3].y[0] == quality.accuracy[5]


def test_other_measures_and_names():
    quality = analysis.worker_quality(planted())
    fig = figures.worker_ranking(quality, "information", names=[f"someone {r}" for r in range(23)])
    assert fig.data[0].error_y.array is None
    assert fig.data[0].customdata[0][0].startswith("someone")
    assert fig.layout.shapes[0].y0 == pytest.approx(np.nanmax(quality.information_limit))
    with pytest.raises(cc.SettingError, match="`by`"):
        figures.worker_ranking(quality, "beauty")


def crowd_with_copier(source: int):
    """Worker 23 copies all labels of the source, who errs a lot."""
    crowd = planted()
    rng = np.random.default_rng(9)
    mine = crowd.worker == source
    label = np.where(
        mine & (rng.random(crowd.n_annotations) < 0.4), rng.integers(5, size=crowd.n_annotations), crowd.label
    )
    return make_crowd(
        np.concatenate([crowd.task, crowd.task[mine]]),
        np.concatenate([crowd.worker, np.full(mine.sum(), 23)]),
        np.concatenate([label, label[mine]]),
        300,
        24,
        5,
        crowd.gold,
    )


def test_conspicuous_pairs_stand_out():
    crowd = crowd_with_copier(0)
    pairs = analysis.pair_mistakes(crowd)
    fig = figures.pair_mistakes(pairs, groups=analysis.worker_verdicts(crowd).groups)
    chance, more, beyond = fig.data
    assert beyond.marker.color == theme.WARN
    assert beyond.name.startswith("act together (1)")
    assert beyond.customdata[0].startswith("<b>w0</b> and <b>w23</b>")
    k = int(np.nanargmin(pairs.p_beyond))
    assert (beyond.x[0], beyond.y[0]) == (pairs.expected[k], pairs.wrong_alike[k])
    drawn = len(chance.x) + len(more.x) + len(beyond.x)
    assert drawn == (pairs.wrong_alike > 0).sum()
    assert fig.layout.xaxis.range[0] < np.log10(pairs.expected[pairs.wrong_alike > 0].min())


def test_only_the_least_probable_of_many_pairs_are_drawn():
    crowd = crowd_with_copier(0)
    pairs = analysis.pair_mistakes(crowd)
    fig = figures.pair_mistakes(pairs, groups=analysis.worker_verdicts(crowd).groups, most=10)
    assert sum(len(trace.x) for trace in fig.data) == 10
    assert "10 least probable" in fig.layout.title.subtitle.text
    assert len(fig.data[2].x) == 1


def test_a_small_q_marks_nobody_who_is_in_no_group():
    pairs = analysis.pair_mistakes(crowd_with_copier(0))
    chance, more, together = figures.pair_mistakes(pairs).data
    assert (pairs.q_beyond <= 0.05).any()
    assert len(together.x) == 0
    assert len(chance.x) + len(more.x) == (pairs.wrong_alike > 0).sum()


def test_no_pairs_at_all():
    crowd = make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2, np.array([0, 1]))
    fig = figures.pair_mistakes(analysis.pair_mistakes(crowd))
    assert all(len(trace.x) == 0 for trace in fig.data)


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


def test_pairs_that_chance_explains_have_no_colour_but_their_numbers():
    crowd, _ = rated_crowd(200, 8, 5)
    found = analysis.rating_pairs(crowd, analysis.rating_truth(crowd))
    cells = figures.rating_errors_alike(found).data[0]
    sure = found.q_value <= 0.05
    assert not sure.all()
    assert np.abs(found.error_correlation).min() > 0
    np.testing.assert_array_equal(cells.z[found.worker_a, found.worker_b], np.where(sure, found.error_correlation, 0.0))
    told = cells.customdata[found.worker_a, found.worker_b]
    np.testing.assert_array_equal(told, np.stack([found.error_correlation, found.q_value, found.tasks], 1))
    assert np.isnan(np.diag(cells.z)).all()
