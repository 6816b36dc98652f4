"""Heatmaps of confusions and of shared mistakes show the numbers of the result and no others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures
from crowdcore.analysis import shared_mistakes
from testkit.crowds import simulate_crowd
from tests.figures.cells import words
from tests.figures.test_theme import luminance

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
    found = {place: z_of(fig)[cell] for cell, place in places(fig, columns).items() if place[0] < 4}
    assert sorted(found) == sorted(np.ndindex(GRID.shape))
    for place, value in found.items():
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
    for cell, (k, true, given) in places(fig, 3).items():
        assert np.isnan(z_of(fig)[cell]) == (true == given or k > 3)
    assert np.isnan(np.asarray(fig.data[1].z)).all(), "only unknown rows are grey"
    assert figures.confusion_grid(GRID, CLASSES, names=NAMES).layout.coloraxis.cmax == 1


def test_a_logarithmic_scale_keeps_zeros():
    grid = np.eye(3)[None]
    z = z_of(figures.confusion_grid(grid, CLASSES, names=["learnt"], scale="log"))
    assert sorted(set(z[~np.isnan(z)].tolist())) == [-3, 0]


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
