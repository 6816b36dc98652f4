"""Long tables in shapes that people have: roles by content, tasks of two columns, several questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data import examine, examine_frame, read_dataset
from crowdcore.data.columns import MappingError
from tests.data.reading.read_case import path_of, read_case, refusal, summary


def choices(remedies: tuple[Remedy, ...]) -> list[tuple[Any, Any]]:
    return [(remedy.setting, remedy.value) for remedy in remedies]


def codes(found: Any, *levels: str) -> set[str]:
    return {finding.code for finding in found.report.findings if not levels or finding.level in levels}


@pytest.mark.parametrize(("question", "alpha"), [("toxic", -0.153284), ("spam", -0.12069)])
def test_several_questions_are_asked_and_each_can_be_read(question: str, alpha: float) -> None:
    (asked,) = read_case("several-questions-long").report.questions
    assert asked.code == "several-questions"
    both = ("task", ["item_id", "question"])
    assert choices(asked.remedies) == [("question", "toxic"), ("question", "spam"), both]
    found = read_case("several-questions-long", question=question)
    assert summary(found) == (24, 4, 96, alpha)
    assert found.report.n_left_out == 96 and not found.report.changes
    assert summary(read_case("several-questions-long", task=both[1]))[:3] == (48, 4, 192)


def test_a_question_that_is_not_there() -> None:
    assert refusal("several-questions-long", question="rude").code == "no-question"


def test_a_task_of_two_columns_is_asked() -> None:
    (asked,) = read_case("two-column-task-long").report.questions
    assert choices(asked.remedies) == [("task", ["doc_id", "sent_id"])]
    found = read_case("two-column-task-long", task=("doc_id", "sent_id"))
    assert summary(found)[:3] == (30, 4, 120)
    dataset = found.dataset()
    assert dataset.task_ids[0] == "d0 / 0"
    assert {*dataset.extra.columns} >= {"doc_id", "sent_id"}  # group='doc_id' keeps a document in one split


@pytest.mark.parametrize(
    ("task", "named"), [(("doc_id", "nothing"), "nothing"), (("doc_id",), "two or more"), (("doc_id", "doc_id"), "two")]
)
def test_a_task_of_columns_that_are_not_there(task: tuple[str, ...], named: str) -> None:
    with pytest.raises(DataError, match=named):
        read_case("two-column-task-long", task=task)


def test_a_task_of_two_columns_without_one_part_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "parts.csv"
    file.write_text("doc,sent,worker,label\n1,1.5,a,x\n1, 1.5 ,b,y\n,2,a,x\ndoc,sent,worker,label\n2,1,a,y\n")
    found = examine(file, task=("doc", "sent"))
    assert codes(found, "change") == {"missing-task", "repeated-header"}
    assert [*found.dataset(accept=True).task_ids] == ["1 / 1.5", "2 / 1"]


def test_answers_given_again_are_no_questions(tmp_path: Path) -> None:
    rows = [(t, w, a, "xy"[(t * w + a) % 2], f"2024-01-0{a}") for t in range(10) for w in range(4) for a in (1, 2)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "attempt", "label", "day given"])
    assert not examine_frame(frame).report.questions
    assert not examine_frame(frame.assign(attempt=range(len(frame)))).report.questions  # a row number


def test_the_question_comes_first_by_name_and_the_task_by_content() -> None:
    rows = [(q, f"p{t}", w, "yn"[(t + w) % 2]) for t in range(10) for w in range(3) for q in ("rude", "fun")]
    frame = pd.DataFrame(rows, columns=["question", "image", "annotator", "answer"])
    found = examine_frame(frame)
    assert found.report.roles["task"] == "image"
    (asked,) = found.report.questions
    assert {value for setting, value in choices(asked.remedies) if setting == "question"} == {"rude", "fun"}
    assert examine_frame(frame, question="fun").dataset().n_annotations == 30


def test_the_judged_text_is_no_label() -> None:
    error = refusal("response-is-the-judged-text")
    assert isinstance(error, MappingError) and error.code == "judged-text"
    assert ("label", "Q_overall") in choices(error.remedies)
    for remedy in error.remedies:
        assert read_case("response-is-the-judged-text", label=remedy.value).dataset().n_annotations == 120
    found = read_case("response-is-the-judged-text", label="Q_overall", gold="safety_gold")
    assert summary(found) == (20, 6, 120, -0.058993)
    assert found.report.n_gold == 20 and found.report.classes == ("No", "Unsure", "Yes")


def test_the_column_that_varies_within_tasks_is_the_label() -> None:
    found = read_case("question-answer-rating")
    assert found.report.roles == {"task": "question_id", "worker": "annotator", "label": "rating"}
    assert summary(found)[:3] == (20, 3, 60) and not found.report.changes
    (finding,) = [f for f in found.report.findings if f.code == "role-by-content"]
    assert choices(finding.remedies) == [("label", "answer")]
    assert read_case("question-answer-rating", label="answer").report.roles["label"] == "answer"


def crowd(**columns: Any) -> pd.DataFrame:
    """Four people on 24 items, and further columns of functions of item and person."""
    rows = [(t, w) for t in range(24) for w in range(4)]
    frame = {"item": [f"i{t}" for t, _ in rows], "person": [f"p{w}" for _, w in rows]}
    frame["mark"] = ["abc"[(t * 7 + w * t) % 3] for t, w in rows]
    return pd.DataFrame(frame | {name: [make(t, w) for t, w in rows] for name, make in columns.items()})


def test_a_worker_column_half_empty_gives_way_to_a_full_one() -> None:
    frame = crowd(user_id=lambda t, w: w if t % 2 else None).rename(columns={"person": "user_name", "mark": "label"})
    assert examine_frame(frame).report.roles["worker"] == "user_name"


def test_the_author_of_an_item_is_no_worker() -> None:
    frame = crowd(user=lambda t, w: f"author {t % 5}").rename(columns={"person": "rater", "mark": "label"})
    assert examine_frame(frame).report.roles["worker"] == "rater"


def test_a_row_number_is_no_task() -> None:
    frame = crowd(unit_id=lambda t, w: 4 * t + w).rename(
        columns={"item": "image_id", "person": "worker", "mark": "label"}
    )
    assert examine_frame(frame).report.roles["task"] == "image_id"


def test_a_column_of_free_text_gives_way_to_one_of_few_values() -> None:
    frame = crowd(answer=lambda t, w: f"since {t * 4 + w} of them").rename(
        columns={"person": "worker", "mark": "category"}
    )
    assert examine_frame(frame).report.roles["label"] == "category"


def test_labels_that_content_cannot_tell_apart_are_asked() -> None:
    frame = crowd(vote=lambda t, w: "yn"[(t + w * w) % 2]).rename(columns={"person": "worker", "mark": "category"})
    (asked,) = examine_frame(frame).report.questions
    assert asked.code == "which-label"
    assert choices(asked.remedies) == [("label", "category"), ("label", "vote")]
    for remedy in asked.remedies:
        assert not examine_frame(frame, label=remedy.value).report.questions


@pytest.mark.parametrize(
    ("item", "person", "mark"),
    [
        ("subject", "user_name", "verdict"),
        ("segment", "annotator_name", "label_name"),
        ("file_id", "annotator", "final answer"),
        ("image_name", "rater", "score"),
        ("trace_id", "evaluator", "target"),
    ],
)
def test_further_names(item: str, person: str, mark: str) -> None:
    frame = crowd().rename(columns={"item": item, "person": person, "mark": mark})
    found = examine_frame(frame)
    assert found.report.roles == {"task": item, "worker": person, "label": mark}
    assert not found.report.changes


def test_a_wide_table_with_a_column_of_such_a_name_stays_wide() -> None:
    wide = crowd().pivot(index="item", columns="person", values="mark").reset_index()
    found = examine_frame(wide.assign(reviewer=wide["p0"], target=wide["p1"]))
    assert found.report.format == "wide"


@pytest.mark.parametrize("case", ["several-questions-long", "two-column-task-long"])
def test_every_choice_opens(case: str) -> None:
    for finding in read_case(case).report.questions:
        for remedy in finding.remedies:
            dataset = read_dataset(path_of(case), **{remedy.settings[0]: remedy.value})
            assert dataset.n_annotations
