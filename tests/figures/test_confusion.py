"""Confusions and heatmaps."""

from __future__ import annotations

import base64
import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image
from plotly.colors import sample_colorscale, unlabel_rgb

import crowdcore as cc
from crowdcore import figures
from crowdcore.analysis import shared_mistakes
from crowdcore.figures import theme
from crowdcore.figures.heatmap import IMAGE_SIDE, MAX_CELLS, MAX_LABELS, MAX_NUMBERS, heatmap, window
from crowdcore.figures.theme import LEAST, on_scale, percent_ticks, probability_axis, readable
from testkit.crowds import simulate_crowd
from tests.figures.cells import inks, words
from tests.figures.test_theme import contrast, luminance

CLASSES = ("cat", "dog", "fox")
ONE = np.array([[0.75, 0.25, 0.0], [0.1, 0.9, 0.0], [np.nan] * 3])
CROWD = np.array([[0.5, 0.3, 0.2], [0.0, 0.996, 0.004], [0.0, 0.0, 1.0]])


def test_one_matrix_with_its_numbers():
    counts = np.array([[3, 1, 0], [1, 9, 0], [0, 0, 0]])
    fig = figures.confusion(ONE, CLASSES, counts=counts, title="w1", subtitle="reference: gold")
    shown, unknown = fig.data
    assert words(shown.text) == [["75", "25", ""], ["10", "90", ""], ["–"] * 3]
    assert shown.customdata[0][1] == "<b>cat → dog</b><br>25.0 % (1 of 4)"
    assert shown.customdata[2][0] == "<b>fox → cat</b><br>no labels on fox"
    assert shown.z[0][2] == 0
    np.testing.assert_array_equal(np.asarray(unknown.z) == 1, np.isnan(ONE))
    assert list(fig.layout.xaxis.ticktext) == list(CLASSES)
    assert (fig.layout.coloraxis.cmin, fig.layout.coloraxis.cmax) == (0, 1)
    assert fig.layout.title.text == "w1"


def test_two_matrices_and_their_difference_share_rows_and_scale():
    fig = figures.confusion([ONE, CROWD], CLASSES, names=["w1", "the crowd"], difference=True)
    assert [t.coloraxis for t in fig.data if t.coloraxis] == ["coloraxis", "coloraxis", "coloraxis2"]
    assert {t.yaxis for t in fig.data} <= {None, "y"}
    domains = [fig.layout[axis].domain for axis in ("xaxis", "xaxis2", "xaxis3")]
    assert all(a[1] < b[0] for a, b in pairwise(domains))
    assert [note.text for note in fig.layout.annotations] == ["<b>w1</b>", "<b>the crowd</b>", "<b>w1 − the crowd</b>"]
    difference = next(t for t in fig.data if t.coloraxis == "coloraxis2")
    np.testing.assert_allclose(difference.z[0], [0.25, -0.05, -0.2], rtol=1e-6)
    assert words(difference.text)[0] == ["+25", "−5", "−20"]
    assert difference.customdata[0][0].endswith("+25.0 percentage points")
    assert difference.customdata[2][0].endswith("not comparable")
    assert fig.layout.coloraxis2.cmax == -fig.layout.coloraxis2.cmin == pytest.approx(0.25)


@pytest.mark.parametrize(("scale_max", "top"), [(None, 0.3), (0.6, 0.6)])
def test_small_values_get_their_own_scale(scale_max, top):
    fig = figures.confusion(np.full((3, 3), 0.3), CLASSES, scale_max=scale_max)
    assert fig.layout.coloraxis.cmax == pytest.approx(top)


def test_a_dark_page_has_dark_zeros_in_a_difference():
    light, dark = (figures.confusion([ONE, CROWD], CLASSES, difference="only", dark=d) for d in (False, True))
    middle = [fig.layout.coloraxis2.colorscale[2][1] for fig in (light, dark)]
    assert luminance(middle[0]) > 0.7
    assert luminance(middle[1]) < 0.02


def test_small_probabilities_differ_on_a_logarithmic_scale():
    fig = figures.confusion(CROWD, CLASSES, scale="log")
    np.testing.assert_allclose(np.asarray(fig.data[0].z)[1], [-3, np.log10(0.996), np.log10(0.004)], rtol=1e-5)


