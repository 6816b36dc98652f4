"""Small confusions side by side."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures

CLASSES = ("cat", "dog", "fox")
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


def test_refusals():
    with pytest.raises(cc.SettingError, match=r"`matrices` must have the shape \(4, 3, 3\)"):
        figures.confusion_grid(GRID[:1], CLASSES, names=NAMES)
    with pytest.raises(cc.SettingError, match="`counts` must have the shape"):
        figures.confusion_grid(GRID, CLASSES, names=NAMES, counts=np.ones((2, 2)))
