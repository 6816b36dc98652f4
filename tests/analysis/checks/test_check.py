"""Rules: planted faults fail, honest crowds pass; files of rules, and their errors by name."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.analysis import Rules, check_page, example_rules, junit_xml, read_rules
from crowdcore.analysis.checks.rules import LIMITS, Measures, recommended
from crowdcore.analysis.workers.speed import answer_times
from crowdcore.core.errors import CrowdError
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import COPIED, COPIER, DRIFTING, SPAMMER, honest_crowd, planted_crowd

LARGE = {"n_tasks": 600, "n_workers": 15, "skill": (0.6, 0.95), "even": True}
WORKERS = {
    "max_dependent_workers_percent": 0.0,
    "max_drifting_workers_percent": 0.0,
    "max_spamming_workers_percent": 0.0,
}


@pytest.fixture(scope="module")
def planted() -> CrowdDataset:
    return planted_crowd(1, **LARGE)


def verdicts(ds: CrowdDataset, **rules: object) -> dict[str, str]:
    return {o.rule: o.verdict for o in cc.check(ds, rules).outcomes}


def test_planted_faults_fail_and_are_named(planted: CrowdDataset) -> None:
    copying, drifting, spamming = cc.check(planted, WORKERS).outcomes
    assert {o.verdict for o in (copying, drifting, spamming)} == {"fail"}
    assert copying.workers.tolist() == [COPIER, COPIED]
    assert DRIFTING in drifting.workers
    assert spamming.workers.tolist() == [SPAMMER]


def test_the_same_faults_within_the_limits_pass(planted: CrowdDataset) -> None:
    assert set(verdicts(planted, **dict.fromkeys(WORKERS, 90)).values()) == {"pass"}


def test_an_honest_crowd_passes_and_a_tiny_one_cannot_tell() -> None:
    assert set(verdicts(honest_crowd(0, **LARGE), **dict.fromkeys(WORKERS, 5)).values()) == {"pass"}
    tiny = honest_crowd(0, n_tasks=40, n_workers=15, per_task=5, even=True)
    check = cc.check(tiny, dict.fromkeys(WORKERS, 5))
    assert [o.verdict for o in check.outcomes] == ["underpowered"] * 3
    assert all(o.needed > tiny.n_annotations for o in check.outcomes)
    assert not check.failed()
    assert len(check.failed(strict=True)) == 3


def test_an_interval_that_holds_the_limit_is_underpowered_until_there_are_as_many_labels_as_it_says() -> None:
    kind = {"n_workers": 30, "per_task": 3, "even": True}
    few, many = honest_crowd(3, n_tasks=200, **kind), honest_crowd(3, n_tasks=5000, **kind)
    accuracy = 100 * float((many.label == many.gold[many.task]).mean())
    rule = {"min_annotation_accuracy_percent": accuracy - 2}
    (outcome,) = cc.check(few, rule).outcomes
    assert outcome.verdict == "underpowered"
    assert outcome.low < outcome.limit <= outcome.high
    gap, reach = abs(outcome.value - outcome.limit), outcome.value - outcome.low
    if outcome.value < outcome.limit:
        reach = outcome.high - outcome.value
    assert outcome.needed == pytest.approx(few.n_annotations * (reach / gap) ** 2, abs=1)
    assert verdicts(many, **rule) == {"min_annotation_accuracy_percent": "pass"}
    assert verdicts(many, min_annotation_accuracy_percent=accuracy + 3) == {"min_annotation_accuracy_percent": "fail"}


def test_values_are_those_of_the_analysis(planted: CrowdDataset) -> None:
    rules = {"min_krippendorff_alpha": 0, "min_raw_agreement_percent": 0, "min_class_percent": 0}
    alpha, raw, rare = (o.value for o in cc.check(planted, rules).outcomes)
    coefficients = cc.analysis.agreement(planted, n_resamples=0, pairs=False)
    assert alpha == coefficients.alpha.value
    assert raw == 100 * coefficients.raw.value
    assert rare == pytest.approx(100 * np.bincount(planted.gold).min() / planted.n_tasks)


def test_votes_that_tie_are_no_mistakes_that_workers_share() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 4, 300)
    task = np.repeat(np.arange(300), 2)
    worker = np.concatenate([rng.choice(20, 2, replace=False) for _ in gold])
    wrong = (gold[task] + rng.integers(1, 4, 600)) % 4
    label = np.where(rng.random(600) < 0.7, gold[task], wrong)
    ids = pd.RangeIndex(300).astype("str"), pd.RangeIndex(20).astype("str")
    honest = CrowdDataset("honest", tuple("abcd"), *ids, task, worker, label)
    (outcome,) = cc.check(honest, {"max_shared_mistakes": 0}, reference="majority-vote").outcomes
    assert np.isnan(cc.analysis.shared_mistakes(honest, "majority-vote").q_value).all()
    assert outcome.verdict == "underpowered"


def test_each_number_has_the_digits_of_its_unit(planted: CrowdDataset) -> None:
    rules = {"min_krippendorff_alpha": 0.9, "max_spamming_workers_percent": 1, "max_shared_mistakes": 40}
    alpha, spam, shared = (cc.check(planted, {rule: limit}).outcomes[0].sentence for rule, limit in rules.items())
    assert re.match(r"0\.\d{3} \(95 % interval 0\.\d{3} to 0\.\d{3}\); at least 0\.9 ", alpha)
    assert re.match(r"\d+\.\d %; at most 1 % ", spam)
    assert re.match(r"\d+; at most 40 ", shared)
    finer = cc.check(planted, {"max_spamming_workers_percent": 1.25}).outcomes[0].sentence
    assert re.match(r"\d+\.\d{3} %; at most 1\.25 % ", finer)


def test_few_labels_are_a_fact(planted: CrowdDataset) -> None:
    (outcome,) = cc.check(planted, {"max_tasks_with_few_labels_percent": 10, "labels_per_task": 6}).outcomes
    expected = 100 * float((planted.labels_per_task < 6).mean())
    assert (outcome.value, outcome.low, outcome.high) == (expected, expected, expected)
    assert outcome.verdict == "fail"


def test_seconds_come_from_their_column_or_from_the_times_between_labels() -> None:
    crowd = honest_crowd(0, n_tasks=50, n_workers=5)
    seconds = np.where(crowd.worker == 2, 0.1, 5.0)
    timed = replace(crowd, extra=pd.DataFrame({"seconds": seconds}))
    (outcome,) = cc.check(timed, {"max_fast_labels_percent": 1}).outcomes
    assert outcome.verdict == "fail"
    assert outcome.workers.tolist() == [2]
    assert outcome.value == pytest.approx(100 * float((crowd.worker == 2).mean()))


def stamped(times: np.ndarray) -> CrowdDataset:
    """Two workers who label the same tasks in the same order at these times."""
    n = len(times)
    crowd = honest_crowd(0, n_tasks=n, n_workers=2, per_task=2)
    moment = np.empty(2 * n)
    for worker in range(2):
        moment[crowd.worker == worker] = times
    return replace(crowd, extra=pd.DataFrame({"timestamp": moment}))


def test_answer_times_are_gaps_within_a_session_of_labels_stored_one_by_one() -> None:
    crowd = stamped(np.array([0, 5, 9, 9 + 1801, 9 + 1805, 9 + 1815, 9 + 1815, 9 + 1822.5]))
    times = answer_times(crowd)
    assert times is not None
    expected = [np.nan, 5, 4, np.nan, 4, np.nan, np.nan, 7.5]
    assert np.array_equal(times.seconds[crowd.worker == 1], expected, equal_nan=True)
    assert times.batch.sum() == 4
    assert times.first == 4
    assert times.step == 0
    longer = answer_times(crowd, 40)
    assert longer is not None
    assert longer.seconds[crowd.worker == 0][3] == 1801


def test_breaks_are_no_slow_answers_and_labels_uploaded_together_are_not_judged() -> None:
    steady = np.cumsum(np.where(np.arange(200) % 50 == 0, 40_000.0, 8.5))
    rules = {"max_fast_labels_percent": 5, "fast_below_seconds": 2}
    (fine,) = cc.check(stamped(steady), rules).outcomes
    assert fine.verdict == "pass"
    assert "8 that begin" in fine.sentence
    together = np.repeat(steady[::10], 10)
    (unknown,) = cc.check(stamped(together), rules).outcomes
    assert unknown.verdict == "underpowered"
    assert "answer time" in unknown.sentence
    some = np.where(np.arange(200) < 150, steady, steady[150])
    (open_,) = cc.check(stamped(some), rules).outcomes
    assert open_.verdict == "underpowered"
    assert "100 that share their time" in open_.sentence
    assert open_.high == pytest.approx(25, abs=3)
    (coarse,) = cc.check(stamped(60.0 * np.arange(200)), rules).outcomes
    assert coarse.verdict == "underpowered"
    assert "rounded to 60 s" in coarse.sentence


def test_without_gold_or_times_the_data_cannot_tell(planted: CrowdDataset) -> None:
    bare = replace(planted, gold=np.full(planted.n_tasks, -1, np.int32), extra=None)
    rules = {
        "min_label_accuracy_percent": 50,
        "min_annotation_accuracy_percent": 50,
        "max_fast_labels_percent": 5,
        "max_drifting_workers_percent": 5,
        "aggregator": "dawid-skene",
    }
    check = cc.check(bare, rules)
    assert check.reference == "dawid-skene"
    assert {o.verdict for o in check.outcomes} == {"underpowered"}
    assert all(math.isnan(o.value) for o in check.outcomes)


def test_without_annotations_nothing_can_be_checked(planted: CrowdDataset) -> None:
    with pytest.raises(cc.DataError, match="no annotations"):
        cc.check(planted.where(np.zeros(planted.n_annotations, bool)))


def test_junit_and_page_say_the_same_and_hold_no_raw_names(planted: CrowdDataset) -> None:
    named = replace(planted, worker_ids=pd.Index([f"<b>{name}\0" for name in planted.worker_ids]))
    check = cc.check(named, {**WORKERS, "min_label_accuracy_percent": 50, "max_shared_mistakes": 100})
    suite = ElementTree.fromstring(junit_xml(check)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "3", "0")
    failure = suite.find("testcase[@name='max_spamming_workers_percent']/failure")
    assert failure is not None
    assert failure.text == f"<b>w{SPAMMER:02d}\ufffd"
    page = check_page(check)
    assert "<b>" not in page
    assert "&lt;b&gt;w00" in page


def test_of_tokens_nobody_says_that_no_worker_depends_on_another() -> None:
    [found] = cc.check(cc.data.simulate.spans(n_sentences=60), {"max_dependent_workers_percent": 0.0}).outcomes
    assert found.verdict == "underpowered"
    assert "not independent tasks" in found.sentence


def test_the_example_limits_everything_at_its_defaults(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(example_rules())
    assert read_rules(file) == Rules(**recommended())


def test_every_rule_is_measured() -> None:
    difference = {name.split("_", 1)[1] for name in LIMITS} - {"class_percent"}
    assert difference | {"smallest_class_percent", "largest_class_percent"} <= set(dir(Measures))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules.yaml", "max_shared_mistakes: 3\nseed: 1\n"),
        ("rules.toml", "max_shared_mistakes = 3\nseed = 1\n"),
        ("rules.json", '{"max_shared_mistakes": 3, "seed": 1}'),
    ],
)
def test_all_formats_say_the_same(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_rules(tmp_path / name) == Rules(max_shared_mistakes=3, seed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min_krippendorf_alpha: 0.4", "Did you mean `min_krippendorff_alpha`?"),
        ("nonsense: 1", "--example-rules"),
        ("max_shared_mistakes: many", "max_shared_mistakes"),
        ("min_krippendorff_alpha: 4", "min_krippendorff_alpha"),
        ("min_krippendorff_alpha: .nan", "min_krippendorff_alpha"),
        ("max_shared_mistakes: [1, 2]", "be one number or name"),
        ("max_shared_mistakes: 1\nmax_shared_mistakes: 2", "hold each name once"),
        ("seed: 1", "limit something"),
        ("", "names with values"),
        ("- 1", "names with values"),
        ("a: [", "cannot be read"),
        ("a: !!python/object:os.system 1", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(CrowdError) as refusal:
        read_rules(tmp_path / "rules.yaml")
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    for name in ("rules.yaml", "rules.ini"):
        with pytest.raises(CrowdError, match="rules"):
            read_rules(tmp_path / name)