def test_many_classes_are_averaged():
    matrix = np.eye(700)
    fig = figures.confusion(matrix, [f"c{k}" for k in range(700)])
    z = np.asarray(fig.data[0].z)
    assert z.shape == (234, 234)
    assert z[0, 0] == pytest.approx(1 / 3) and z[0, 1] == 0
    assert (fig.data[0].x0, fig.data[0].dx) == (1.0, 3)
    assert len(fig.to_json()) < 3e6
    middle = figures.confusion(np.eye(60), [f"class {k}" for k in range(60)])
    assert middle.data[0].text is None and middle.data[0].customdata is not None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"matrix": np.eye(2)}, r"`matrix` must have the shape \(3, 3\) or \(K, 3, 3\), but got \(2, 2\)"),
        ({"matrix": ONE, "names": ["a", "b"]}, "`names` must hold 1 names, but got 2"),
        ({"matrix": ONE, "difference": True}, "`difference` must compare two matrices, but got '1 matrices'"),
        ({"matrix": ONE, "counts": np.ones((2, 3, 3))}, r"`counts` must have the shape \(1, 3, 3\)"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(cc.SettingError, match=sentence):
        figures.confusion(classes=CLASSES, **arguments)


rng = np.random.default_rng(0)
GRID = rng.dirichlet(np.ones(3), (4, 3))
NAMES = ["truth", "seed 0", "seed 1", "observed"]


def z_of(fig):
    return np.asarray(fig.data[0].z)


def places(fig, columns: int):
    """Cell of the figure -> matrix, true class, given label."""
    cells = np.ndindex(z_of(fig).shape)
    return {cell: place for cell in cells if (place := figures.grid_cell(*cell, 3, columns)) is not None}


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_every_cell_lies_where_a_click_finds_it(columns):
    fig = figures.confusion_grid(GRID, CLASSES, names=NAMES, columns=columns)
    values = {place: z_of(fig)[cell] for cell, place in places(fig, columns).items() if place[0] < 4}
    assert sorted(values) == sorted(np.ndindex(GRID.shape))
    for place, value in values.items():
        assert value == pytest.approx(GRID[place], rel=1e-6)


@pytest.mark.parametrize(("columns", "room"), [(2, 26), (3, 17)])
def test_a_long_name_ends_before_the_next_matrix(columns, room):
    names = [f"crowd-layer with rather many settings {n}" for n in range(4)]
    fig = figures.confusion_grid(GRID, CLASSES, names=names, columns=columns)
    written = [note.text.removeprefix("<b>").removesuffix("</b>") for note in fig.layout.annotations]
    assert len(written) == 4
    assert all(text.startswith("crowd-layer") and len(text) <= room for text in written)


def test_the_pointer_shows_the_numbers():
    spread, counts = np.full(GRID.shape, np.nan), np.full(GRID.shape, np.nan)
    spread[1] = 0.031
    counts[3] = [[3, 1, 0], [0, 9, 0], [0, 0, 0]]
    grid = GRID.copy()
    grid[3, 2] = np.nan
    fig = figures.confusion_grid(grid, CLASSES, names=NAMES, spread=spread, counts=counts)
    lines = np.asarray(fig.data[0].customdata)
    words = {place: lines[cell] for cell, place in places(fig, 3).items()}
    assert words[1, 0, 2] == f"<b>cat → fox</b><br>{100 * GRID[1, 0, 2]:.1f} % ± 3.1<br>seed 0"
    assert words[3, 0, 1] == f"<b>cat → dog</b><br>{100 * GRID[3, 0, 1]:.1f} % (1 of 4)<br>observed"
    assert "no labels on fox" in words[3, 2, 0]
    grey = np.asarray(fig.data[1].z)
    assert {place[:2] for cell, place in places(fig, 3).items() if grey[cell] == 1} == {(3, 2)}


def test_names_stand_above_and_errors_beneath():
    fig = figures.confusion_grid(GRID, CLASSES, names=NAMES, below=["", "error 0.0100", "error 0.0200", ""])
    words = [note.text for note in fig.layout.annotations]
    assert words == [
        "<b>truth</b>",
        "<b>seed 0</b>",
        "error 0.0100",
        "<b>seed 1</b>",
        "error 0.0200",
        "<b>observed</b>",
    ]
    assert list(fig.layout.xaxis.ticktext) == [*CLASSES] * 3
    assert list(fig.layout.yaxis.ticktext) == [*CLASSES] * 2


def test_a_missing_matrix_leaves_its_place_empty():
    grid = GRID.copy()
    grid[2] = np.nan
    fig = figures.confusion_grid(grid, CLASSES, names=NAMES)
    grey = np.asarray(fig.data[1].z)
    for cell, place in places(fig, 3).items():
        assert np.isnan(grey[cell])
        assert np.isnan(z_of(fig)[cell]) == (place[0] == 2 or place[0] > 3)


def test_without_the_diagonal_colours_reach_to_the_largest_mistake():
    fig = figures.confusion_grid(GRID, CLASSES, names=NAMES, diagonal=False)
    assert fig.layout.coloraxis.cmax == pytest.approx(GRID[:, ~np.eye(3, dtype=bool)].max())
    for cell, (k, true, place) in places(fig, 3).items():
        assert np.isnan(z_of(fig)[cell]) == (true == place or k > 3)
    assert np.isnan(np.asarray(fig.data[1].z)).all(), "only unknown rows are grey"
    assert figures.confusion_grid(GRID, CLASSES, names=NAMES).layout.coloraxis.cmax == 1


def test_many_classes_are_averaged_and_clicks_still_land():
    n = 150
    grid = np.broadcast_to(np.eye(n), (2, n, n))
    fig = figures.confusion_grid(grid, [f"c{k}" for k in range(n)], names=["learnt", "observed"])
    assert max(z_of(fig).shape) < 130
    assert z_of(fig)[0, 0] == pytest.approx(1 / 3)
    assert figures.grid_cell(1, 2, n) == (0, 3, 6)
    assert len(fig.to_json()) < 1e6


def test_refusals_of_a_grid():
    with pytest.raises(cc.SettingError, match="`matrices`"):
        figures.confusion_grid(GRID[:1], CLASSES, names=NAMES)
    with pytest.raises(cc.SettingError, match="`counts`"):
        figures.confusion_grid(GRID, CLASSES, names=NAMES, counts=np.ones((2, 2)))


@pytest.fixture(scope="module")
def result():
    return shared_mistakes(simulate_crowd(n_workers=30, accuracy=0.9), n_resamples=50)


def test_cells_are_percentages_without_the_diagonal(result):
    fig = figures.shared_mistakes(result)
    shown = np.array(fig.data[0].z)
    assert np.isnan(np.diag(shown)).all()
    off = ~np.eye(4, dtype=bool) & (result.percent > 0)
    np.testing.assert_array_equal(shown[off], result.percent[off])
    assert words(fig.data[0].text)[0][1] == f"{result.percent[0, 1]:.1f}"
    assert "reference: gold" in fig.layout.title.subtitle.text
    assert fig.layout.xaxis.title.text == "given label"
    np.testing.assert_array_equal(np.array(figures.shared_mistakes(result, diagonal=True).data[0].z), result.percent)


def test_pointing_at_a_cell_tells_what_is_behind_it(result):
    words = figures.shared_mistakes(result).data[0].customdata[0][1]
    assert "class 0 → class 1" in words
    assert f"{result.percent[0, 1]:.1f} % of 30 workers" in words
    assert "interval" in words
    assert "by chance" in words


def test_empty_cells_stay_there_to_be_clicked():
    result = shared_mistakes(simulate_crowd(n_tasks=8, n_classes=6, accuracy=0.8))
    under = figures.shared_mistakes(result).data[1]
    empty = (result.percent == 0) | np.eye(6, dtype=bool)
    np.testing.assert_array_equal(np.isfinite(np.array(under.z, float)), empty)


def test_dots_mark_exactly_the_significant_cells(data_folder):
    result = shared_mistakes(cc.load_dataset("music"))
    dots = figures.shared_mistakes(result).data[-1]
    marked = set(zip(np.round(dots.y).astype(int).tolist(), np.round(dots.x - 0.36).astype(int).tolist(), strict=True))
    assert marked == set(zip(*(part.tolist() for part in np.nonzero(result.q_value <= 0.05)), strict=True))
    assert len(marked) > 3
    assert "q ≤ 0.05" in dots.name
    assert len(figures.shared_mistakes(result, significance=False).data) == 2


@pytest.mark.parametrize("layer", ["workers", "tasks", "annotations"])
def test_other_layers_show_their_numbers(result, layer):
    shown = np.array(figures.shared_mistakes(result, layer).data[0].z)
    assert shown[0, 1] == getattr(result, layer)[0, 1]


def test_q_values_are_drawn_by_their_power_of_ten(result):
    fig = figures.shared_mistakes(result, "q-value")
    np.testing.assert_allclose(np.array(fig.data[0].z)[0, 1], -np.log10(result.q_value[0, 1]), atol=1e-12)
    assert fig.layout.coloraxis.colorbar.ticktext[0] == "1"


def test_a_layer_that_is_none_is_refused(result):
    with pytest.raises(cc.SettingError, match="percent, workers"):
        figures.shared_mistakes(result, "share")


def test_two_hundred_classes_stay_small_and_beyond_three_hundred_it_is_an_image():
    fig = figures.shared_mistakes(shared_mistakes(simulate_crowd(n_tasks=3000, n_classes=200)))
    assert len(fig.to_json()) < 1_000_000
    fig = figures.shared_mistakes(shared_mistakes(simulate_crowd(n_tasks=3000, n_classes=301)))
    assert fig.data[0].type == "image"
    assert len(fig.to_json()) < 1_000_000


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
