"""Workers and their counted answers: folders of people, experts, codes of no label."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine_frame, from_frame
from tests.data.reading.read_case import CROWD, Told, check, chosen, examined, placed, read_case, table
from tests.data.test_odd_inputs import BY_TASK, BY_WORKER, GOLD, ROWS, TASKS, WORKERS


def crowd(*people: str, label: str = "label", n: int = 12) -> pd.DataFrame:
    rows = [(f"t{t}", w, "ab"[(t * (k + 1) + t // 3) % 2]) for t in range(n) for k, w in enumerate(people)]
    return pd.DataFrame(rows, columns=["task", "worker", label])


def labelled(names: Any, *people: str, n: int = 12, step: int = 1) -> pd.DataFrame:
    """Labels in turn, or, with a step of 7, in no visible order."""
    names = [*names]
    place = [(i * step % 11 if step > 1 else i) % len(names) for i in range(n * len(people))]
    return crowd(*people, n=n).assign(label=[names[k] for k in place])


def texts(judged: str) -> pd.DataFrame:
    rows = [(f"t{t}", f"w{w}", f"text {t}", (t * w + w) % 4) for t in range(20) for w in range(3)]
    return pd.DataFrame(rows, columns=["task", "worker", judged, "opinion"])


def of_people(column: bool, *names: str) -> dict[str, str]:
    """Each worker's file has other names for the tasks; a further column names them alike."""
    return {
        f"{who}.csv": table([(f"{who}-{k}", *([t] if column else []), v) for k, (t, v) in enumerate(given)], *names)
        for who, given in BY_WORKER.items()
    }


