"""Who the workers are, which answers count, folders of people, experts, codes of no label."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data import Import, examine, examine_frame, from_frame
from crowdcore.data.reading.labels import LOOKS_MISSING
from tests.data.reading.read_case import CROWD, read_case, summary
from tests.data.test_odd_inputs import BY_TASK, BY_WORKER, GOLD, ROWS, TASKS, WORKERS, table, written


def finding(found: Import, code: str) -> Any:
    (one,) = [f for f in found.report.findings if f.code == code]
    return one


def choices(remedies: tuple[Remedy, ...]) -> list[tuple[Any, Any]]:
    return [(remedy.setting, remedy.value) for remedy in remedies]


def crowd(*people: str, label: str = "label", n: int = 12) -> pd.DataFrame:
    rows = [(f"t{t}", w, "ab"[(t * (k + 1) + t // 3) % 2]) for t in range(n) for k, w in enumerate(people)]
    return pd.DataFrame(rows, columns=["task", "worker", label])


def test_gold_as_a_worker_is_asked_and_becomes_the_gold() -> None:
    asked = finding(read_case("gold-as-a-worker"), "gold-among-workers")
    assert asked.level == "question" and choices(asked.remedies) == [("gold_worker", "gold")]
    found = read_case("gold-as-a-worker", gold_worker="gold")
    assert summary(found) == CROWD and found.report.n_gold == 24
    assert found.report.n_left_out == 24 and not found.report.changes


GOLDEN = "Expert, ground_truth, Adjudicator, consensus, majority vote, GOLD standard, final, Konsens, official"


@pytest.mark.parametrize("name", [*GOLDEN.split(", "), "correct answer", "aggregated"])
def test_other_names_of_gold(name: str) -> None:
    found = examine_frame(crowd("ann", "ben", name))
    assert choices(finding(found, "gold-among-workers").remedies) == [("gold_worker", name)]
    dataset = from_frame(crowd("ann", "ben", name), gold_worker=name)
    assert [*dataset.worker_ids] == ["ann", "ben"] and (dataset.gold >= 0).all()


def test_gold_of_a_worker_who_is_not_there_or_beside_a_column_of_gold() -> None:
    frame = crowd("ann", "gold")
    with pytest.raises(SettingError):
        from_frame(frame, gold_worker="golt")
    with pytest.raises(SettingError):
        from_frame(frame.assign(truth="a"), gold_worker="gold", gold="truth")


def test_tasks_that_gold_alone_labels_take_consent() -> None:
    frame = crowd("ann", "gold").drop(index=0)
    assert [f.code for f in examine_frame(frame, gold_worker="gold").report.changes] == ["gold-not-listed"]


@pytest.mark.parametrize(
    "people", ["Goldie, Mr. Truth, expertise, Ms. Gold", "Nan-Li, Una, n.n., modeller", "01, 02, 10", "gpt-4, claude"]
)
def test_people_are_not_asked_about(people: str) -> None:
    assert not examine_frame(crowd(*people.split(", "))).report.findings


def test_models_among_people_are_named() -> None:
    found = examine_frame(crowd("ann", "gpt-4", "claude-3-opus", "my_model"))
    assert finding(found, "models-as-workers").examples == ("gpt-4", "claude-3-opus", "my_model")
    assert not found.report.changes


def test_a_worker_that_is_nobody() -> None:
    asked = finding(read_case("worker-NA"), "unknown-workers")
    assert asked.level == "question" and choices(asked.remedies) == [("missing", ["NA"])]
    found = read_case("worker-NA", missing=["NA"])
    assert [(f.code, f.left_out) for f in found.report.changes] == [("missing-worker", 18)]
    assert summary(found)[:3] == (24, 4, 72)


@pytest.mark.parametrize("name", ["unknown", "N/A", "-", "?", "None"])
def test_other_names_of_nobody(name: str) -> None:
    asked = finding(examine_frame(crowd("ann", "ben", name)), "unknown-workers")
    assert examine_frame(crowd("ann", "ben", name), missing=asked.remedies[0].value).report.n_workers == 2


def test_a_missing_code_of_labels_that_is_a_number_removes_no_worker() -> None:
    frame = crowd("1", "2").replace({"label": {"a": "1", "b": "0"}})
    assert examine_frame(frame, missing=["0"]).dataset(accept=True).n_workers == 2


def test_worker_1_and_1_0_are_one_without_consent() -> None:
    found = read_case("worker-1-and-1.0")
    assert summary(found) == CROWD
    assert [*found.dataset().worker_ids] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(("people", "same"), [(("1", "01", "2"), {"1": ["01"]}), (("7", "7.0", "ann"), {"7": ["7.0"]})])
def test_workers_that_are_the_same_number_are_asked(people: tuple[str, ...], same: dict[str, list[str]]) -> None:
    frame = crowd(*people)
    (remedy,) = finding(examine_frame(frame), "same-number-workers").remedies
    assert (remedy.setting, remedy.value) == ("merge_workers", same)
    merged = examine_frame(frame, merge_workers=remedy.value)
    assert merged.report.n_workers == 2 and not merged.report.questions


def test_labels_that_are_workers_names_and_workers_called_by_sentences_are_asked() -> None:
    people = ("ann", "ben", "cem")
    frame = crowd(*people).assign(label=lambda f: [people[i % 3] for i in range(len(f))])
    assert finding(examine_frame(frame), "workers-among-labels").level == "question"
    assert not examine_frame(crowd("1", "2", "3").replace({"label": {"a": "1", "b": "2"}})).report.questions
    frame = crowd("What is this animal doing?", "Is there a cat in it?", "How many are there now?")
    assert finding(examine_frame(frame), "sentences-as-workers").level == "question"


@pytest.mark.parametrize(("case", "code"), [("missing-dash", "-"), ("missing-dot", ".")])
def test_codes_of_a_missing_label(case: str, code: str) -> None:
    warned = finding(read_case(case), "looks-missing")
    assert choices(warned.remedies) == [("missing", [code])]
    found = read_case(case, missing=[code])
    assert code not in found.report.classes
    if code == ".":
        assert summary(found)[3] == 0.037231


@pytest.mark.parametrize(
    ("codes", "odd"), [("1 2 3 99", "99"), ("0 1 999", "999"), ("1 2 3 4 5 -9", "-9"), ("a b <NA>", "<NA>")]
)
def test_further_codes_of_a_missing_label(codes: str, odd: str) -> None:
    names = codes.split()
    frame = crowd("ann", "ben", n=30).assign(label=lambda f: [names[i * 7 % 11 % len(names)] for i in range(len(f))])
    assert choices(finding(examine_frame(frame), "looks-missing").remedies) == [("missing", [odd])]


@pytest.mark.parametrize("codes", ["+ - 0", "97 98 99 100", "1 99", "-2 -1.5 -9", "0 1 9"])
def test_labels_that_are_no_codes_of_a_missing_one(codes: str) -> None:
    names = codes.split()
    frame = crowd("ann", "ben", n=30).assign(label=lambda f: [names[i * 7 % 11 % len(names)] for i in range(len(f))])
    assert "looks-missing" not in {f.code for f in examine_frame(frame).report.findings}
    assert "-" in LOOKS_MISSING


def test_spellings_of_yes_and_no_are_one_proposal() -> None:
    found = read_case("true-True-1-yes")
    assert ("merge_classes", "variants") in choices(finding(found, "label-variants").remedies)
    merged = read_case("true-True-1-yes", merge_classes="variants")
    assert len(merged.report.classes) == 2
    assert len(found.report.variants) == 2


@pytest.mark.parametrize("names", [("1", "0"), ("yes", "no"), ("yes", "no", "1", "2"), ("t", "f", "u")])
def test_answers_that_are_no_spellings_of_yes_and_no(names: tuple[str, ...]) -> None:
    frame = crowd("ann", "ben").assign(label=lambda f: [names[i % len(names)] for i in range(len(f))])
    assert not examine_frame(frame).report.variants


def test_the_last_answer_is_the_latest() -> None:
    for repeats, day in (("last", "2024-05-02"), ("first", "2024-05-01")):
        dataset = read_case("last-by-time", repeats=repeats).dataset()
        assert dataset.n_annotations == 90
        twice = read_case("last-by-time").dataset().annotations.groupby(["task", "worker"], observed=True)
        pairs = twice.filter(lambda rows: len(rows) > 1)[["task", "worker"]].drop_duplicates().astype(str)
        kept = dataset.annotations.astype({"task": str, "worker": str}).merge(pairs)
        assert len(kept) == 23 and kept["timestamp"].astype(str).str.startswith(day).all()


def again(times: list[Any], **columns: Any) -> pd.DataFrame:
    """Ten tasks, each answered twice by each of two people; the labels are the places of the answers."""
    rows = [(f"t{t}", w, k) for k in range(2) for t in range(10) for w in "ab"]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return frame.assign(when=[times[k] for k in frame["label"]], **columns)


@pytest.mark.parametrize(
    ("column", "times"),
    [
        ("created_at", ["2024-05-02T10:00:00Z", "2024-05-01T10:00:00Z"]),
        ("submitted_at", ["25/12/2023 10:00:00", "24/12/2023 10:00:00"]),
        ("date", [1_700_000_900, 1_700_000_000]),
        ("answer_time", [1_700_000_900_000, 1_700_000_000_000]),
        ("timestamp", [pd.Timestamp("2024-05-02"), pd.Timestamp("2024-05-01")]),
    ],
)
def test_times_by_name_and_content(column: str, times: list[Any]) -> None:
    frame = again(times).rename(columns={"when": column})
    kept = from_frame(frame, repeats="last", classes=["0", "1"])
    assert (kept.label == 0).all()
    assert (from_frame(frame, repeats="first", classes=["0", "1"]).label == 1).all()


@pytest.mark.parametrize(
    ("column", "times"),
    [
        ("created_at", ["soon", "later"]),
        ("answer_time", [30, 20]),
        ("time_spent", [2e9, 1e9]),
        ("notes", ["2024-02", "2024-01"]),
    ],
)
def test_columns_that_hold_no_times_leave_the_order_of_the_file(column: str, times: list[Any]) -> None:
    frame = again(times).rename(columns={"when": column})
    assert (from_frame(frame, repeats="last", classes=["0", "1"]).label == 1).all()


def test_the_time_that_is_named_is_used_or_refused() -> None:
    frame = again(["x", "x"]).assign(clock=lambda f: np.where(f["label"] == 0, "2024-05-02", "2024-05-01"))
    assert (from_frame(frame, repeats="last", time="clock", classes=["0", "1"]).label == 0).all()
    for column in ("nothing", "worker"):
        with pytest.raises(DataError):
            from_frame(frame, repeats="last", time=column)


def test_each_class_of_a_multiple_choice_can_be_a_question() -> None:
    found = read_case("multi-label")
    assert ("multi_select", "yes-no") in choices(finding(found, "multi-select").remedies)
    asked = read_case("multi-label", multi_select="yes-no")
    assert asked.report.classes == ("no", "yes") and not asked.report.changes
    assert summary(asked)[:3] == (72, 4, 270)
    given = asked.dataset().annotations
    plain = found.dataset().annotations
    yes = given[given["label"] == "yes"]
    pairs = {
        (f"{t} · {c}", w)
        for t, w, label in zip(plain["task"], plain["worker"], plain["label"], strict=True)
        for c in label.split(";")
    }
    assert {*zip(yes["task"], yes["worker"], strict=True)} == pairs


def test_gold_and_missing_labels_of_questions_of_each_class() -> None:
    rows = [
        ("a", "x", "cat|dog", "cat"),
        ("a", "y", "dog", "cat"),
        ("b", "x", None, "cat|dog"),
        ("b", "y", "cat|dog", "cat|dog"),
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label", "gold"])
    found = examine_frame(frame, multi_select="yes-no")
    assert [(f.code, f.left_out) for f in found.report.changes] == [("missing-label", 2)]
    dataset = found.dataset(accept=True)
    assert dict(zip(dataset.task_ids, dataset.gold, strict=True)) == {
        "a · cat": 1,
        "a · dog": 0,
        "b · cat": 1,
        "b · dog": 1,
    }
    only = examine_frame(frame, multi_select="yes-no", classes=["dog"])
    assert [*only.dataset(accept=True).task_ids] == ["a · dog", "b · dog"]
    assert finding(only, "yes-no").level == "warning"


def test_wide_tables_can_ask_each_class_too() -> None:
    frame = pd.DataFrame({"item": ["a", "b", "c"], "ann": ["cat", "cat;dog", "dog"], "ben": ["cat;dog", None, "cat"]})
    dataset = from_frame(frame, multi_select="yes-no")
    assert (dataset.n_tasks, dataset.n_annotations) == (6, 10)


def texts(judged: str) -> pd.DataFrame:
    rows = [(f"t{t}", f"w{w}", f"text {t}", (t * w + w) % 4) for t in range(20) for w in range(3)]
    return pd.DataFrame(rows, columns=["task", "worker", judged, "opinion"])


def test_a_label_that_is_the_judged_text_is_asked() -> None:
    (asked,) = examine_frame(texts("label")).report.questions
    assert asked.code == "judged-text" and choices(asked.remedies) == [("label", "opinion")]
    assert not examine_frame(texts("label"), label="opinion").report.questions


def test_a_crowd_that_never_disagrees_or_errs_is_said() -> None:
    frame = crowd("ann", "ben", "cem", n=30).assign(
        label=lambda f: f["task"].str[-1:].isin([*"0369"]).map({True: "x", False: "y"})
    )
    assert finding(examine_frame(frame), "no-disagreement").level == "warning"
    found = examine_frame(frame.assign(gold=frame["label"]))
    assert finding(found, "all-right").level == "warning" and not found.report.changes


def test_agreement_below_chance_is_said() -> None:
    frame = crowd("ann", "ben", n=60).assign(
        label=lambda f: np.where((f["worker"] == "ann") == (f.index // 2 % 2 == 0), "x", "y")
    )
    assert finding(examine_frame(frame), "less-than-chance").level == "warning"


def of_people(column: bool, *names: str) -> dict[str, str]:
    """Each worker's file calls the tasks otherwise; a further column names them alike."""
    return {
        f"{who}.csv": table([(f"{who}-{k}", *([t] if column else []), v) for k, (t, v) in enumerate(given)], *names)
        for who, given in BY_WORKER.items()
    }


