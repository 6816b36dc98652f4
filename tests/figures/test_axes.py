"""Colour scales: legible text, ticks in per cent, one scale for all figures."""

from __future__ import annotations

import numpy as np
import pytest
from plotly.colors import sample_colorscale, unlabel_rgb

from crowdcore import figures
from crowdcore.figures import theme
from crowdcore.figures.theme import LEAST, on_scale, percent_ticks, probability_axis, readable
from tests.figures.cells import inks, words
from tests.figures.test_theme import contrast

CLASSES = ("cat", "dog", "fox")


def drawn(axis, values) -> np.ndarray:
    """(n, 3) colours that a colour axis gives to values."""
    place = np.clip((np.asarray(values) - axis["cmin"]) / (axis["cmax"] - axis["cmin"]), 0, 1)
    return np.array([unlabel_rgb(c) for c in sample_colorscale(axis["colorscale"], place, colortype="rgb")])


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_colours_do_not_jump(scale):
    values = np.concatenate([np.linspace(0, 0.02, 201), np.linspace(0.02, 1, 981)])
    axis = probability_axis(1.0, scale)
    steps = np.abs(np.diff(drawn(axis, on_scale(values, scale)), axis=0)).max(1)
    assert steps.max() < (3 if scale == "linear" else 20)
    both = drawn(axis, on_scale(np.array([0.004, 0.006]), scale))
    assert np.abs(both[0] - both[1]).max() < (3 if scale == "linear" else 20)


@pytest.mark.parametrize("matrix", [np.eye(3), np.full((3, 3), np.nan)])
def test_zeros_have_the_first_colour_and_unknown_rows_are_grey(matrix):
    fig = figures.confusion(matrix, CLASSES)
    z = np.asarray(fig.data[0].z)
    np.testing.assert_array_equal(np.isnan(z), np.isnan(matrix))
    assert (len(fig.data) == 2) == np.isnan(matrix).any()


def test_zero_is_near_a_dark_background():
    assert contrast(theme.SEQUENTIAL[0][1], "#0e1117") < 1.3


@pytest.mark.parametrize(
    ("scale", "low", "high"), [(theme.SEQUENTIAL, 0, 1), (theme.DIVERGING, -1, 1), (theme.DIVERGING_ON_DARK, -1, 1)]
)
def test_numbers_are_readable_on_every_colour(scale, low, high):
    values = np.linspace(low, high, 500)[None]
    text = readable(np.full(values.shape, "5", object), values, scale, low, high)
    assert set(words(text)[0]) == {"5"}
    place = ((values - low) / (high - low)).ravel()
    for color, ink in zip(sample_colorscale(scale, place, colortype="rgb"), inks(text)[0], strict=True):
        hexed = "#" + "".join(f"{round(part):02x}" for part in unlabel_rgb(color))
        assert contrast(hexed, ink) >= 4.4  # colours are rounded to whole bytes here


def test_a_logarithmic_axis_is_labelled_in_percent():
    axis = probability_axis(1.0, "log")
    assert axis["colorbar"]["ticktext"] == ["≤ 0.1 %", "1 %", "10 %", "100 %"]
    np.testing.assert_allclose(axis["colorbar"]["tickvals"], [-3, -2, -1, 0])
    np.testing.assert_allclose(on_scale(np.array([0.0, LEAST, 0.1]), "log"), [-3, -3, -1])


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0, 1), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        ((0, 0.06), ["0 %", "1 %", "2 %", "3 %", "4 %", "5 %", "6 %"]),
        ((0, 0.005), ["0 %", "0.1 %", "0.2 %", "0.3 %", "0.4 %", "0.5 %"]),
    ],
)
def test_ticks_are_round_percentages(ends, expected):
    assert percent_ticks(*ends)["ticktext"] == expected


def test_signed_ticks():
    assert percent_ticks(-0.2, 0.2, sign=True)["ticktext"] == ["−20 %", "−10 %", "0 %", "+10 %", "+20 %"]