NAMES_OF_GOLD = "Expert, ground_truth, Adjudicator, consensus, majority vote, GOLD standard, final, Konsens, official"
SENTENCES = ("What is this animal doing?", "Is there a cat in it?", "How many are there now?")
NO_DOUBT: dict[str, Any] = {"questions": ()}
NUMBERED = crowd("1", "2").replace({"label": {"a": "1", "b": "0"}})
AGREED = crowd("ann", "ben", "cem", n=30).assign(
    label=lambda f: f["task"].str[-1:].isin([*"0369"]).map({True: "x", False: "y"})
)
OPPOSED = crowd("ann", "ben", n=60).assign(
    label=lambda f: np.where((f["worker"] == "ann") == (f.index // 2 % 2 == 0), "x", "y")
)
MULTI = pd.DataFrame(
    [("a", "x", "cat|dog", "cat"), ("a", "y", "dog", "cat"), ("b", "x", None, "cat|dog"),
     ("b", "y", "cat|dog", "cat|dog")], columns=["task", "worker", "label", "gold"],
)  # fmt: skip
WIDE_MULTI = pd.DataFrame({"item": [*"abc"], "ann": ["cat", "cat;dog", "dog"], "ben": ["cat;dog", None, "cat"]})
ONE_TASK = [("1", "a", "b", ""), ("01", "", "", "b"), *((str(k), *"aab"[k % 2 :], "b")[:4] for k in range(2, 9))]
PLAIN = ("task", "worker", "label")

CASES: dict[str, tuple[Any, ...]] = {
    "gold as a worker": (
        "gold-as-a-worker", {"asked": {"gold-among-workers": [{"gold_worker": "gold"}]}},
        ({"gold_worker": "gold"}, {"crowd": CROWD, "n_gold": 24, "n_left_out": 24, "changes": {}})),
    "gold of a worker who is not there": (crowd("ann", "gold"), ({"gold_worker": "golt"}, {"refused": SettingError})),
    "gold of a worker beside a column of gold": (
        crowd("ann", "gold").assign(truth="a"), ({"gold_worker": "gold", "gold": "truth"}, {"refused": SettingError})),
    "tasks that gold alone labels take consent": (
        crowd("ann", "gold").drop(index=0), ({"gold_worker": "gold"}, {"changes": {"gold-not-listed": ()}})),
    "models among people are named": (
        crowd("ann", "gpt-4", "claude-3-opus", "my_model"),
        {"changes": {}, "findings": {"models-as-workers": {"examples": ("gpt-4", "claude-3-opus", "my_model")}}}),
    "a worker that is nobody": (
        "worker-NA", {"asked": {"unknown-workers": [{"missing": ["NA"]}]}},
        ({"missing": ["NA"]}, {"lost": {"missing-worker": 18}, "size": (24, 4, 72)})),
    "a code of labels that is a number removes no worker": (NUMBERED, ({"missing": ["0"]}, {"n_workers": 2})),
    "worker 1 and 1.0 are one without consent": (
        "worker-1-and-1.0", {"crowd": CROWD, "changes": {}, "worker_ids": ["1", "2", "3", "4"]}),
    "labels that are workers' names": (
        labelled(("ann", "ben", "cem"), "ann", "ben", "cem"),
        {"findings": {"workers-among-labels": {"level": "question"}}}),
    "labels that are numbers as workers' names are": (
        crowd("1", "2", "3").replace({"label": {"a": "1", "b": "2"}}), NO_DOUBT),
    "sentences as workers": (crowd(*SENTENCES), {"findings": {"sentences-as-workers": {"level": "question"}}}),
    "a dash is no label": (
        "missing-dash", {"findings": {"looks-missing": {"choices": [{"missing": ["-"]}]}}},
        ({"missing": ["-"]}, {"classes": ("1", "2", "3")})),
    "a dot is no label": (
        "missing-dot", {"findings": {"looks-missing": {"choices": [{"missing": ["."]}]}}},
        ({"missing": ["."]}, {"crowd": (30, 3, 71, 0.037231)})),
    "the last answer is the latest": (
        "last-by-time", ({"repeats": "last"}, {"n_annotations": 90}), ({"repeats": "first"}, {"n_annotations": 90})),
    "gold and missing labels of questions of each class": (
        MULTI, ({"multi_select": "yes-no"}, {"lost": {"missing-label": 2}, "golds": ["yes", "no", "yes", "yes"],
                 "task_ids": ["a · cat", "a · dog", "b · cat", "b · dog"]}),
        ({"multi_select": "yes-no", "classes": ["dog"]},
         {"task_ids": ["a · dog", "b · dog"], "findings": {"yes-no": {"level": "warning"}}})),
    "each class of a wide table": (WIDE_MULTI, ({"multi_select": "yes-no"}, {"n_tasks": 6, "n_annotations": 10})),
    "a label that is the judged text": (
        texts("label"), {"asked": {"judged-text": [{"label": "opinion"}]}}, ({"label": "opinion"}, NO_DOUBT)),
    "a crowd that never disagrees": (AGREED, {"findings": {"no-disagreement": {"level": "warning"}}}),
    "a crowd that never errs": (
        AGREED.assign(gold=AGREED["label"]), {"changes": {}, "findings": {"all-right": {"level": "warning"}}}),
    "agreement below chance": (OPPOSED, {"findings": {"less-than-chance": {"level": "warning"}}}),
    "files without a task in common": (
        ("folder", of_people(False, "item", "label")), {"changes": {"no-shared-tasks": ()}}),
    "the column that names tasks in all files": (
        ("folder", of_people(True, "item_id", "file", "label")), {"asked": {"no-shared-tasks": [{"task": "file"}]}},
        ({"task": "file"}, {"questions": (), "n_tasks": 24})),
    "rows with a number of their own": (
        table([(k, w, v, t) for k, (t, w, v) in enumerate(ROWS)], *PLAIN, "photo"),
        {"asked": {"no-shared-tasks": [{"task": "photo"}]}}),
    "rows of a wide table that are one task": (
        table(ONE_TASK, "item", "ann", "ben", "cem"), {"changes": {"same-number-tasks": ()}},
        ({"merge_tasks": True}, {"task_ids": [str(k) for k in range(1, 9)], "labels_per_task": [3] * 8})),
    "tasks whose numbers are all padded": (
        table([(t.removeprefix("photo"), w, v) for t, w, v in ROWS], *PLAIN), {"findings": ()}),
    **{f"{name} is gold": (
        crowd("ann", "ben", name), {"findings": {"gold-among-workers": {"choices": [{"gold_worker": name}]}}},
        ({"gold_worker": name}, {"worker_ids": ["ann", "ben"], "n_gold": 12}))
       for name in [*NAMES_OF_GOLD.split(", "), "correct answer", "aggregated"]},
    **{f"{people} are people": (crowd(*people.split(", ")), {"findings": ()}) for people in
       ("Goldie, Mr. Truth, expertise, Ms. Gold", "Nan-Li, Una, n.n., modeller", "01, 02, 10", "gpt-4, claude")},
    **{f"{name} is nobody": (
        crowd("ann", "ben", name), {"asked": {"unknown-workers": [{"missing": [name]}]}},
        ({"missing": [name]}, {"n_workers": 2})) for name in ("unknown", "N/A", "-", "?", "None")},
    **{f"{people} are one number": (
        crowd(*people.split()), {"asked": {"same-number-workers": [{"merge_workers": same}]}},
        ({"merge_workers": same}, {"n_workers": 2, "questions": ()}))
       for people, same in (("1 01 2", {"1": ["01"]}), ("7 7.0 ann", {"7": ["7.0"]}))},
    **{f"{codes} has a code of no label": (
        labelled(codes.split(), "ann", "ben", n=30, step=7),
        {"findings": {"looks-missing": {"choices": [{"missing": [codes.split()[-1]]}]}}})
       for codes in ("1 2 3 99", "0 1 999", "1 2 3 4 5 -9", "a b <NA>")},
    **{f"{codes} are labels": (labelled(codes.split(), "ann", "ben", n=30, step=7), {"lacks": {"looks-missing"}})
       for codes in ("+ - 0", "97 98 99 100", "1 99", "-2 -1.5 -9", "0 1 9")},
    **{f"{names} are no spellings of yes and no": (labelled(names.split(), "ann", "ben"), {"variants": ()})
       for names in ("1 0", "yes no", "yes no 1 2", "t f u")},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)


def test_spellings_of_yes_and_no_are_one_proposal() -> None:
    report = read_case("true-True-1-yes").report
    (finding,) = (f for f in report.findings if f.code == "label-variants")
    assert {"merge_classes": "variants"} in chosen(finding.remedies) and len(report.variants) == 2
    assert len(read_case("true-True-1-yes", merge_classes="variants").report.classes) == 2


@pytest.mark.parametrize(("repeats", "day"), [("last", "2024-05-02"), ("first", "2024-05-01")])
def test_the_last_answer_is_the_latest(repeats: str, day: str) -> None:
    twice = read_case("last-by-time").dataset().annotations.groupby(["task", "worker"], observed=True)
    pairs = twice.filter(lambda rows: len(rows) > 1)[["task", "worker"]].drop_duplicates().astype(str)
    kept = read_case("last-by-time", repeats=repeats).dataset().annotations.astype({"task": str, "worker": str})
    kept = kept.merge(pairs)
    assert len(kept) == 23 and kept["timestamp"].astype(str).str.startswith(day).all()


TIMES = {  # the second is the earlier
    "created_at": ("2024-05-02T10:00:00Z", "2024-05-01T10:00:00Z"),
    "submitted_at": ("25/12/2023 10:00:00", "24/12/2023 10:00:00"), "date": (1_700_000_900, 1_700_000_000),
    "answer_time": (1_700_000_900_000, 1_700_000_000_000),
    "timestamp": (pd.Timestamp("2024-05-02"), pd.Timestamp("2024-05-01")),
}  # fmt: skip
NO_TIMES = [("created_at", ("soon", "later")), ("answer_time", (30, 20)), ("time_spent", (2e9, 1e9)),
            ("notes", ("2024-02", "2024-01"))]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "times", "latest"), [*((*t, 0) for t in TIMES.items()), *((*t, 1) for t in NO_TIMES)]
)
def test_of_answers_given_twice_the_last_by_time_or_else_by_place_is_kept(column, times, latest) -> None:
    """Ten tasks, each answered twice by each of two people; the labels are the places of the answers."""
    rows = [(f"t{t}", w, k) for k in range(2) for t in range(10) for w in "ab"]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame[column] = [times[k] for k in frame["label"]]
    for repeats, kept in (("last", latest), ("first", 1 - latest)):
        assert {*from_frame(frame, repeats=repeats, classes=["0", "1"]).label} == {kept}
    if latest == 1:  # unless a column of times is named
        frame["clock"] = np.where(frame["label"] == 0, "2024-05-02", "2024-05-01")
        assert {*from_frame(frame, repeats="last", time="clock", classes=["0", "1"]).label} == {0}
        for wrong in ("nothing", "worker"):
            with pytest.raises(DataError):
                from_frame(frame, repeats="last", time=wrong)


