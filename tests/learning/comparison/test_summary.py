"""Summaries of results side by side, against the results' own numbers and plain loops."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis.method_tests import SEEDS_AND_TASKS
from crowdcore.data import simulate
from crowdcore.exhibits import comparison as exhibits, differences
from crowdcore.learning.comparison import significance, summary as comparison
from crowdcore.learning.comparison.comparability import warnings
from crowdcore.learning.comparison.variation import facts as facts_of
from crowdcore.learning.results.predictions import GOLD, gold_of, labellings, worker_counts
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

TESTS = (differences.over_tasks, differences.over_seeds, differences.ranks)


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
    seeds = comparison.same_seeds({"one": one, "other": other}, "last")
    assert comparison.common_seeds([one, other]) == (5, 3)
    assert seeds["one"].tolist() == one.accuracy("test", at="last")[[0, 2]].tolist()
    assert seeds["other"].tolist() == other.accuracy("test", at="last")[[2, 0]].tolist()
    assert any("2 are in all" in words for words in warnings({"one": one, "other": other}))


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
    assert warnings(results) == []
    other = replace(
        results["trace"],
        validated_on="",
        training={"backbone": "linear", "backbone_settings": {}},
        versions={"crowdcore": "9"},
        fingerprint="f" * 32,
        inputs="e" * 32,
    )
    text = " ".join(warnings({"conal": results["conal"], "trace": other}))
    for values in ("conal; none (last): trace", "mlp: conal; linear: trace", "conal; 9: trace", "eeeeeeee: trace"):
        assert values in text
    assert "their data" in text


def test_names_ways_and_tasks_of_validation_that_differ_are_said(crowd, results):
    trace = results["trace"]
    matched = replace(trace, training={**trace.training, "names": "validation-gold"})
    [said] = warnings({"conal": results["conal"], "trace": matched})
    assert said.endswith("conal; matched on validation gold: trace.")
    table = exhibits.accuracies({"conal": results["conal"], "trace": matched}).table.set_index("run")
    assert table.loc["trace", "names"] == table.loc["trace, ensemble", "names"] == "matched on validation gold"
    held_out = replace(trace, validated_on="gold labels of 20 training tasks held out (seed 0)")
    [said] = warnings({"conal": results["conal"], "trace": held_out})
    assert "conal; gold of training tasks held out: trace" in said


def test_one_class_on_the_test_split_is_said(results):
    conal = results["conal"]
    one = replace(conal, gold=np.where((conal.split == 2) & (conal.gold != 0), -1, conal.gold))
    [said] = warnings({"conal": one})
    assert said.startswith(f"All test tasks of {conal.dataset}") and repr(conal.classes[0]) in said


def test_the_ensemble_is_the_mean_of_the_seeds_probabilities(crowd, results):
    table = exhibits.accuracies(results).table.set_index("run")
    scores = exhibits.scores(results, "last").table.set_index("run")
    for name, result in results.items():
        test = result.split == 2
        for at in ("selected", "last"):
            labels = [sum(p[t].astype(float) for p in result.probabilities[at]).argmax() for t in np.flatnonzero(test)]
            assert table.loc[f"{name}, ensemble", f"{at} %"] == pytest.approx(100 * np.mean(labels == crowd.gold[test]))
        assert scores.loc[f"{name}, ensemble", "accuracy %"] == pytest.approx(table.loc[f"{name}, ensemble", "last %"])
        mean = np.mean([p[test] for p in result.probabilities["last"].astype(float)], 0)
        nll = -np.mean([np.log(p[g]) for p, g in zip(mean, crowd.gold[test], strict=True)])
        assert scores.loc[f"{name}, ensemble", "NLL (nats)"] == pytest.approx(nll, rel=1e-5)
        assert np.isnan(scores.loc[f"{name}, ensemble", "accuracy ±"])


def test_nothing_is_said_of_deviations_over_one_seed(crowd):
    one = {m: made_up(crowd, m, (0,)) for m in ("conal", "trace")}
    shown = [exhibits.accuracies(one), exhibits.seeds(one), exhibits.classes(one), exhibits.scores(one)]
    shown += [exhibits.curves(one), exhibits.calibration(one)]
    facts = [facts_of(r) for r in one.values()]
    shown += [exhibits.along(list(one.values()), [{**f, "lr": k} for k, f in enumerate(facts)], "lr")]
    for exhibit in shown:
        text = f"{exhibit.title} {exhibit.notes} {list(exhibit.table.columns)}".lower()
        drawn = "" if exhibit.figure is None else exhibit.figure.to_json()
        assert "±" not in text and "std" not in text and "ensemble" not in text
        assert "\\u00b1" not in drawn and "deviation" not in drawn and "over seeds" not in drawn
        assert exhibit.table.notna().all(axis=None)
    mixed = {"conal": one["conal"], "trace": made_up(crowd, "trace")}
    assert exhibits.accuracies(mixed).table.set_index("run")["selected ±"].isna().tolist() == [True, False, True]


def test_without_a_basis_there_is_a_sentence_and_no_figure(crowd, results):
    blind = {n: replace(r, gold=np.where(r.split == 2, -1, r.gold)) for n, r in results.items()}
    without = {n: replace(r, split=np.where(r.split == 2, 0, r.split)) for n, r in results.items()}
    for kind, words in ((blind, "has no gold labels"), (without, "has no test split")):
        makers = (exhibits.accuracies, exhibits.seeds, exhibits.classes, exhibits.scores, *TESTS)
        for exhibit in (make(kind) for make in makers):
            assert exhibit.figure is None
            assert exhibit.table.empty
            assert len(exhibit.notes) == 1 and words in exhibit.notes[0]
        assert len(differences.tests(kind)) == 1  # why is said once
        assert words in differences.rank_changes(kind)[0].notes[0]
        assert words in exhibits.along([*kind.values()], [{"lr": k} for k in range(3)], "lr").notes[0]
    alone = differences.tests({"conal": results["conal"]})
    assert all("at least two runs" in e.notes[0] for e in alone) and len(alone) == 1


def test_the_same_calibration_error_in_the_figure_and_in_the_scores(results):
    scores = comparison.scores(results).set_index("run").loc[list(results), "calibration_error"]
    curve = exhibits.calibration(results)
    legend = {t.name for t in curve.figure.data if t.name}
    assert legend == {f"{name} ({100 * error:.1f} %)" for name, error in scores.items()}


def test_recovery_is_measured_where_truth_and_method_have_the_same():
    crowd = simulate.synthetic(n_tasks=60, n_valid=20, n_test=20, n_workers=5)
    conal, trace, nothing = (made_up(crowd, m) for m in ("conal", "trace", "dl-mv"))
    recovery = comparison.recovery(conal, crowd)
    truth = crowd.truth
    expected = [
        np.mean([((truth.worker_confusion[r] - own[r]) ** 2).sum(1).mean() for r in range(5)])
        for own in conal.worker_confusion
    ]
    assert recovery["individual recovery error"] == pytest.approx(expected)
    together = [((truth.common_confusion - c) ** 2).sum(1).mean() for c in conal.common_confusion]
    assert recovery["common recovery error"] == pytest.approx(together)
    weight = np.bincount(crowd.worker, minlength=5)
    first = [((truth.worker_confusion[r] - conal.worker_confusion[0, r]) ** 2).sum(1).mean() for r in range(5)]
    assert recovery["weighted by annotations"][0] == pytest.approx(np.average(first, weights=weight))
    assert recovery["ω correlation"][1] == pytest.approx(np.corrcoef(truth.omega, conal.omega[1])[0, 1])
    assert "common recovery error" not in comparison.recovery(trace, crowd)
    assert comparison.recovery(nothing, crowd) == {}
    assert exhibits.recovery({"a": nothing}, crowd) is None
    assert exhibits.recovery({"a": conal, "b": nothing}, crowd).table["run"].tolist() == ["a"]


def alike(result):
    """The result with the confusions of its first seed for all seeds, but for a little."""
    own, shared = result.worker_confusion, result.common_confusion
    near = [None if m is None else 0.999 * m[:1] + 0.001 * m for m in (own, shared)]
    epochs = np.full_like(result.selected_epoch, result.selected_epoch[0])
    return replace(result, worker_confusion=near[0], common_confusion=near[1], selected_epoch=epochs)


def test_truth_beside_what_was_learnt_on_one_scale():
    crowd = simulate.synthetic(n_tasks=60, n_valid=20, n_test=20, n_workers=5)
    apart = {m: made_up(crowd, m) for m in ("conal", "trace", "dl-mv")}
    assert list(exhibits.truth(apart, crowd, None).table.columns)[-1] == "conal, seed 0", (
        "these seeds are not comparable"
    )
    results = {m: alike(r) for m, r in apart.items()}
    common = exhibits.truth(results, crowd, None)
    assert list(common.table.columns) == ["true", "given", "truth", "conal"]
    assert common.table["truth"].to_numpy().reshape(6, 6) == pytest.approx(crowd.truth.common_confusion)
    own = exhibits.truth(results, crowd, 3)
    counted = [analysis.confusion_of_counts(one)[3] for one in worker_counts(results["trace"], crowd)]
    np.testing.assert_allclose(own.table["trace"].to_numpy().reshape(6, 6), np.mean(counted, 0))
    assert [a.text for a in own.figure.layout.annotations] == ["<b>truth</b>", "<b>conal</b>", "<b>trace</b>"]
    assert exhibits.truth({"dl-mv": results["dl-mv"]}, crowd, 3) is None
    assert exhibits.truth(results, replace(crowd, truth=None), 3) is None


def test_tests_over_seeds_need_two_seeds_and_tests_over_tasks_do_not(crowd, results):
    tasks, seeds = differences.tests({"a": made_up(crowd, "conal", (0,)), "b": made_up(crowd, "trace", (0,))})
    assert len(tasks.table) == 1
    assert seeds.table.empty
    assert len(seeds.notes) == 1 and "one in common" in seeds.notes[0]
    tasks, seeds, ranks = differences.tests(results)
    assert len(tasks.table) == len(seeds.table) == 3
    assert "3 seeds" in seeds.notes[0]
    assert set(ranks.table["run"]) == set(results)
    assert (ranks.figure is not None, SEEDS_AND_TASKS in tasks.notes) == (True, True)


def test_tests_over_tasks_rest_on_the_tasks_that_all_were_judged_on(crowd, results):
    conal, trace = results["conal"], results["trace"]
    keep = np.arange(crowd.n_tasks) % 3 > 0
    fewer = replace(
        trace,
        task=trace.task[keep],
        split=trace.split[keep],
        gold=trace.gold[keep],
        probabilities={at: p[:, keep] for at, p in trace.probabilities.items()},
    )
    tests = significance.over_tasks({"conal": conal, "trace": fewer}, "last")
    rows = np.flatnonzero(keep & (crowd.split == 2))
    last = [r.probabilities["last"] for r in (conal, trace)]
    share = [np.mean([[p[t].argmax() == crowd.gold[t] for t in rows] for p in of]) for of in last]
    assert tests.n_tasks == len(rows)
    assert tests.difference[0] == pytest.approx(share[0] - share[1])
    votes = [[of[:, t].mean(0).argmax() == crowd.gold[t] for t in rows] for of in last]
    assert tests.only_first[0] == sum(a and not b for a, b in zip(*votes, strict=True))
    other = replace(fewer, fingerprint="0" * 32)
    assert "share no test task" in significance.over_tasks({"conal": conal, "trace": other})


def test_a_run_s_labels_are_those_of_the_mean_over_seeds(crowd, results):
    labels = labellings(results, crowd, "test")
    assert list(labels) == [GOLD, *results]
    test = np.flatnonzero(crowd.split == 2)
    assert np.array_equal(np.flatnonzero(labels["trace"].labels >= 0), test)
    mean = results["trace"].probabilities["selected"].mean(0)
    assert labels["trace"].labels[test].tolist() == mean[test].argmax(1).tolist()
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
        *differences.tests(results),
        *differences.rank_changes(results),
    ]
    for exhibit in shown:
        assert exhibit.figure is None or hostile not in exhibit.figure.to_json().replace("\\u003c", "<").replace(
            "\\u003e", ">"
        )
    assert hostile in " ".join(exhibits.classes(results).table["class"])
