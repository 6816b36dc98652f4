"""What is said of results side by side, against the results' own numbers and plain loops."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.data import simulate
from crowdcore.learning import comparison, exhibits
from crowdcore.learning.predictions import GOLD, gold_of, labellings
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(200)


@pytest.fixture(scope="module")
def results(crowd):
    return {m: made_up(crowd, m, sure=s) for m, s in (("conal", 2.0), ("trace", 1.0), ("dl-mv", 1.5))}


def test_rows_hold_mean_and_sample_deviation_of_the_three_columns(results):
    for name, result in results.items():
        row = comparison.row(result)
        for at in comparison.AT:
            values = result.accuracy("test", at=at).tolist()
            assert row[f"{at}_mean"] == pytest.approx(statistics.mean(values))
            assert row[f"{at}_std"] == pytest.approx(statistics.stdev(values))
        assert row["method"] == name
    assert np.isnan(comparison.row(made_up(featured_crowd(), seeds=(4,)))["selected_std"])


def test_without_gold_on_test_nothing_is_said_of_accuracy(crowd, results):
    blind = replace(results["conal"], gold=np.where(results["conal"].split == 2, -1, results["conal"].gold))
    assert all(np.isnan(v).all() for v in comparison.accuracies(blind).values())
    assert comparison.same_seeds({"blind": blind, **results}, "selected").keys() == results.keys()
    assert comparison.class_bands({"blind": blind}) == []
    assert exhibits.calibration({"blind": blind}) is None


def test_tests_rest_on_the_seeds_that_all_have_in_one_order(crowd):
    one, other = made_up(crowd, "conal", (5, 1, 3)), made_up(crowd, "trace", (3, 2, 5))
    found = comparison.same_seeds({"one": one, "other": other}, "last")
    assert comparison.common_seeds([one, other]) == (5, 3)
    assert found["one"].tolist() == one.accuracy("test", at="last")[[0, 2]].tolist()
    assert found["other"].tolist() == other.accuracy("test", at="last")[[2, 0]].tolist()
    assert any("2 are in all of them" in words for words in comparison.warnings({"one": one, "other": other}))


def test_class_accuracy_is_that_of_a_loop(crowd, results):
    for b in comparison.class_bands(results):
        result = results[b.name]
        rows = np.flatnonzero(result.split == 2)
        for c in range(crowd.n_classes):
            of = rows[crowd.gold[rows] == c]
            per_seed = [(p[of].argmax(1) == c).mean() for p in result.probabilities["selected"]]
            assert b.mean[c] == pytest.approx(np.mean(per_seed))
            assert b.std[c] == pytest.approx(np.std(per_seed, ddof=1))
    table = exhibits.classes(results).table
    gold = crowd.gold[crowd.split == 2]
    assert table["test tasks"].tolist() == [int((gold == c).sum()) for c in range(crowd.n_classes)] * 3


def test_what_differs_between_the_runs_is_said(crowd, results):
    assert comparison.warnings(results) == []
    other = replace(
        results["trace"],
        validated_on="",
        training={"backbone": "linear", "backbone_settings": {}},
        versions={"crowdcore": "9"},
        fingerprint="f" * 32,
        inputs="e" * 32,
    )
    said = " ".join(comparison.warnings({"conal": results["conal"], "trace": other}))
    assert "what selected their epoch: conal: gold labels of the valid split; trace: nothing" in said
    assert "the network: conal: mlp; trace: linear" in said
    assert "crowdcore's version: conal: 0.1.0; trace: 9" in said
    assert "their data" in said
    assert "trace: eeeeeeee" in said


def test_the_same_calibration_error_in_the_figure_and_in_the_scores(results):
    scores = comparison.scores(results).set_index("run")["calibration_error"]
    found = exhibits.calibration(results)
    legend = {t.name for t in found.figure.data if t.name}
    assert legend == {f"{name} ({100 * error:.1f} %)" for name, error in scores.items()}


def test_recovery_is_measured_where_truth_and_method_have_the_same():
    crowd = simulate.synthetic(n_tasks=60, n_valid=20, n_test=20, n_workers=5)
    conal, trace, nothing = (made_up(crowd, m) for m in ("conal", "trace", "dl-mv"))
    found = comparison.recovery(conal, crowd)
    truth = crowd.truth
    expected = [
        np.mean([((truth.worker_confusion[r] - own[r]) ** 2).sum(1).mean() for r in range(5)])
        for own in conal.worker_confusion
    ]
    assert found["individual recovery error"] == pytest.approx(expected)
    together = [((truth.common_confusion - c) ** 2).sum(1).mean() for c in conal.common_confusion]
    assert found["common recovery error"] == pytest.approx(together)
    weight = np.bincount(crowd.worker, minlength=5)
    first = [((truth.worker_confusion[r] - conal.worker_confusion[0, r]) ** 2).sum(1).mean() for r in range(5)]
    assert found["weighted by annotations"][0] == pytest.approx(np.average(first, weights=weight))
    assert found["ω correlation"][1] == pytest.approx(np.corrcoef(truth.omega, conal.omega[1])[0, 1])
    assert "common recovery error" not in comparison.recovery(trace, crowd)
    assert comparison.recovery(nothing, crowd) == {}
    assert exhibits.recovery({"a": nothing}, crowd) is None
    assert exhibits.recovery({"a": conal, "b": nothing}, crowd).table["run"].tolist() == ["a"]


def test_truth_beside_what_was_learnt_on_one_scale():
    crowd = simulate.synthetic(n_tasks=60, n_valid=20, n_test=20, n_workers=5)
    results = {m: made_up(crowd, m) for m in ("conal", "trace", "dl-mv")}
    common = exhibits.truth(results, crowd, None)
    assert list(common.table.columns) == ["true", "given", "truth", "conal"]
    assert common.table["truth"].to_numpy().reshape(6, 6) == pytest.approx(crowd.truth.common_confusion)
    own = exhibits.truth(results, crowd, 3)
    assert own.table["trace"].to_numpy().reshape(6, 6) == pytest.approx(results["trace"].worker_confusion[:, 3].mean(0))
    assert [a.text for a in own.figure.layout.annotations] == ["<b>truth</b>", "<b>conal</b>", "<b>trace</b>"]
    assert exhibits.truth({"dl-mv": results["dl-mv"]}, crowd, 3) is None
    assert exhibits.truth(results, replace(crowd, truth=None), 3) is None


def test_paired_tests_need_two_runs_and_two_seeds(crowd, results):
    assert exhibits.differences({"conal": results["conal"]}) is None
    assert exhibits.differences({"a": made_up(crowd, "conal", (0,)), "b": made_up(crowd, "trace", (0,))}) is None
    tests, ranks = exhibits.differences(results)
    assert len(tests.table) == 3
    assert "3 seeds" in tests.notes[0]
    assert set(ranks.table["run"]) == set(results)


def test_a_run_s_labels_are_those_of_the_mean_over_seeds(crowd, results):
    found = labellings(results, crowd, "test")
    assert list(found) == [GOLD, *results]
    test = np.flatnonzero(crowd.split == 2)
    assert np.array_equal(np.flatnonzero(found["trace"].labels >= 0), test)
    mean = results["trace"].probabilities["selected"].mean(0)
    assert found["trace"].labels[test].tolist() == mean[test].argmax(1).tolist()
    assert gold_of(results, crowd, "test")[test].tolist() == crowd.gold[test].tolist()
    assert (labellings(results, crowd, "all")["conal"].labels >= 0).all()
    assert list(labellings(results, replace(crowd, gold=np.full(200, -1)), "test")) == list(results)


def test_every_name_is_escaped_for_plotly_and_kept_for_the_table(crowd):
    hostile = "<img src=x>"
    odd = replace(crowd, classes=(hostile, "b & c", "d"))
    results = {f"conal {hostile}": made_up(odd, "conal"), "trace": made_up(odd, "trace")}
    shown = [
        exhibits.seeds(results),
        exhibits.classes(results),
        exhibits.curves(results),
        exhibits.calibration(results),
        *exhibits.differences(results),
    ]
    for exhibit in shown:
        assert exhibit.figure is None or hostile not in exhibit.figure.to_json().replace("\\u003c", "<").replace(
            "\\u003e", ">"
        )
    assert hostile in " ".join(exhibits.classes(results).table["class"])