def test_each_class_of_a_multiple_choice_can_be_a_question() -> None:
    imported = read_case("multi-label")
    (finding,) = (f for f in imported.report.findings if f.code == "multi-select")
    assert {"multi_select": "yes-no"} in chosen(finding.remedies)
    asked = Told(read_case("multi-label", multi_select="yes-no"))
    assert (asked.classes, asked.changes, asked.size) == (("no", "yes"), {}, (72, 4, 270))
    given = {(task, who) for task, who, label in asked.triples if label == "yes"}
    assert given == {(f"{task} · {c}", who) for task, who, label in Told(imported).triples for c in label.split(";")}


@pytest.mark.parametrize("names", [("annotator", "label"), ("user_id", "sentiment"), ("who", "said"), ()])
def test_a_file_for_each_task(names: tuple[str, ...], tmp_path: Path) -> None:
    path = placed(tmp_path, ("folder", {f"{t}.csv": table(given, *names) for t, given in BY_TASK.items()}))
    right = {"questions": (), "task_ids": TASKS, "worker_ids": [*WORKERS], "n_annotations": len(ROWS)}
    if {"annotator", "user_id"} & {*names}:
        return check(path, right)
    (question,) = examined(path).report.questions
    kept, turned = chosen(question.remedies)
    assert question.code == "files-as-workers"
    return check(path, (turned, right), (kept, {"questions": (), "n_workers": 24}))


