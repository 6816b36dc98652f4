"""Learning curves show the numbers they were given, and say what they leave out or change."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import figures
from crowdcore.analysis import band
from crowdcore.figures import theme

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
    assert subtitle(fig).startswith("mean over seeds ± standard deviation")


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


def test_one_seed_has_no_deviation():
    fig = figures.learning_curves([run("one", "conal", np.full((3, 1), 0.5))], "accuracy")
    assert [t.mode for t in fig.data] == ["lines"]
    assert subtitle(fig) == "one seed each"
    assert "±" not in fig.data[0].hovertemplate


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
