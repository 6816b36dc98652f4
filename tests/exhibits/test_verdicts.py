"""Verdicts in words: reasons name what was planted, one list of actions, pseudonyms everywhere, clicks that lead on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import load_dataset
from crowdcore.exhibits import View, verdicts, view, worker_page
from crowdcore.exhibits.fits import describe_intervals, sampled
from testkit.crowds import simulate_crowd
from testkit.planted import CONFUSED, COPIED, COPIER, DRIFTING, HONEST, SPAMMER, honest_crowd, planted_crowd
from tests.analysis.workers.test_distance import HASTY, TIRED, timed


@pytest.fixture(scope="module")
def seen() -> View:
    return view(planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True), "gold")


def row(of: View, worker: int) -> pd.Series:
    return verdicts.worker_verdicts(of).table.loc[worker]


def test_each_planted_worker_has_a_verdict_and_its_reason(seen: View) -> None:
    judged = verdicts.workers_judged(seen)
    assert judged.drift is not None
    expected = {
        SPAMMER: ("remove", f"{100 * judged.high[SPAMMER]:.0f} %"),
        COPIER: ("check", f"{seen.workers[COPIED]} on {judged.copies.agreed[COPIER]} of {judged.copies.both[COPIER]}"),
        CONFUSED: ("train", "“class 0” “class 1”"),
        DRIFTING: ("check", f"{100 * judged.drift.after[DRIFTING]:.0f} %"),
    }
    for worker, (verdict, words) in expected.items():
        assert row(seen, worker)["verdict"] == verdict
        assert words in row(seen, worker)["reason"]
        assert worker_page.worker_verdict(seen, seen.workers[worker]).table["message"].iloc[0].startswith("Thank you")


def test_counts_and_actions_are_those_of_the_tables(seen: View) -> None:
    counts = verdicts.verdicts(seen).table.set_index(["of", "verdict"])["number"]
    workers, tasks = verdicts.worker_verdicts(seen).table, verdicts.task_verdicts(seen).table
    for verdict, n in workers["verdict"].value_counts().items():
        assert counts["worker", verdict] == n
    todo = verdicts.actions(seen).table
    assert (todo["what"] == "worker").sum() == workers["verdict"].isin(["remove", "check", "train"]).sum()
    assert (todo["what"] == "task").sum() == (tasks["verdict"] != "fine").sum()
    assert not todo.isna().any().any()


def test_a_pair_of_classes_confused_both_ways_is_named_both_ways_and_before_lesser_confusions() -> None:
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    rng = np.random.default_rng(0)
    label = crowd.label.copy()
    for r, least in ((8, 0.6), (9, 0.25)):  # the second one gave more labels, and confuses less
        for a, b in ((2, 3), (3, 2)):
            label[(crowd.worker == r) & (crowd.gold[crowd.task] == a) & (rng.random(len(label)) < least)] = b
    kept = (crowd.worker != 8) | (np.cumsum(crowd.worker == 8) <= 150)
    seen = view(replace(crowd, label=label).where(kept), "gold")
    reason = row(seen, 8)["reason"]
    confused = verdicts.workers_judged(seen).confused
    assert {confused.true[8], confused.given[8]} == {2, 3}
    back = f"{confused.back[8]:.0f} of {confused.back_of[8]:.0f}"
    page = worker_page.worker_verdict(seen, "w08").table.iloc[0]
    assert page["reason"] == reason
    assert all(back in words for words in (reason, page["message"]))
    table = verdicts.worker_verdicts(seen).table
    trained = table.index[table["verdict"] == "train"].tolist()
    assert trained.index(8) < trained.index(9)


def test_tokens_are_told_with_their_words_and_nobody_is_said_to_copy_for_the_tokens_of_one_sentence() -> None:
    tags = cc.data.simulate.tags(n_sentences=60, n_workers=5, length=6, seed=1)
    assert tags.sentences is not None
    twin = np.where(tags.worker == 1, 0, tags.worker)  # the second worker gives the labels of the first
    of = {(t, w): label for t, w, label in zip(tags.task, tags.worker, tags.label, strict=True)}
    label = np.array([of.get((t, w), y) for t, w, y in zip(tags.task, twin, tags.label, strict=True)])
    seen = view(replace(tags, label=label), "gold")
    judged = verdicts.workers_judged(seen)
    assert not judged.together.any()
    assert not judged.may_copy.any()
    tasks = verdicts.task_verdicts(seen).table
    number = tasks.index[0]
    assert tasks.loc[number, "word"] == tags.sentences.words[number]
    sentence = tags.sentences.words[tags.sentences.tasks(tags.sentences.of_task[[number]])]
    assert tasks.loc[number, "context"].replace("[", "").replace("]", "") == " ".join(sentence)
    assert f"[{tags.sentences.words[number]}]" in tasks.loc[number, "context"]
    assert " tokens" in verdicts.verdicts(seen).notes[-2]


def test_the_label_of_a_reference_stands_beside_what_the_workers_say_together() -> None:
    crowd = replace(planted_crowd(1, n_tasks=200, n_workers=15), gold=None)
    seen = view(crowd, "majority-vote")
    table = verdicts.task_verdicts(seen).table
    by_vote = np.array(seen.classes, object)[seen.truth.labels[table.index]]
    assert (table["majority-vote"] == by_vote).all()


def test_a_row_leads_to_its_worker_or_task(seen: View) -> None:
    workers, tasks = verdicts.worker_verdicts(seen), verdicts.task_verdicts(seen)
    assert workers.click is not None
    assert tasks.click is not None
    assert workers.click(SPAMMER) == {"worker": seen.workers[SPAMMER]}
    assert tasks.click(7) == {"task": "t7"}


def test_what_contradicts_gold_is_counted_among_tasks_with_gold() -> None:
    demo = view(load_dataset("demo"), "gold")
    with_gold = int((demo.dataset.annotated & (demo.dataset.gold >= 0)).sum())
    assert with_gold < demo.dataset.annotated.sum()
    assert f" of {with_gold:,} tasks" in verdicts.verdicts(demo).notes[-2]


def test_a_moved_threshold_moves_the_counts(seen: View) -> None:
    strict = verdicts.verdicts(seen, trust=0.9).table.set_index("verdict")["number"]
    assert strict["trust"] < verdicts.verdicts(seen).table.set_index("verdict")["number"]["trust"]


def test_pseudonyms_stand_in_every_reason_and_message(seen: View) -> None:
    hidden = view(seen.dataset, "gold", hidden=True)
    texts = verdicts.actions(hidden).table.to_csv() + verdicts.worker_verdicts(hidden).table.to_csv()
    texts += "".join(worker_page.worker_verdict(hidden, name).table.to_csv() for name in hidden.workers)
    assert not [name for name in seen.workers if name in texts]
    assert hidden.workers[COPIED] in verdicts.worker_verdicts(hidden).table.loc[COPIER, "reason"]


def test_a_worker_s_page_has_confusions_partners_and_times(seen: View) -> None:
    mistakes = worker_page.worker_mistakes(seen, seen.workers[CONFUSED])
    assert mistakes.table.iloc[0][["true", "given"]].tolist() == ["class 0", "class 1"]
    own = (seen.dataset.worker == CONFUSED) & (seen.dataset.gold[seen.dataset.task] == 0)
    assert mistakes.table["labels"].iloc[0] == (own & (seen.dataset.label == 1)).sum()
    assert worker_page.worker_partners(seen, seen.workers[COPIER]).table["other"].iloc[0] == seen.workers[COPIED]
    times = worker_page.worker_over_time(seen, seen.workers[DRIFTING])
    assert times.figure is not None
    assert times.table["accuracy"].iloc[:4].mean() > times.table["accuracy"].iloc[-4:].mean() + 0.2
    assert times.table["last"].iloc[-1] == (seen.dataset.worker == DRIFTING).sum()


def test_shared_mistakes_are_told_in_whole_workers_whatever_the_reference(seen: View) -> None:
    soft = view(seen.dataset, "dawid-skene")
    for of in (seen, soft):
        table = verdicts.mistakes_in_words(of).table
        assert np.equal(np.mod(table["workers"].astype(float), 1), 0).all()
        assert [f"{row.workers} of {row.of}" in row.sentence for row in table.itertuples()] == [True] * len(table)


def test_a_trusted_worker_is_told_of_a_confusion_that_everybody_shares() -> None:
    seen = view(load_dataset("demo"))
    verdict = worker_page.worker_verdict(seen, "w17").table.iloc[0]
    assert verdict["verdict"] == "trust"
    common = verdicts.common_confusions(seen)[seen.worker_number("w17")]
    assert (common.n_workers, round(common.times), round(common.of)) == (40, 15, 29)
    for words in (verdict["reason"], verdict["message"]):
        assert f"{common.workers} of 40" in words
        assert "15 of 29" in words
    most = worker_page.worker_mistakes(seen, "w17")
    row = most.table.iloc[0]
    assert 0.25 < row["share low"] < row["share"] < row["share high"] < 0.75
    assert "include the uncertainty" in most.notes[0]


def confusing(makers: range, share: float, seed: int = 6, gold: int = 400) -> View:
    """Twelve workers who are right nine times in ten, of whom ``makers`` mostly call the first class the second."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.integers(0, 4, 400), []
    for task, true in enumerate(truth):
        for worker in rng.choice(12, 6, replace=False):
            label = true if rng.random() < 0.9 else rng.integers(4)
            label = 1 if worker in makers and true == 0 and rng.random() < share else label
            rows.append((f"t{task:03}", f"w{worker:02}", "abcd"[label], "abcd"[true] if task < gold else None))
    return view(cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label", "gold"])))


def test_few_who_know_better_do_not_make_a_common_confusion_anybody_s_own() -> None:
    for seed in (5, 7):
        seen = confusing(range(2, 12), 0.85, seed)
        assert verdicts.guideline_cells(seen)[0, 1]
        assert (verdicts.workers_judged(seen).verdict == "trust").all()


def test_where_nobody_agrees_with_gold_it_may_be_wrong() -> None:
    for makers, doubted in ((range(12), True), (range(2, 12), False)):
        told = verdicts.mistakes_in_words(confusing(makers, 0.85, 5)).table.iloc[0]
        assert told["shared"]
        assert ("gold" in told["sentence"]) == doubted


def test_what_is_not_found_is_not_said_to_be_absent_where_nothing_could_be_tested() -> None:
    honest = view(honest_crowd(0, **HONEST["4 classes, dense"]), "gold")
    mistakes = cc.analysis.shared_mistakes(honest.dataset, reference="gold").frame().query("true != given")
    assert f"the {(mistakes['workers'] >= 2).sum()} mistakes" in verdicts.mistakes_in_words(honest).notes[0]
    few = cc.from_frame(
        pd.DataFrame({"task": [*"001122"], "worker": [*"abcabc"], "label": [*"xyzzyx"], "gold": [*"xxzzyy"]})
    )
    assert verdicts.mistakes_in_words(view(few, "gold")).notes[0].startswith("No two workers")


def test_a_mistake_of_two_workers_is_not_told_as_chance_alone() -> None:
    seen = confusing(range(2), 0.97)
    assert np.flatnonzero(verdicts.workers_judged(seen).verdict == "train").tolist() == [0, 1]
    told = verdicts.mistakes_in_words(seen, 12).table.set_index(["true", "given"]).loc[("a", "b")]
    assert (told["shared"], "; 2 workers" in told["sentence"]) == (False, True)


def test_a_verdict_says_how_many_of_the_labels_it_rests_on() -> None:
    seen = confusing(range(0), 0.0, gold=60)
    judged = verdicts.workers_judged(seen)
    assert (judged.judged < judged.n_annotations).all()
    for n, of, reason in zip(
        judged.judged, judged.n_annotations, verdicts.worker_verdicts(seen).table["reason"][range(12)], strict=True
    ):
        assert f"{n:.0f} of {of} labels" in reason


def test_two_hundred_labels_that_nobody_judges_are_not_called_few() -> None:
    rows = [(f"t{k}", w, "ab"[k % 3 > 0]) for k in range(300) for w in (("w0",) if k < 200 else ("w1", "w2", "w3"))]
    seen = view(cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"])), "auto")
    told = verdicts.worker_verdicts(seen).table.loc[0]
    meanings = verdicts.verdicts(seen).table.set_index(["of", "verdict"])["meaning"]
    assert "few" not in told["reason"] + meanings["worker", told["verdict"]]


def test_verdicts_say_that_no_worker_is_named() -> None:
    rows = [(f"t{k}", *("ab"[(k * j) % 3 > 0] for j in range(1, 4))) for k in range(12)]
    frame = pd.DataFrame(rows, columns=["task", "label_1", "label_2", "label_3"])
    unnamed, named = (cc.from_frame(frame, workers=w) for w in (None, ["label_1", "label_2", "label_3"]))
    assert {*verdicts.verdicts(view(unnamed, "auto")).notes} & {*unnamed.notes}
    assert not {*verdicts.verdicts(view(named, "auto")).notes} & {*unnamed.notes}


def test_intervals_of_a_large_dataset_do_not_let_anybody_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.exhibits.fits._WORK", 100)
    assert "leave out the uncertainty" in describe_intervals(sampled(simulate_crowd(60)))


def test_too_fast_answers_are_a_reason_and_a_table() -> None:
    ds = timed(0, planted=True)
    seen = view(ds, "gold", hidden=True)
    speed = verdicts.workers_judged(seen).speed
    assert speed is not None
    assert (
        f"{100 * speed.fast[HASTY]:.0f} % of {speed.n[HASTY]}" in verdicts.worker_verdicts(seen).table["reason"][HASTY]
    )
    table = worker_page.worker_speed(seen).table
    assert table["too_fast"][HASTY]
    assert table["worker"][HASTY] == seen.workers[HASTY] != ds.worker_ids[HASTY]
    assert "worker" not in worker_page.worker_speed(view(cc.load_dataset("demo"))).table


def test_without_gold_no_accuracy_is_told_and_a_copier_is_told_by_agreement() -> None:
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    seen = view(crowd, "dawid-skene")
    workers = verdicts.worker_verdicts(seen).table
    assert "accuracy without" not in workers
    assert "accuracy without" in verdicts.worker_verdicts(view(crowd, "gold")).table
    pair = cc.analysis.worker_verdicts(crowd, "dawid-skene").copies
    both = (crowd.task[crowd.worker == COPIER][:, None] == crowd.task[crowd.worker == COPIED][None]).any(1).sum()
    assert pair.both[COPIER] == both
    assert pair.expected[COPIER] < pair.agreed[COPIER] <= both
    assert f"on {pair.agreed[COPIER]:,} of {both:,} tasks" in workers.loc[COPIER, "reason"]
    shown = [cc.exhibits.workers.worker_pairs(of) for of in (seen, view(crowd, "gold"))]
    assert [cc.exhibits.workers.VOTED in of.notes for of in shown] == [True, False]
    assert shown[0].table["expected_agreed"][0] == pytest.approx(pair.expected[COPIER])


def test_speed_over_time_is_drawn_with_its_change(seen: View) -> None:
    of = view(timed(3, planted=True), "gold")
    slowed = worker_page.worker_speed_over_time(of, of.workers[TIRED])
    assert "the speed changes from" in slowed.notes[0]
    assert [shape.type for shape in slowed.figure.layout.shapes] == ["line", "line"]
    assert len(slowed.figure.data[0].y) == len(slowed.table) == 10
    steady = worker_page.worker_speed_over_time(of, of.workers[4])
    assert "speed is significant" in steady.notes[0]
    by_gaps = worker_page.worker_speed(seen)
    assert "previous label" in by_gaps.notes[1]
    assert not by_gaps.table["too_fast"].any()
    assert worker_page.worker_speed_over_time(seen, seen.workers[0]).figure is not None
    untimed = view(cc.load_dataset("demo"))
    assert worker_page.worker_speed_over_time(untimed, untimed.workers[0]).figure is None


def test_where_nothing_can_be_judged_nobody_is_compared_with_guesses() -> None:
    alone = simulate_crowd(30, n_workers=1, per_task=1)
    one_class = replace(simulate_crowd(), gold=None, classes=("same",), label=np.zeros(900, np.int32))
    for crowd in (alone, one_class):
        notes = verdicts.verdicts(view(replace(crowd, gold=None), "majority-vote")).notes
        assert "can be judged" in notes[1]
    reasons = verdicts.worker_verdicts(view(one_class, "majority-vote")).table["reason"]
    assert reasons.str.contains("one class").all()


def test_flags_lead_the_ranking() -> None:
    table = cc.exhibits.workers.worker_quality(view(load_dataset("demo"), "gold")).table
    flagged = (table["signal"] != "").to_numpy()
    assert flagged.any()
    assert not (np.diff(flagged.astype(int)) > 0).any()
    at_least = table["acc. low"].to_numpy()[~flagged]
    assert (np.diff(at_least[~np.isnan(at_least)]) <= 0).all()


@pytest.mark.parametrize("kind", ["2 classes, 10 % positive", "10 classes, 3 labels a task"])
def test_the_ranking_suspects_only_whom_the_verdicts_name(kind: str) -> None:
    for seed in range(3):
        of = view(honest_crowd(seed, **HONEST[kind]), "gold")
        workers = cc.exhibits.workers
        assert set(workers.worker_quality(of).table["signal"]) == {""}
        figure = workers.worker_ranking(of).figure
        assert figure is not None
        assert [trace.name.split(" (")[0] for trace in figure.data] == ["ordinary"]
        assert not any(workers.worker(of, name).notes for name in of.workers)


def test_flagged_workers_are_asked_for_labels_only_if_they_are_to_be() -> None:
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    of = view(replace(crowd, gold=None), "majority-vote")
    table = cc.exhibits.workers.worker_quality(of).table
    assert table["signal"][SPAMMER] == "guesses"
    assert table["signal"][[COPIER, COPIED]].tolist() == ["acts with others"] * 2
    assert table["signal"][DRIFTING] == "becomes worse"
    figure = cc.exhibits.workers.worker_ranking(of).figure
    assert figure is not None
    assert {len(trace.x) for trace in figure.data if trace.name == "act with others (2)"} == {2}
    assert "become worse (1)" in {trace.name for trace in figure.data}
    flagged, plan = {"w00", "w01", "w02", "w04"}, cc.exhibits.review.next_labels(of, 40)
    assert not flagged & set(plan.table["worker"])
    assert all(name in plan.notes[1] for name in flagged)
    both = cc.exhibits.review.next_labels(of, 40, workers=("w01", "w02"), flagged=True)
    assert set(both.table["worker"]) <= {"w01", "w02"}
    assert len(both.table) == 40
    assert {"w01", "w02"} & set(both.notes[1].split())
    assert cc.exhibits.review.next_labels(of, 40, workers=("w01", "w02")).table.empty
    honest = cc.exhibits.review.next_labels(of, 40, workers=("w05", "w06"))
    assert not cc.exhibits.review.left_out(of, ("w05", "w06"))
    assert len(honest.table) == 40


def test_trust_says_what_it_asks_for_and_no_more() -> None:
    seen = view(honest_crowd(2, n_tasks=500, skill=(0.5, 0.99), even=True), "gold")
    judged = verdicts.workers_judged(seen)
    weaker = np.flatnonzero((judged.verdict == "trust") & (judged.high < judged.typical))
    assert len(weaker)
    for worker in weaker:
        assert f"{100 * judged.low[worker]:.0f} to {100 * judged.high[worker]:.0f} %" in row(seen, worker)["reason"]
        assert f"{judged.n_annotations[worker]:,} labels" in row(seen, worker)["reason"]


def test_tasks_that_lose_their_only_label_are_told_beside_labels_that_change() -> None:
    crowd = honest_crowd(0)
    alone = np.flatnonzero(crowd.task == 0)[1:]
    few = crowd.where(~np.isin(np.arange(crowd.n_annotations), alone))
    worker = few.worker[few.task == 0][0]
    seen = view(few, "gold")
    assert "1 task loses" in worker_page.worker_verdict(seen, seen.workers[worker]).table["without"].iloc[0]


def test_no_label_is_asked_for_tasks_whose_gold_is_known() -> None:
    crowd = honest_crowd(0)
    known = np.arange(crowd.n_tasks) % 2 == 0
    some = replace(crowd, gold=np.where(known, crowd.gold, -1))
    plan = cc.exhibits.review.next_labels(view(some, "majority-vote"), 60)
    assert not known[plan.table.index].any()
    assert any("125 tasks" in note for note in plan.notes)
    seen = view(some, "majority-vote")
    filtered = cc.exhibits.review.next_labels(seen, 60, true=seen.classes[0], given=seen.classes[1]).table
    passing = cc.exhibits.tasks.tasks(seen, true=seen.classes[0], given=seen.classes[1]).table
    assert len(filtered) and {*filtered.index} <= {*passing.index}
    every = cc.exhibits.review.next_labels(view(crowd, "majority-vote"), 60)
    assert len(every.table) == 60
    none = cc.exhibits.review.next_labels(view(replace(crowd, gold=None), "majority-vote"), 60)
    assert len(every.notes) == len(none.notes) + 1
