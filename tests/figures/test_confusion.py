"""Confusions side by side."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures
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
