"""Heatmaps and their colours: numbers, plain cells, windows, images, one legible scale."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image
from plotly.colors import sample_colorscale, unlabel_rgb

from crowdcore import figures
from crowdcore.figures import theme
from crowdcore.figures.heatmap import IMAGE_SIDE, MAX_CELLS, MAX_LABELS, MAX_NUMBERS, heatmap, window
from crowdcore.figures.theme import LEAST, on_scale, percent_ticks, probability_axis, readable
from tests.figures.cells import inks, words
from tests.figures.test_theme import contrast


def square(n: int, **settings):
    values = np.arange(n * n, dtype=float).reshape(n, n)
    names = [f"name {k}" for k in range(n)]
    return values, heatmap(values, names, names, text=values.astype(str), **settings)


def test_small_matrices_carry_numbers_and_names():
    values, fig = square(4)
    (trace,) = fig.data
    np.testing.assert_array_equal(trace.z, values)
    assert words(trace.text)[1][2] == "6.0"
    assert fig.layout.yaxis.ticktext == ("name 0", "name 1", "name 2", "name 3")
    assert fig.layout.yaxis.range == (3.5, -0.5), "row 0 is at the top"
    assert (fig.layout.coloraxis.cmin, fig.layout.coloraxis.cmax) == (0, 15)


@pytest.mark.parametrize(
    ("n", "numbers", "names"),
    [(MAX_NUMBERS, True, True), (MAX_NUMBERS + 1, False, True), (MAX_LABELS + 1, False, False)],
)
def test_text_goes_when_there_is_no_room(n, numbers, names):
    _, fig = square(n)
    assert (fig.data[0].text is not None) == numbers
    assert fig.layout.xaxis.showticklabels == names


@pytest.mark.parametrize("n", [4, 20])
def test_long_names_below_do_not_take_the_height_of_the_cells(n):
    short, long = (
        heatmap(np.eye(n), [f"{k}{end}" for k in range(n)], [f"{k}{end}" for k in range(n)]) for end in ("", 60 * "n")
    )
    letters, tall = 40, np.sin(np.radians(40 if n == 4 else 90))
    assert long.layout.height - short.layout.height >= 6 * tall * (letters - 16) * 0.95


def test_many_long_names_are_small_short_and_all_different():
    names = [f"A family of insects with a very long name, species {k:02d}" for k in range(60)]
    fig = heatmap(np.eye(60), names, names)
    shown = fig.layout.yaxis.ticktext
    assert len(set(shown)) == 60
    assert max(map(len, shown)) <= 16
    assert shown[7].startswith("A fami") and shown[7].endswith("s 07")
    assert fig.layout.yaxis.tickfont.size == fig.layout.xaxis.tickfont.size == 8
    middle = [f"Species number {k:02d} of a family with a long name" for k in range(60)]
    shown = heatmap(np.eye(60), middle, middle).layout.yaxis.ticktext
    assert len(set(shown)) == 60
    assert shown[7] == "…07 of a family…"
    few = heatmap(np.eye(2), names[:2], names[:2]).layout.yaxis
    assert few.ticktext[1].endswith("species 01")
    assert few.tickfont.size is None


def picture(fig) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(fig.data[0].source.split(",")[1])))


def test_large_matrices_are_images_with_the_colours_of_the_scale():
    n = MAX_CELLS + 1
    values = np.tile(np.linspace(0, 1, n), (n, 1))
    values[0] = np.nan
    fig = heatmap(values, range(n), range(n))
    image = np.asarray(picture(fig).convert("RGBA"))
    assert image.shape == (n, n, 4)
    assert (image[0, :, 3] == 0).all(), "NaN is see-through"
    assert (image[1:, :, 3] == 255).all()
    np.testing.assert_allclose(image[1, 0, :3], [0x00, 0x22, 0x4E], atol=2)
    np.testing.assert_allclose(image[1, -1, :3], [0xFE, 0xE8, 0x38], atol=2)
    assert fig.layout.coloraxis.colorbar.thickness is not None


def test_very_large_matrices_are_averaged_and_keep_their_coordinates():
    n = 3 * IMAGE_SIDE
    values = np.random.default_rng(0).random((n, n))
    fig = heatmap(values, range(n), range(n))
    assert picture(fig).size == (IMAGE_SIDE, IMAGE_SIDE)
    trace = fig.data[0]
    assert trace.dx * IMAGE_SIDE == n
    assert trace.x0 - trace.dx / 2 == pytest.approx(-0.5)
    assert len(fig.to_json()) < 1_500_000


def test_constant_and_empty_matrices_can_be_drawn():
    names = ["a", "b"]
    assert heatmap(np.ones((2, 2)), names, names).layout.coloraxis.cmax == 2
    assert heatmap(np.full((2, 2), np.nan), names, names).layout.coloraxis.cmax == 1


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12), st.integers(0, 999), st.data())
def test_cells_are_means_of_what_is_visible(n_rows, n_columns, most, seed, data):
    rng = np.random.default_rng(seed)
    matrix = rng.random((n_rows, n_columns))
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    r0 = data.draw(st.integers(0, n_rows - 1))
    r1 = data.draw(st.integers(r0, n_rows - 1))
    c0 = data.draw(st.integers(0, n_columns - 1))
    c1 = data.draw(st.integers(c0, n_columns - 1))
    part = window(matrix, (r1 + 0.4, r0 - 0.4), (c0 - 0.4, c1 + 0.4), most)  # row axes run downwards
    assert (part.row_start, part.column_start) == (r0, c0)
    assert max(part.values.shape) <= most
    seen = matrix[r0 : r1 + 1, c0 : c1 + 1]
    for i, j in np.ndindex(part.values.shape):
        block = seen[i * part.row_step : (i + 1) * part.row_step, j * part.column_step : (j + 1) * part.column_step]
        known = block[~np.isnan(block)]
        assert part.values[i, j] == pytest.approx(known.mean() if len(known) else np.nan, nan_ok=True, abs=1e-6)
    covered = part.values.shape[0] * part.row_step, part.values.shape[1] * part.column_step
    assert covered[0] >= seen.shape[0] > covered[0] - part.row_step
    assert covered[1] >= seen.shape[1] > covered[1] - part.column_step


def test_a_range_beyond_the_matrix_is_cut():
    part = window(np.eye(4), (-7, 9), (3.4, 20), 10)
    assert part.values.tolist() == [[0], [0], [0], [1]]
    assert (part.row_start, part.column_start) == (0, 3)


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