def test_files_without_a_task_in_common_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "folder", of_people(False, "item", "label"))
    (question,) = examine(path).report.questions
    assert question.code == "no-shared-tasks"


def test_the_column_that_names_tasks_in_all_files_is_proposed(tmp_path: Path) -> None:
    path = written(tmp_path, "folder", of_people(True, "item_id", "file", "label"))
    (question,) = examine(path).report.questions
    assert (question.code, question.remedies[0].choices) == ("no-shared-tasks", ({"task": "file"},))
    found = examine(path, task="file")
    assert not found.report.questions and found.dataset().n_tasks == 24


def test_rows_with_a_number_of_their_own_in_a_long_table(tmp_path: Path) -> None:
    rows = [(k, w, v, t) for k, (t, w, v) in enumerate(ROWS)]
    found = examine(written(tmp_path, "rows.csv", table(rows, "task", "worker", "label", "photo")))
    assert [q.code for q in found.report.questions] == ["no-shared-tasks"]
    assert found.report.questions[0].remedies[0].value == "photo"


@pytest.mark.parametrize("names", [("annotator", "label"), ("user_id", "sentiment"), ("who", "said"), ()])
def test_a_file_for_each_task(names: tuple[str, ...], tmp_path: Path) -> None:
    path = written(tmp_path, "folder", {f"{t}.csv": table(given, *names) for t, given in BY_TASK.items()})
    found = examine(path)
    if not {"annotator", "user_id"} & {*names}:
        (question,) = found.report.questions
        assert question.code == "files-as-workers"
        kept, turned = (examine(path, **remedy.choices[0]) for remedy in question.remedies)
        assert not turned.report.questions and not kept.report.questions and kept.report.n_workers == 24
        found = turned
    dataset = found.dataset()
    assert ([*dataset.task_ids], [*dataset.worker_ids], dataset.n_annotations) == (TASKS, [*WORKERS], len(ROWS))


