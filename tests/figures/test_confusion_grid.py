"""Many confusions in one figure."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures

CLASSES = ("cat", "dog", "fox")
rng = np.random.default_rng(0)
GRID = rng.dirichlet(np.ones(3), (2, 4, 3))
NAMES = [["common", "w1", "w2", "w3"], ["all workers", "w1", "w2", "w3"]]
ROWS = ["conal", "observed"]


def z_of(fig):
    return np.asarray(fig.data[0].z)


def test_every_cell_lies_where_a_click_finds_it():
    fig = figures.confusion_grid(GRID, CLASSES, names=NAMES, rows=ROWS)
    found = {}
    for row, column in np.ndindex(z_of(fig).shape):
        place = figures.grid_cell(row, column, 3)
        if place is not None:
            found[place] = z_of(fig)[row, column]
    assert sorted(found) == sorted(np.ndindex(GRID.shape))
    for place, value in found.items():
        assert np.isnan(value) if GRID[place] < 0.005 else value == pytest.approx(GRID[place], rel=1e-6)


def test_the_pointer_shows_the_numbers():
    spread, counts = np.full(GRID.shape, np.nan), np.full(GRID.shape, np.nan)
    spread[0] = 0.031
    counts[1, 2] = [[3, 1, 0], [0, 9, 0], [0, 0, 0]]
    grid = GRID.copy()
    grid[1, 2, 2] = np.nan
    fig = figures.confusion_grid(grid, CLASSES, names=NAMES, rows=ROWS, spread=spread, counts=counts)
    words = {figures.grid_cell(r, c, 3): text for (r, c), text in np.ndenumerate(np.asarray(fig.data[0].customdata))}
    assert words[0, 1, 0, 2] == f"<b>cat → fox</b><br>{GRID[0, 1, 0, 2]:.1%} ± 3.1%<br>w1, conal"
    assert words[1, 2, 0, 1] == f"<b>cat → dog</b><br>{GRID[1, 2, 0, 1]:.1%} (1 of 4)<br>w2, observed"
    assert "no labels on fox" in words[1, 2, 2, 0]


def test_a_missing_matrix_leaves_its_place_empty():
    grid = GRID.copy()
    grid[1, 0] = np.nan
    fig = figures.confusion_grid(grid, CLASSES, names=NAMES, rows=ROWS)
    empty = np.asarray(fig.data[1].z)
    for (r, c), value in np.ndenumerate(empty):
        place = figures.grid_cell(r, c, 3)
        if place is None or place[:2] == (1, 0):
            assert np.isnan(value)
            assert np.isnan(z_of(fig)[r, c])
    assert "all workers" not in [note.text for note in fig.layout.annotations]


def test_without_the_diagonal_colours_reach_to_the_largest_mistake():
    fig = figures.confusion_grid(GRID, CLASSES, names=NAMES, rows=ROWS, diagonal=False)
    off = GRID[..., ~np.eye(3, dtype=bool)]
    assert fig.layout.coloraxis.cmax == pytest.approx(off.max())
    for a in range(3):
        row, column = next((r, c) for r, c in np.ndindex(z_of(fig).shape) if figures.grid_cell(r, c, 3) == (0, 0, a, a))
        assert np.isnan(z_of(fig)[row, column])
    assert figures.confusion_grid(GRID, CLASSES, names=NAMES, rows=ROWS).layout.coloraxis.cmax == 1


def test_many_classes_are_averaged_and_clicks_still_land():
    n = 150
    grid = np.broadcast_to(np.eye(n), (1, 2, n, n))
    fig = figures.confusion_grid(grid, [f"c{k}" for k in range(n)], names=[["common", "w1"]])
    assert max(z_of(fig).shape) < 130
    assert z_of(fig)[0, 0] == pytest.approx(1 / 3)
    assert figures.grid_cell(1, 2, n) == (0, 0, 3, 6)
    assert len(fig.to_json()) < 1e6


def test_refusals():
    with pytest.raises(cc.SettingError, match=r"`matrices` must have the shape \(2, 4, 3, 3\)"):
        figures.confusion_grid(GRID[:1], CLASSES, names=NAMES, rows=ROWS)
    with pytest.raises(cc.SettingError, match="`counts` must have the shape"):
        figures.confusion_grid(GRID, CLASSES, names=NAMES, rows=ROWS, counts=np.ones((2, 2)))
