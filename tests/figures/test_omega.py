"""ω drawn by task, class, worker and truth."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis, figures
from crowdcore.data.simulate import synthetic
from crowdcore.figures.omega import BINS
from testkit.crowds import simulate_crowd


def omegas(crowd, seeds: int = 2):
    return np.random.default_rng(0).random((seeds, crowd.n_tasks, crowd.n_workers))[:, crowd.task, crowd.worker]


@pytest.fixture(scope="module")
def ranking():
    crowd = simulate_crowd()
    return analysis.omega_ranking(crowd, omegas(crowd), seeds=(0, 1))


def test_one_strip_per_class_and_one_for_all(ranking):
    fig = figures.omega_ranking(ranking, highlight=int(ranking.task[4]))
    strips = [trace for trace in fig.data if trace.type == "bar"]
    order = np.argsort(-ranking.class_omega, kind="stable")
    assert [strip.name for strip in strips] == ["all tasks", *(ranking.classes[c] for c in order)]
    assert list(fig.layout.yaxis.ticktext) == [strip.name for strip in strips]
    for strip in strips:
        c = ranking.classes.index(strip.name) if strip.name in ranking.classes else 4
        of = ranking.omega if c == 4 else ranking.omega[ranking.label == c]
        assert sum(row[2] for row in strip.customdata) == len(of)
        for low, high, n, _, code in strip.customdata:
            assert n == ((of >= low) & (of < high)).sum()
            assert divmod(code, BINS) == (c, round(low * BINS))
    ring = fig.data[-1]
    row = strips[[s.name for s in strips].index(ranking.classes[ranking.label[4]])]
    assert (ring.x[0], int(np.floor(ring.y[0]))) == (ranking.omega[4], row.base)
    assert fig.layout.xaxis.range[0] == 0, "a spread is seen against all that ω could be"
    assert "mean of 2 seeds" in fig.layout.title.subtitle.text


def test_a_long_ranking_is_as_small_as_a_short_one():
    crowd = simulate_crowd(n_tasks=7000, per_task=1)
    fig = figures.omega_ranking(analysis.omega_ranking(crowd, omegas(crowd, 1), seeds=(0,)))
    assert len(fig.to_json()) < 60_000
    assert "7,000 tasks" in fig.layout.title.subtitle.text


def test_halves_are_figure_10(ranking):
    top, bottom, entropy = figures.omega_halves(ranking).data
    np.testing.assert_array_equal(top.y, ranking.top)
    np.testing.assert_array_equal(bottom.y, ranking.bottom)
    np.testing.assert_array_equal(entropy.y, ranking.class_entropy)
    assert entropy.yaxis == "y2"
    assert top.offsetgroup != bottom.offsetgroup


@pytest.mark.parametrize("by", ["class", "worker"])
def test_groups_stand_by_their_mean(by):
    crowd = simulate_crowd()
    spread = analysis.omega_spread(crowd, omegas(crowd), by, seeds=(0, 1))
    beside = np.arange(len(spread.names)) / 10
    fig = figures.omega_spread(spread, beside=beside, beside_name="accuracy", highlight=1)
    order = np.argsort(-spread.mean, kind="stable")
    means = fig.data[-1]
    np.testing.assert_allclose(means.y, spread.mean[order])
    assert [row[0] for row in means.customdata] == list(spread.names[order])
    assert [row[7] for row in means.customdata] == beside[order].tolist()
    np.testing.assert_allclose(np.asarray(fig.data[1].y, float).reshape(-1, 3)[:, 0], spread.quantiles[order, 0])
    assert list(fig.layout.xaxis.ticktext) == list(spread.names[order])


def test_hundreds_of_workers_have_no_outlines():
    crowd = simulate_crowd(n_tasks=2000, n_workers=400)
    fig = figures.omega_spread(analysis.omega_spread(crowd, omegas(crowd), "worker", seeds=(0, 1)))
    assert "share of annotations" not in [trace.name for trace in fig.data]
    assert fig.layout.xaxis.showticklabels is False


def test_truth_lies_on_the_diagonal():
    crowd = synthetic(n_tasks=300, n_valid=10, n_test=10, seed=1)
    result = analysis.omega_truth(crowd, crowd.truth.omega[None], seeds=(0,), n_bins=10)
    fig = figures.omega_truth(result)
    z = np.asarray(fig.data[0].z)
    assert np.nansum(z) == pytest.approx((result.counts.sum(1) > 0).sum())
    assert np.isnan(z[~np.eye(10, dtype=bool)[::-1]]).all()
    assert "Pearson 1.00" in fig.layout.title.subtitle.text
