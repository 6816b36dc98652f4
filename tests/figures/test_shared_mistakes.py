"""The heatmap of shared mistakes shows the numbers of the result and no others."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures
from crowdcore.analysis import shared_mistakes
from testkit.crowds import simulate_crowd
from tests.figures.cells import words


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
