"""Learnt on observed skills."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis, figures
from testkit.crowds import simulate_crowd


def compared(n_workers: int = 12, seeds=(0, 1), reference="gold", seed: int = 0):
    crowd = simulate_crowd(n_workers=n_workers)
    own = np.random.default_rng(seed).dirichlet(np.ones(4), (len(seeds), n_workers, 4))
    return analysis.skill_comparison(analysis.worker_confusion(crowd, reference), own, seeds=seeds)


def test_bars_are_observed_and_points_learnt():
    one, two = compared(), compared(seed=1)
    fig = figures.skills({"conal": one, "trace": two}, colors=["#111111", "#222222"], highlight=3)
    order = np.argsort(-one.observed, kind="stable")
    np.testing.assert_allclose(fig.data[0].y, one.observed[order])
    np.testing.assert_allclose(fig.data[1].y, one.learned[order])
    np.testing.assert_allclose(fig.data[2].y, two.learned[order])
    np.testing.assert_allclose(fig.data[1].error_y.array, one.learned_spread[order])


def test_error_bars_stay_within_0_and_100_percent():
    one = compared()
    wide = replace(one, learned_spread=np.full(12, 0.9))
    bars = figures.skills({"conal": wide}).data[1]
    assert (bars.y + bars.error_y.array).max() == pytest.approx(1)
    assert (bars.y - bars.error_y.arrayminus).min() == pytest.approx(0)


def test_bars_carry_names_and_their_correlation():
    one, two = compared(), compared(seed=1)
    fig = figures.skills({"conal": one, "trace": two}, highlight=3)
    order = np.argsort(-one.observed, kind="stable")
    assert list(fig.layout.xaxis.ticktext) == [f"w{r:03d}" for r in order]
    assert f"r = {one.correlation:.2f}" in fig.data[1].name
    assert fig.data[3].x[0] == int(np.flatnonzero(order == 3)[0])
    assert "mean of 2 seeds" in fig.layout.title.subtitle.text
    assert "reference: gold" in fig.layout.title.subtitle.text


def test_many_workers_are_points_against_points():
    one = compared(n_workers=120, seeds=(4,))
    fig = figures.skills({"conal": one})
    assert [trace.type for trace in fig.data] == ["scatter"]
    known = ~np.isnan(one.observed)
    assert sorted(fig.data[0].x) == sorted(one.observed[known])
    assert "seed 4" in fig.layout.title.subtitle.text


def test_refusals():
    with pytest.raises(cc.SettingError, match="hold one run or more"):
        figures.skills({})
    with pytest.raises(cc.SettingError, match="with one reference"):
        figures.skills({"a": compared(), "b": compared(reference="majority-vote")})