@pytest.mark.parametrize("one", ["01", "1.0", "001"])
def test_tasks_that_are_the_same_number_are_asked_about(one: str, tmp_path: Path) -> None:
    rows = [(one if t == "photo01" and w == "ann" else "1" if t == "photo01" else t, w, v) for t, w, v in ROWS]
    path = placed(tmp_path, table(rows, *PLAIN))
    (question,) = examined(path).report.questions
    assert (question.code, question.count, question.examples) == ("same-number-tasks", 1, (one,))
    same, apart = chosen(question.remedies)
    check(path, (same, {"questions": (), "size": (24, 4, len(ROWS))}), (apart, {"questions": (), "n_tasks": 25}))


@pytest.mark.parametrize("names", [("expert_1", "expert_2"), ("gold1", "gold2"), ("Adjudicator A", "Adjudicator B")])
def test_several_experts_among_the_workers(names: tuple[str, str], tmp_path: Path) -> None:
    experts = [(t, who, "dog" if (t, who) == (TASKS[0], names[1]) else c) for t, c in GOLD.items() for who in names]
    path = placed(tmp_path, table([*ROWS, *experts], *PLAIN))
    (question,) = examined(path).report.questions
    assert (question.code, question.examples) == ("gold-among-workers", names)
    assert chosen(question.remedies)[-1] == {"gold_worker": [*names]}
    differ = GOLD[TASKS[0]] != "dog"
    told = Told(examined(path, gold_worker=[*names]))
    assert [*told.changes] == ["gold-contradicts"] * differ
    assert (told.size, told.n_gold) == ((24, 4, len(ROWS)), 24 - differ)
    check(placed(tmp_path, table(experts, *PLAIN)), NO_DOUBT)  # a crowd of experts


def coded(code: str, missing: bool, seed: int, classes: str = "123", share: float = 0.1) -> pd.DataFrame:
    """200 tasks by five of eight workers: ``code`` is no label, drawn at random, or one more class."""
    rng, rows = random.Random(seed), []
    for task in range(200):
        truth = rng.choice(classes) if missing or rng.random() > share else code
        for worker in rng.sample(range(8), 5):
            label = truth if rng.random() < 0.7 else rng.choice([*classes, code] if not missing else classes)
            rows.append((f"t{task}", f"w{worker}", code if missing and rng.random() < share else label))
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.mark.parametrize(("code", "seed"), [("9", 0), ("9", 1), ("99", 2), ("-1", 0), ("0", 1), ("8", 2)])
def test_a_code_of_no_label_is_asked_about(code: str, seed: int) -> None:
    frame = coded(code, True, seed)
    (question,) = examine_frame(frame).report.questions
    assert (question.code, question.examples) == ("looks-missing", (code,))
    void, every = chosen(question.remedies)
    assert void == {"missing": [code]} and code in every["classes"]
    check(frame, (void, {"questions": (), "classes": ("1", "2", "3")}), (every, NO_DOUBT))


@pytest.mark.parametrize(("code", "seed"), [("9", 0), ("0", 1), ("4", 2), ("9", 3)])
def test_a_class_that_workers_agree_on_is_no_question(code: str, seed: int) -> None:
    check(coded(code, False, seed, share=0.05), NO_DOUBT)


def test_what_says_that_a_code_is_a_class() -> None:
    frame = coded("9", False, 0)
    frame.loc[frame["label"] == "9", "label"] = "1"
    frame.loc[frame["worker"].eq("w3") & (frame.index % 2 == 0), "label"] = "9"  # a habit of one
    check(frame, NO_DOUBT)
    rng = random.Random(4)
    check(frame.assign(label=[rng.choice("1239") for _ in frame.index]), NO_DOUBT)  # a crowd without agreement
    check(coded("9", True, 1), ({"gold": {"t0": "9"}}, NO_DOUBT))
    for code in ("0", "9"):
        frame = coded(code, False, 3, share=0.25)
        frame.loc[frame["worker"].isin(["w0", "w1", "w2", "w3"]), "label"] = code  # workers with one answer
        check(frame, NO_DOUBT)
