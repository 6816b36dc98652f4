"""Tasks written in two ways, experts among the workers, and codes of no label: asked, with a remedy that works."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd
import pytest

from crowdcore.data import examine, examine_frame
from tests.data.test_odd_inputs import GOLD, ROWS, TASKS, table, written


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


@pytest.mark.parametrize("seed", range(10))
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
