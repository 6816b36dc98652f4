"""Confusions side by side."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures

CLASSES = ("cat", "dog", "fox")
ONE = np.array([[0.75, 0.25, 0.0], [0.1, 0.9, 0.0], [np.nan] * 3])
CROWD = np.array([[0.5, 0.3, 0.2], [0.0, 0.996, 0.004], [0.0, 0.0, 1.0]])


def test_one_matrix_with_its_numbers():
    counts = np.array([[3, 1, 0], [1, 9, 0], [0, 0, 0]])
    fig = figures.confusion(ONE, CLASSES, counts=counts, title="w1", subtitle="reference: gold")
    shown, faint = fig.data
    assert np.asarray(shown.text).tolist() == [[".75", ".25", ""], [".10", ".90", ""], ["", "", ""]]
    assert shown.customdata[0][1] == "<b>cat → dog</b><br>25.0% (1 of 4)"
    assert shown.customdata[2][0] == "<b>fox → cat</b><br>no labels on fox"
    z = np.asarray(faint.z)
    assert z[0, 2] == 0 and z[2, 2] == 1 and np.isnan(z[0, 0])  # zero, unknown, shown
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
    difference = fig.data[4]
    np.testing.assert_allclose(difference.z[0], [0.25, -0.05, -0.2], rtol=1e-6)
    assert np.asarray(difference.text)[0].tolist() == ["+.25", "−.05", "−.20"]
    assert difference.customdata[0][0].endswith("+25.0%")
    assert difference.customdata[2][0].endswith("not comparable")
    assert fig.layout.coloraxis2.cmax == -fig.layout.coloraxis2.cmin == pytest.approx(0.25)


@pytest.mark.parametrize(("scale_max", "top"), [(None, 0.3), (0.6, 0.6)])
def test_small_values_get_their_own_scale(scale_max, top):
    fig = figures.confusion(np.full((3, 3), 0.3), CLASSES, scale_max=scale_max)
    assert fig.layout.coloraxis.cmax == pytest.approx(top)


def test_many_classes_are_averaged():
    matrix = np.eye(700)
    fig = figures.confusion(matrix, [f"c{k}" for k in range(700)])
    z = np.asarray(fig.data[0].z)
    assert z.shape == (234, 234)
    assert z[0, 0] == pytest.approx(1 / 3) and np.isnan(z[0, 1])
    assert (fig.data[0].x0, fig.data[0].dx) == (1.0, 3)
    assert len(fig.to_json()) < 3e6
    middle = figures.confusion(np.eye(60), [f"class {k}" for k in range(60)])
    assert middle.data[0].text is None and middle.data[0].customdata is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"matrix": np.eye(2)}, r"`matrix` must have the shape \(3, 3\) or \(K, 3, 3\), but got \(2, 2\)"),
        ({"matrix": ONE, "names": ["a", "b"]}, "`names` must hold 1 names, but got 2"),
        ({"matrix": ONE, "difference": True}, "`difference` must compare two matrices, but got '1 matrices'"),
        ({"matrix": ONE, "counts": np.ones((2, 3, 3))}, r"`counts` must have the shape \(1, 3, 3\)"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(cc.SettingError, match=words):
        figures.confusion(classes=CLASSES, **arguments)
