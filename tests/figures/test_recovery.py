"""Recovery: errors of methods, learnt skills."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis, figures
from crowdcore.core.errors import SettingError
from testkit.crowds import simulate_crowd

MEASURES = {"common error": "Error of the common confusion", "effective error": "Error of the effective confusions"}
METHODS = {"conal, lr 1": "conal", "trace": "trace"}
BOUNDS = ("identity", "counted with gold")


def table(strengths: tuple[float, ...] = (0.4,)) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for strength in strengths:
        for method in (*METHODS, *BOUNDS):
            for crowd in range(2):
                common = rng.random() if method in ("conal, lr 1", "identity") else np.nan
                rows.append((strength, method, crowd, 0, common, rng.random()))
    return pd.DataFrame(rows, columns=["strength", "method", "crowd", "seed", *MEASURES])


def test_every_crowd_is_a_point_and_bounds_are_lines_at_their_mean() -> None:
    shown = table()
    fig = figures.recovery_errors(shown, MEASURES, methods=METHODS, bounds=BOUNDS)
    points = [t for t in fig.data if t.mode == "markers" and len(t.x) > 1]
    drawn = sorted(value for trace in points for value in trace.x)
    expected = shown[shown["method"].isin(METHODS)]
    assert drawn == pytest.approx(sorted(expected[list(MEASURES)].stack().dropna()))
    lines = {(t.name, t.xaxis): t.x[0] for t in fig.data if t.mode == "lines"}
    assert lines[("counted with gold", "x2")] == pytest.approx(
        shown.loc[shown["method"] == "counted with gold", "effective error"].mean()
    )
    assert ("counted with gold", "x") not in lines
    assert fig.layout.yaxis.ticktext == tuple(METHODS)
    assert "–" in [a.text for a in fig.layout.annotations]


def test_curves_go_along_the_setting_with_a_column_for_another() -> None:
    shown = pd.concat([table((0.4, 0.8)).assign(pattern=p) for p in ("asymmetric", "symmetric")])
    fig = figures.recovery_along(shown, "strength", MEASURES, methods=METHODS, columns="pattern", bounds=BOUNDS)
    trace = next(t for t in fig.data if t.name == "trace" and t.yaxis == "y3")
    mine = shown.query("method == 'trace' and pattern == 'asymmetric'").groupby("strength")["effective error"].mean()
    assert list(trace.x) == [0.4, 0.8]
    assert list(trace.y) == pytest.approx(mine.tolist())
    assert [a.text for a in fig.layout.annotations] == ["<b>pattern: asymmetric</b>", "<b>pattern: symmetric</b>"]
    assert sum(bool(t.showlegend) for t in fig.data) == 4


def test_a_measure_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingError, match="own error"):
        figures.recovery_errors(table(), {"own error": "…"}, methods=METHODS)


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
    with pytest.raises(cc.SettingError, match="one run or"):
        figures.skills({})
    with pytest.raises(cc.SettingError, match="with one reference"):
        figures.skills({"a": compared(), "b": compared(reference="majority-vote")})