@pytest.mark.parametrize("one", ["01", "1.0", "001"])
def test_tasks_that_are_the_same_number_are_asked_about(one: str, tmp_path: Path) -> None:
    rows = [(one if t == "photo01" and w == "ann" else "1" if t == "photo01" else t, w, v) for t, w, v in ROWS]
    path = written(tmp_path, "tasks.csv", table(rows, "task", "worker", "label"))
    (question,) = examine(path).report.questions
    assert (question.code, question.count, question.examples) == ("same-number-tasks", 1, (one,))
    same, apart = (remedy.choices[0] for remedy in question.remedies)
    merged, kept = examine(path, **same), examine(path, **apart)
    assert not merged.report.questions and not kept.report.questions
    assert (merged.dataset().n_tasks, merged.dataset().n_annotations) == (24, len(ROWS))
    assert kept.dataset().n_tasks == 25


def test_rows_of_a_wide_table_that_are_one_task(tmp_path: Path) -> None:
    rows = [("1", "a", "b", ""), ("01", "", "", "b"), *((str(k), *"aab"[k % 2 :], "b") for k in range(2, 9))]
    rows = [row[:4] for row in rows]
    path = written(tmp_path, "wide.csv", table(rows, "item", "ann", "ben", "cem"))
    assert [q.code for q in examine(path).report.questions] == ["same-number-tasks"]
    dataset = examine(path, merge_tasks=True).dataset(accept=True)
    assert [*dataset.task_ids] == [str(k) for k in range(1, 9)]
    assert (dataset.task == 0).sum() == 3


