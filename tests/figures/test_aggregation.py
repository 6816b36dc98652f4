"""Figures of aggregators show the numbers they were given, one colour per method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import figures
from crowdcore.analysis import calibration as calibrated, credible_intervals
from crowdcore.analysis.labels.disagreement import label_disagreement
from crowdcore.figures import theme
from tests.figures.cells import words


@pytest.fixture
def results(crowd):
    return {name: cc.aggregation.get(name).fit(crowd) for name in ("majority-vote", "dawid-skene", "one-coin")}


def test_every_aggregator_has_a_colour_of_its_own():
    colors = [theme.method_color(name) for name in cc.aggregation.names()]
    assert len(set(colors)) == len(colors)


def test_disagreement_in_percent_with_an_empty_diagonal(crowd, results):
    found = label_disagreement(crowd, {"gold": "gold", **results})
    fig = figures.label_disagreement(found)
    shown = np.array(fig.data[0].z, float)
    assert np.isnan(np.diag(shown)).all()
    off = ~np.eye(4, dtype=bool)
    assert shown[off] == pytest.approx(100 * found.share[off])
    assert words(fig.data[0].text)[0][1] == f"{100 * found.share[0, 1]:.1f}"
    assert f"differ on {found.differ[0, 1]} of {crowd.n_tasks} tasks" in fig.data[0].customdata[0][1]
    assert f"one-coin on {found.row_right[3, 2]}" in fig.data[0].customdata[2][3]


def test_without_gold_nobody_is_said_to_be_right(crowd, results):
    blind = replace(crowd, gold=np.full(crowd.n_tasks, -1))
    fig = figures.label_disagreement(label_disagreement(blind, results))
    assert not any("right" in words for row in fig.data[0].customdata for words in row)


def test_one_labelling_alone(crowd, results):
    fig = figures.label_disagreement(label_disagreement(crowd, {"ds": results["dawid-skene"]}))
    assert np.isnan(np.array(fig.data[0].z, float)).all()


def test_reliability_curves(crowd, results):
    curves = {name: calibrated(found, crowd.gold) for name, found in results.items()}
    fig = figures.calibration(curves)
    for line, trace, (name, curve) in zip(fig.data[1::2], fig.data[2::2], curves.items(), strict=True):
        assert np.array_equal(line.x, curve.bin_confidence[curve.n_tasks >= 10])
        assert line.line.color == theme.method_color(name)
        some = curve.n_tasks > 0
        assert np.array_equal(trace.x, curve.bin_confidence[some])
        assert np.array_equal(trace.y, curve.bin_accuracy[some])
        assert np.allclose(trace.y + trace.error_y.array, curve.high[some])
        assert np.allclose(trace.y - trace.error_y.arrayminus, curve.low[some])
        assert trace.name == f"{name} ({100 * curve.error:.1f} %)"
        assert trace.marker.color == theme.method_color(name)
        assert trace.error_y.visible


def test_two_settings_of_a_method_share_its_colour_but_not_its_dash(crowd, results):
    curve = calibrated(results["dawid-skene"], crowd.gold)
    fig = figures.calibration({"dawid-skene": curve, "dawid-skene smoothing=1": curve})
    first, second = fig.data[1::2]
    assert first.line.color == second.line.color
    assert first.line.dash != second.line.dash


def test_objective_curves_leave_out_closed_forms(crowd, results):
    fig = figures.log_likelihood(results, crowd.n_annotations)
    named = [trace for trace in fig.data if trace.name]
    assert [trace.name for trace in named] == ["dawid-skene", "one-coin"]
    for trace in named:
        assert np.allclose(trace.y * crowd.n_annotations, results[trace.name].log_likelihood)
        assert trace.x[0] == 1
    gaps = figures.log_likelihood(results, crowd.n_annotations, gap=True)
    assert gaps.layout.yaxis.type == "log"
    values = results["dawid-skene"].log_likelihood
    expected = (values[-1] - values[:-1]) / crowd.n_annotations
    drawn = np.array(gaps.data[0].y, float)
    assert np.allclose(drawn[~np.isnan(drawn)], expected[~np.isnan(drawn)])
    assert (expected[np.isnan(drawn)] <= 1e-12).all()


def test_confusion_with_intervals(crowd, results):
    result = results["dawid-skene"]
    intervals = credible_intervals(result)
    fig = figures.confusion_intervals(intervals, 2, crowd.classes, result.counts[2])
    assert np.allclose(np.array(fig.data[0].z, float), 100 * result.confusion[2])
    low, high = 100 * intervals.low[2, 1, 0], 100 * intervals.high[2, 1, 0]
    assert words(fig.data[0].text)[1][0].endswith(f"<sub>{low:.0f} – {high:.0f}</sub>")
    assert f"({low:.1f} – {high:.1f} %)" in fig.data[0].customdata[1][0]
    nothing = replace(intervals, estimate=np.full_like(intervals.estimate, np.nan))
    fig = figures.confusion_intervals(nothing, 0, crowd.classes)
    assert "0 with evidence" in fig.layout.title.subtitle.text
