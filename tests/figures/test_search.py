"""Figures of a search: the numbers of its table, texts as texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore import figures
from crowdcore.figures import theme

TRIALS = pd.DataFrame(
    {
        "trial": [1, 2, 3],
        "run": ["a", "b", "c"],
        "state": ["finished", "failed", "finished"],
        "validation_accuracy": [0.5, np.nan, 0.75],
        "best": [0.5, 0.5, 0.75],
        "lr": [1e-3, 1e-2, 1e-4],
        "shape": ["<b>", "plain", "plain"],
    }
)


def test_the_history_shows_what_came_to_a_result() -> None:
    fig = figures.search_history(TRIALS, "conal")
    line, points = fig.data
    assert list(points.x) == [1, 3]
    assert list(points.y) == [0.5, 0.75]
    assert list(line.y) == [0.5, 0.75]
    assert points.marker.color == theme.method_color("conal")
    assert list(points.customdata[0]) == ["lr 0.001<br>shape &lt;b&gt;", "50.00 %"]


def test_the_history_names_the_score_of_the_search() -> None:
    of_spans = TRIALS.rename(columns={"validation_accuracy": "validation_span_f1"})
    fig = figures.search_history(of_spans, "crowd-layer", "validation_span_f1", "validation F1 of spans")
    assert list(fig.data[1].y) == [0.5, 0.75]
    assert fig.layout.yaxis.title.text == "validation F1 of spans"
    assert "validation" not in fig.data[1].customdata[0][0]


def test_importances_are_bars_the_largest_on_top() -> None:
    (bars,) = figures.search_importance({"a_b": 0.2, "c": 0.8}, "conal").data
    assert list(bars.y) == ["a b", "c"]
    assert list(bars.x) == pytest.approx([0.2, 0.8])
