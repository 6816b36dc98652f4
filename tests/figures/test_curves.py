"""Curves, summaries and figures of aggregators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import figures
from crowdcore.analysis import (
    agreement,
    band,
    calibration as calibrated,
    credible_intervals,
    critical_difference,
    summary,
)
from crowdcore.analysis.labels.disagreement import label_disagreement
from crowdcore.figures import theme
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import make_crowd
from tests.figures.cells import words


def test_a_single_seed_has_no_band_no_bar_and_no_deviation():
    [b] = [band("one", "conal", [1, 2], np.array([[0.5], [0.6]]))]
    drawn = [
        figures.learning_curves([b], "accuracy", selected=[np.array([2])]),
        figures.accuracy_along([b], "λ"),
        figures.class_accuracy([b]),
    ]
    drawn += [figures.seed_accuracies([np.array([0.5])], [band("one", "conal", ["last"], [np.array([0.5])])])]
    for fig in drawn:
        assert "±" not in fig.to_json() and "\\u00b1" not in fig.to_json()
        assert all(t.error_y.array is None and t.error_x.array is None for t in fig.data)


def test_bars_end_at_0_and_100_percent():
    values = np.array([[0.0, 0.1, 0.4], [0.9, 1.0, 1.0]])
    b = band("conal", "conal", ["a", "b"], values)
    for fig in (figures.class_accuracy([b]), figures.accuracy_along([b], "what")):
        bars = fig.data[0].error_y
        assert b.mean[0] - bars.arrayminus[0] == pytest.approx(0)
        assert b.mean[0] + bars.array[0] == pytest.approx(b.mean[0] + np.std(values[0], ddof=1))
        assert b.mean[1] + bars.array[1] == pytest.approx(1)
    seeds = figures.seed_accuracies([values[1]], [band("conal", "conal", ["last"], [values[1]])], [0.97])
    bars, star = seeds.data[1].error_x, seeds.data[2]
    assert values[1].mean() + bars.array[0] == pytest.approx(1)
    assert (star.x[0], star.marker.symbol) == (0.97, "star")


@pytest.mark.parametrize(
    ("x", "kind", "places"),
    [
        ([0.4, 0.6, 0.8], "linear", [0.4, 0.6, 0.8]),
        ([1e-6, 1e-5, 1e-4], "log", [1e-6, 1e-5, 1e-4]),
        ([0.0, 1e-6, 1e-4], None, [0, 1, 2]),  # λ of Table 2: zero has no logarithm
        (["mw", "vw", "vw+b"], None, [0, 1, 2]),
    ],
)
def test_the_axis_suits_what_varies(x, kind, places):
    values = np.random.default_rng(1).random((3, 4))
    b = band("conal", "conal", x, values)
    fig = figures.accuracy_along([b], "what")
    [line] = fig.data
    assert list(line.x) == pytest.approx(places)
    assert np.array_equal(line.y, values.mean(1))
    assert line.error_y.array == pytest.approx(np.minimum(values.std(1, ddof=1), 1 - values.mean(1)))
    assert line.error_y.arrayminus == pytest.approx(np.minimum(values.std(1, ddof=1), values.mean(1)))
    assert fig.layout.xaxis.type == kind
    assert list(fig.layout.xaxis.ticktext) == [v if isinstance(v, str) else f"{v:g}" for v in x]


def test_every_class_has_every_run_beside_its_place():
    bands = [band(name, name, ["a", "b"], np.random.default_rng(2).random((2, 3))) for name in ("conal", "trace")]
    fig = figures.class_accuracy(bands)
    assert [np.round(t.x).tolist() for t in fig.data] == [[0, 1], [0, 1]]
    assert fig.data[0].x[0] < fig.data[1].x[0]
    assert [t.y.tolist() for t in fig.data] == [b.mean.tolist() for b in bands]
    assert fig.layout.xaxis.ticktext == ("a", "b")


def test_seeds_are_dots_below_their_mean():
    values = [np.array([0.8, 0.9]), np.array([0.7])]
    bands = [band("one", "conal", ["last"], [values[0]]), band("two", "trace", ["last"], [values[1]])]
    fig = figures.seed_accuracies(values, bands)
    dots, mean = fig.data[0], fig.data[1]
    assert (dots.x.tolist(), dots.y.tolist()) == ([0.8, 0.9], [0, 0])
    assert mean.x.tolist() == pytest.approx([0.85])
    assert mean.error_x.array.tolist() == pytest.approx([np.std([0.8, 0.9], ddof=1)])
    assert len(fig.data) == 3  # one seed is its own mean
    assert fig.layout.yaxis.ticktext == ("one", "two")


def test_an_axis_of_shares_ends_where_shares_do_also_around_a_single_value():
    one = band("one", "conal", ["last"], [np.array([0.7])])
    for axis in (
        figures.seed_accuracies([np.array([0.7])], [one]).layout.xaxis,
        figures.class_accuracy([one]).layout.yaxis,
    ):
        assert (axis.autorangeoptions.clipmin, axis.autorangeoptions.clipmax) == (-0.02, 1.02)


def test_the_diagram_puts_every_method_at_its_rank_and_joins_what_does_not_differ():
    rng = np.random.default_rng(3)
    facts = critical_difference({n: k + rng.normal(size=12) for k, n in enumerate(("dl-mv", "trace", "conal"))})
    fig = figures.critical_difference(facts)
    marks = {t.x[0]: t.marker.color for t in fig.data if t.mode == "markers"}
    ranks = dict(zip(facts.rank, facts.names, strict=True))
    assert marks == {rank: theme.method_color(name) for rank, name in ranks.items()}
    bars = [t for t in fig.data if t.line.width == 5]
    assert len(bars) == len(facts.groups)
    for bar, (first, last) in zip(bars, facts.groups, strict=True):
        assert bar.x[0] <= facts.rank[first] <= facts.rank[last] <= bar.x[1]
    words = " ".join(a.text for a in fig.layout.annotations)
    assert f"CD = {facts.difference:.2f}" in words
    assert all(f"{name} <b>{rank:.2f}</b>" in words for rank, name in ranks.items())


def test_the_many_single_points_of_a_search_are_one_cloud_that_names_each():
    points = [band(f"conal, lr {k}", "conal", [k / 10], [np.array([k / 10, k / 5])]) for k in range(5)]
    curve = band("trace", "trace", [0.1, 0.3], [np.array([0.5]), np.array([0.6])])
    fig = figures.accuracy_along([points[0], curve, *points[1:]], "λ")
    line, cloud = fig.data
    assert (line.name, line.mode, cloud.name, cloud.mode) == ("trace", "lines+markers", "conal, 5 settings", "markers")
    np.testing.assert_allclose(cloud.x, [k / 10 for k in range(5)])
    np.testing.assert_allclose(cloud.y, [0.15 * k for k in range(5)])
    assert [row[2] for row in cloud.customdata] == [b.name for b in points]
    few = figures.accuracy_along(points[:3], "λ")
    assert [trace.name for trace in few.data] == [b.name for b in points[:3]]


def test_names_of_methods_that_share_a_rank_do_not_cover_each_other() -> None:
    rank = np.array([[1, 1], [1, 2], [1, 2], [4, 4]])
    fig = figures.rank_changes(list("abcd"), ["conal", "trace", "dl-mv", "ccc"], rank, rank / 10, ("gold", "none"))
    top, bottom = fig.layout.yaxis.range[::-1]
    pixels = (fig.layout.height - fig.layout.margin.t) / (bottom - top)  # of a rank, at most
    for side in (0, 1):
        at = sorted(note.y for note in fig.layout.annotations if note.x == side and note.yref != "paper")
        assert np.diff(at).min() * pixels >= 2 * 17  # two lines
        assert at[-1] <= bottom


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
    of_spans = TRIALS.rename(columns={"validation_accuracy": "validation_span_f1"})
    fig = figures.search_history(of_spans, "crowd-layer", "validation_span_f1", "validation F1 of spans")
    assert list(fig.data[1].y) == [0.5, 0.75]
    assert fig.layout.yaxis.title.text == "validation F1 of spans"
    assert "validation" not in fig.data[1].customdata[0][0]


def test_importances_are_bars_the_largest_on_top() -> None:
    (bars,) = figures.search_importance({"a_b": 0.2, "c": 0.8}, "conal").data
    assert list(bars.y) == ["a b", "c"]
    assert list(bars.x) == pytest.approx([0.2, 0.8])


@pytest.fixture
def results(crowd):
    return {name: cc.aggregation.get(name).fit(crowd) for name in ("majority-vote", "dawid-skene", "one-coin")}


def test_every_aggregator_has_a_colour_of_its_own():
    colors = [theme.method_color(name) for name in cc.aggregation.names()]
    assert len(set(colors)) == len(colors)


def test_disagreement_in_percent_with_an_empty_diagonal(crowd, results):
    facts = label_disagreement(crowd, {"gold": "gold", **results})
    fig = figures.label_disagreement(facts)
    shown = np.array(fig.data[0].z, float)
    assert np.isnan(np.diag(shown)).all()
    off = ~np.eye(4, dtype=bool)
    assert shown[off] == pytest.approx(100 * facts.share[off])
    assert words(fig.data[0].text)[0][1] == f"{100 * facts.share[0, 1]:.1f}"
    assert f"differ on {facts.differ[0, 1]} of {crowd.n_tasks} tasks" in fig.data[0].customdata[0][1]
    assert f"one-coin on {facts.row_right[3, 2]}" in fig.data[0].customdata[2][3]


def test_without_gold_nobody_is_said_to_be_right(crowd, results):
    blind = replace(crowd, gold=np.full(crowd.n_tasks, -1))
    fig = figures.label_disagreement(label_disagreement(blind, results))
    assert not any("right" in words for row in fig.data[0].customdata for words in row)


def test_one_labelling_alone(crowd, results):
    fig = figures.label_disagreement(label_disagreement(crowd, {"ds": results["dawid-skene"]}))
    assert np.isnan(np.array(fig.data[0].z, float)).all()


def test_reliability_curves(crowd, results):
    curves = {name: calibrated(facts, crowd.gold) for name, facts in results.items()}
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


@pytest.fixture(scope="module")
def facts():
    return summary(simulate_crowd())


def test_bars_add_up_to_the_active_workers(facts):
    assert sum(figures.labels_per_worker(facts).data[0].y) == facts.n_active


def test_a_few_busy_workers_get_a_logarithmic_axis():
    worker = np.append(np.repeat(np.arange(50), 2), np.full(3000, 50))
    crowd = make_crowd(np.arange(3100), worker, np.zeros(3100), 3100, 52, 2, np.zeros(3100, int))
    fig = figures.labels_per_worker(summary(crowd))
    assert fig.layout.xaxis.type == "log"
    assert sum(fig.data[0].y) == 51
    assert "1 without any" in fig.layout.title.subtitle.text


def test_the_histogram_has_an_exact_bin_for_each_small_number():
    crowd = make_crowd(np.arange(6), [0, 0, 0, 1, 1, 2], np.zeros(6), 6, 3, 2, np.zeros(6, int))
    (bars,) = figures.labels_per_worker(summary(crowd)).data
    assert dict(zip(bars.x.tolist(), bars.y.tolist(), strict=True)) == {1: 1, 2: 1, 3: 1}
    assert list(bars.customdata) == ["1", "2", "3"]


def test_tasks_by_number_of_annotations(facts):
    (bars,) = figures.labels_per_task(facts).data
    assert (list(bars.x), list(bars.y)) == ([3], [300])


def test_tasks_with_many_annotations_alike_have_ticks_at_whole_numbers():
    facts = summary(simulate_crowd(10, n_workers=30, per_task=30))
    assert figures.labels_per_task(facts).layout.xaxis.dtick == 1


def test_balance_shows_true_and_given_shares(facts):
    true, given = figures.class_balance(facts.balance).data
    np.testing.assert_allclose(true.y, 100 * facts.balance.true_share)
    np.testing.assert_allclose(given.y, 100 * facts.balance.given_share)
    assert true.name == "true class (gold)"


def test_entropies_start_with_the_most_confused_class(facts):
    (bars,) = figures.annotation_entropy(facts.entropy).data
    assert list(bars.x) == sorted(facts.entropy.entropy, reverse=True)
    assert bars.customdata[0][0] == facts.classes[int(facts.entropy.entropy.argmax())]


def test_of_many_classes_each_bar_still_has_its_name():
    n = 60
    crowd = make_crowd(np.arange(n), np.zeros(n, int), np.arange(n), n, 1, n, np.arange(n))
    facts = summary(crowd)
    assert figures.annotation_entropy(facts.entropy).layout.yaxis.showticklabels
    assert figures.class_balance(facts.balance).layout.xaxis.title.text.startswith("60 classes")


def test_agreement_shows_intervals_or_says_why_not(crowd):
    result = agreement(crowd, n_resamples=50)
    points = figures.agreement(result).data[0]
    np.testing.assert_allclose(points.x, [c.value for c in result.coefficients])
    np.testing.assert_allclose(points.error_x.array, [c.high - c.value for c in result.coefficients])
    alone = agreement(make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2))
    fig = figures.agreement(alone)
    assert len(fig.data[0].x) == 0
    assert {a.text for a in fig.layout.annotations} == {"not enough overlap"}


def test_no_annotations_are_said(facts):
    from dataclasses import replace

    fig = figures.labels_per_worker(replace(facts, annotations_per_worker=np.zeros(3, int)))
    assert fig.layout.title.subtitle.text == "no annotations"


def test_few_workers_and_tasks_are_counted_in_whole_numbers(facts):
    few = summary(make_crowd(np.arange(6), [0, 0, 0, 1, 1, 2], np.zeros(6), 6, 3, 2, np.zeros(6, int)))
    drawn = figures.labels_per_worker(few).layout
    assert (drawn.xaxis.dtick, drawn.yaxis.dtick) == (1, 1)
    assert figures.labels_per_task(facts).layout.yaxis.dtick is None
