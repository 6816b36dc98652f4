"""Figures of learnt and recovered parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis, figures
from crowdcore.analysis import band
from crowdcore.core.errors import SettingError
from crowdcore.data.simulate import synthetic
from crowdcore.figures import theme
from crowdcore.figures.omega import BINS
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
    with pytest.raises(cc.SettingError, match="reference"):
        figures.skills({"a": compared(), "b": compared(reference="majority-vote")})


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


EPOCHS = 20


def run(name: str, method: str, values: np.ndarray, start: int = 1):
    return band(name, method, np.arange(start, start + len(values)), values)


@pytest.fixture
def bands():
    rng = np.random.default_rng(0)
    values = [rng.random((5, 3)) for _ in range(3)]
    values[1][3:] = np.nan
    return [run(f"run {k}", m, v) for k, (m, v) in enumerate(zip(("conal", "trace", "conal"), values, strict=True))]


def falling(n: int, seeds: int = 2) -> list:
    """Losses that fall from about 10 to about 1 within the first epochs."""
    rng = np.random.default_rng(1)
    epoch = np.arange(EPOCHS)[:, None]
    return [
        run(f"run {k}", "conal", 9 * np.exp(-2.0 * epoch) + 1 + 0.05 * k + 0.01 * rng.random((EPOCHS, seeds)))
        for k in range(n)
    ]


def named(fig, name, mode):
    return [t for t in fig.data if t.name == name and t.mode == mode]


def subtitle(fig) -> str:
    return fig.layout.title.subtitle.text.replace("<br>", " · ")


def test_curves_are_the_means_within_a_band_of_one_deviation(bands):
    fig = figures.learning_curves(bands, "accuracy", selected=[np.array([2, 2, 4])] * 3)
    for b in bands:
        area, line = named(fig, b.name, "lines")
        some = ~np.isnan(b.mean)
        assert np.array_equal(line.x, b.x[some])
        assert np.array_equal(line.y, b.mean[some])
        n = some.sum()
        spread = np.nan_to_num(b.std[some])
        assert area.y[:n] == pytest.approx(np.minimum(b.mean[some] + spread, 1))
        assert area.y[n:][::-1] == pytest.approx(np.maximum(b.mean[some] - spread, 0))
        [mark] = named(fig, b.name, "markers")
        assert (mark.x[0], mark.y[0]) == (2.0, b.mean[1])
    assert subtitle(fig).startswith("mean over seeds")


def test_the_diamond_is_at_an_epoch_that_a_seed_selected():
    values = np.array([[0.6, 0.6], [0.9, 0.9], [0.5, 0.5], [0.9, 0.9]])
    fig = figures.learning_curves([run("one", "conal", values)], "accuracy", selected=[np.array([4, 2])])
    [mark] = named(fig, "one", "markers")
    assert (mark.x[0], mark.y[0]) == (2.0, 0.9)


def test_no_two_runs_look_alike(bands):
    fig = figures.learning_curves(bands, "accuracy")
    lines = [named(fig, b.name, "lines")[-1].line for b in bands]
    assert [line.color for line in lines[:2]] == [theme.method_color("conal"), theme.method_color("trace")]
    many = [run(f"run {k}", ("conal", "vanilla", "dl-mv")[k % 3], np.full((4, 1), k / 40)) for k in range(30)]
    drawn = figures.learning_curves(many, "loss", percent=False).data
    styles = [(t.line.color, t.line.dash) for t in drawn if t.mode == "lines" and t.line.width == 2]
    assert len(styles) == len(set(styles)) == 30


def test_the_smooth_line_is_declared_and_what_was_measured_stays():
    [b] = falling(1)
    fig = figures.learning_curves([b], "loss", percent=False, smooth=3)
    _, raw, line = named(fig, b.name, "lines")
    assert np.array_equal(raw.y, b.mean)
    padded = np.concatenate([[np.nan], b.mean, [np.nan]])
    assert line.y == pytest.approx(np.nanmean([padded[:-2], padded[1:-1], padded[2:]], 0))
    assert "mean of 3 epochs" in subtitle(fig)
    assert np.array_equal(line.customdata[:, 2].astype(float), b.mean)


def test_first_epochs_do_not_squash_the_rest_and_the_figure_says_so():
    fig = figures.learning_curves(falling(2), "loss", percent=False)
    bottom, top = fig.layout.yaxis.range
    assert bottom < 1.0 and 1.06 < top < 1.4
    assert "epochs 1–2" in subtitle(fig)
    whole = figures.learning_curves(falling(2), "loss", percent=False, all_values=True)
    assert whole.layout.yaxis.range[1] > 10
    assert "off the axis" not in subtitle(whole)
    level = figures.learning_curves([run("one", "conal", np.linspace(1, 2, 20)[:, None])], "loss", percent=False)
    assert level.layout.yaxis.range[0] < 1 < 2 < level.layout.yaxis.range[1]
    assert "off the axis" not in subtitle(level)


def test_a_peak_among_the_first_epochs_stays_in_sight():
    values = np.concatenate([[0.2, 0.88], np.full(18, 0.8) + 0.001 * np.arange(18)])[:, None]
    fig = figures.learning_curves([run("one", "conal", values)], "accuracy")
    assert fig.layout.yaxis.range[0] > 0.5
    assert fig.layout.yaxis.range[1] > 0.88
    late = figures.learning_curves([run("one", "conal", values)], "accuracy", selected=[np.array([1])])
    assert late.layout.yaxis.range[0] < 0.2, "the selected epoch is always in sight"


def test_more_than_four_runs_have_names_at_their_ends_instead_of_bands():
    bands = falling(7)
    fig = figures.learning_curves(bands, "loss", percent=False)
    assert not [t for t in fig.data if t.fill]
    assert fig.layout.showlegend is False
    assert subtitle(fig).startswith("mean over seeds ·")
    labels = {a.text.partition("</span> ")[2]: a for a in fig.layout.annotations}
    assert labels.keys() == {b.name for b in bands}
    places = [labels[b.name].y for b in bands]
    assert places == sorted(places)
    bottom, top = fig.layout.yaxis.range
    assert min(np.diff(places)) >= 15.9 * (top - bottom) / 250
    assert bottom <= min(places) and max(places) <= top
    assert all(a.x <= fig.layout.xaxis.range[1] for a in labels.values()), "Plotly hides what is off the axis"
    lines = {t.name: t for t in fig.data if t.line.width == 2}
    assert all(line.line.color in labels[name].text for name, line in lines.items())


def test_logarithmic_axes():
    fig = figures.learning_curves(falling(6), "loss", percent=False, log_epochs=True, log_values=True, until=50)
    assert (fig.layout.xaxis.type, fig.layout.yaxis.type) == ("log", "log")
    assert fig.layout.xaxis.range == (0, pytest.approx(np.log10(50)))
    assert fig.layout.annotations[0].x == pytest.approx(np.log10(20 * 1.03**2))
    bottom, top = 10 ** np.array(fig.layout.yaxis.range)
    assert bottom < 1 and top > 10
    assert "off the axis" not in subtitle(fig)
    below = figures.learning_curves([run("one", "conal", np.array([[-1.0], [1.0]]))], "loss", log_values=True)
    assert below.layout.yaxis.type == "linear"
    assert "not above 0" in subtitle(below)


@pytest.mark.parametrize("values", [np.zeros((0, 2)), np.full((1, 2), 0.5), np.full((3, 2), np.nan)])
def test_nothing_or_one_epoch_draws(values):
    fig = figures.learning_curves([run("one", "conal", values)], "accuracy", selected=[np.array([1, 1])], smooth=3)
    assert fig.layout.xaxis.range == (0, 2)
    assert fig.to_dict()


def test_a_loss_is_no_percentage(bands):
    assert figures.learning_curves(bands, "loss", percent=False).layout.yaxis.tickformat is None
    assert "%" in figures.learning_curves(bands, "accuracy").layout.yaxis.tickformat