def test_tasks_whose_numbers_are_all_padded_are_no_question(tmp_path: Path) -> None:
    rows = [(t.removeprefix("photo"), w, v) for t, w, v in ROWS]
    assert not examine(written(tmp_path, "padded.csv", table(rows, "task", "worker", "label"))).report.findings


@pytest.mark.parametrize("names", [("expert_1", "expert_2"), ("gold1", "gold2"), ("Adjudicator A", "Adjudicator B")])
def test_several_experts_among_the_workers(names: tuple[str, str], tmp_path: Path) -> None:
    experts = [(t, who, "dog" if (t, who) == (TASKS[0], names[1]) else c) for t, c in GOLD.items() for who in names]
    path = written(tmp_path, "experts.csv", table([*ROWS, *experts], "task", "worker", "label"))
    (question,) = examine(path).report.questions
    assert (question.code, question.examples) == ("gold-among-workers", names)
    assert question.remedies[-1].choices == ({"gold_worker": [*names]},)
    found = examine(path, gold_worker=[*names])
    differ = GOLD[TASKS[0]] != "dog"
    assert [f.code for f in found.report.changes] == ["gold-contradicts"] * differ
    dataset = found.dataset(accept=True)
    assert (dataset.n_workers, found.report.n_gold, dataset.n_annotations) == (4, 24 - differ, len(ROWS))
    alone = written(tmp_path, "alone.csv", table(experts, "task", "worker", "label"))
    assert not examine(alone).report.questions  # a crowd of experts


