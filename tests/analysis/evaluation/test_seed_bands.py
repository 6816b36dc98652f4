"""Bands: means and spreads over seeds, with seeds that stopped early left out."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from crowdcore.analysis import band, band_frame, smoothed
from crowdcore.core.errors import SettingError


def test_mean_and_sample_deviation_of_what_there_is():
    values = np.array([[1.0, 2.0, 6.0], [4.0, np.nan, 5.0], [7.0, np.nan, np.nan], [np.nan] * 3])
    found = band("a run", "conal", [1, 2, 3, 4], values)
    assert found.mean[:3].tolist() == [3.0, 4.5, 7.0]
    assert found.std[:2].tolist() == pytest.approx([statistics.stdev([1, 2, 6]), statistics.stdev([4, 5])])
    assert np.isnan(found.std[2:]).all()
    assert np.isnan(found.mean[3])
    assert found.n.tolist() == [3, 2, 1, 0]


def test_positions_may_hold_different_numbers_of_values():
    found = band("a run", "conal", ["a", "b"], [np.array([1.0, 3.0]), np.array([5.0])])
    assert (found.mean.tolist(), found.n.tolist()) == ([2.0, 5.0], [2, 1])


def test_one_row_of_values_per_position():
    with pytest.raises(SettingError, match="`values` must hold 2 rows"):
        band("a run", "conal", [1, 2], np.ones((3, 2)))


def test_the_table_is_long():
    bands = [band("one", "conal", [1, 2], np.ones((2, 3))), band("other", "trace", [1], np.zeros((1, 2)))]
    frame = band_frame(bands, "epoch", "loss")
    assert list(frame.columns) == ["run", "method", "epoch", "loss mean", "loss std", "values"]
    assert frame["run"].tolist() == ["one", "one", "other"]
    assert frame["loss mean"].tolist() == [1, 1, 0]
    assert list(band_frame([], "epoch", "loss").columns) == list(frame.columns)


def test_smoothing_takes_the_mean_around_each_position() -> None:
    values = np.array([[1.0, 2.0], [4.0, 4.0], [np.nan, np.nan], [0.0, 2.0]])
    b = band("one", "conal", [1, 2, 3, 4], values)
    found = smoothed(b, 3)
    np.testing.assert_allclose(found.mean, [2.75, 2.75, np.nan, 1.0])
    np.testing.assert_allclose(found.std, [b.std[:2].mean(), b.std[:2].mean(), np.nan, b.std[3]])
    assert smoothed(b, 1) is b
    for wrong in (0, 2, -1):
        with pytest.raises(SettingError, match="odd"):
            smoothed(b, wrong)