def coded(code: str, missing: bool, seed: int, classes: str = "123", share: float = 0.1) -> pd.DataFrame:
    """200 tasks by five of eight workers: ``code`` is no label, drawn at random, or one more class."""
    rng, rows = random.Random(seed), []
    for task in range(200):
        truth = rng.choice(classes) if missing or rng.random() > share else code
        for worker in rng.sample(range(8), 5):
            label = truth if rng.random() < 0.7 else rng.choice([*classes, code] if not missing else classes)
            rows.append((f"t{task}", f"w{worker}", code if missing and rng.random() < share else label))
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("code", ["9", "99", "-1", "0", "8"])
def test_a_code_of_no_label_is_asked_about(code: str, seed: int) -> None:
    frame = coded(code, True, seed)
    (question,) = examine_frame(frame).report.questions
    assert (question.code, question.examples) == ("looks-missing", (code,))
    void, every = (remedy.choices[0] for remedy in question.remedies)
    assert void == {"missing": [code]} and code in every["classes"]
    left = examine_frame(frame, **void)
    assert not left.report.questions and left.dataset(accept=True).classes == ("1", "2", "3")
    assert not examine_frame(frame, **every).report.questions


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("code", ["9", "0", "4"])
def test_a_class_that_workers_agree_on_is_no_question(code: str, seed: int) -> None:
    assert not examine_frame(coded(code, False, seed, share=0.05)).report.questions


def test_a_class_of_one_worker_or_of_a_crowd_without_agreement_is_no_question() -> None:
    frame = coded("9", False, 0)
    frame.loc[frame["label"] == "9", "label"] = "1"
    frame.loc[frame["worker"].eq("w3") & (frame.index % 2 == 0), "label"] = "9"  # a habit of one
    assert not examine_frame(frame).report.questions
    rng = random.Random(4)
    assert not examine_frame(frame.assign(label=[rng.choice("1239") for _ in frame.index])).report.questions


def test_gold_says_that_a_code_is_a_class() -> None:
    frame = coded("9", True, 1)
    assert not examine_frame(frame, {"t0": "9"}).report.questions


@pytest.mark.parametrize("code", ["0", "9"])
def test_workers_with_one_answer_make_no_code_of_it(code: str) -> None:
    frame = coded(code, False, 3, share=0.25)
    frame.loc[frame["worker"].isin(["w0", "w1", "w2", "w3"]), "label"] = code
    assert not examine_frame(frame).report.questions
