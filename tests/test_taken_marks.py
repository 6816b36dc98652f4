"""Marks from files and from data that have changed: nothing is lost in silence, every fault has its row and column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import crowdcore as cc
from crowdcore.data import Media
from crowdcore.data.dataset import CrowdDataset
from crowdcore.marks import add_mark, current_marks, keep_marks, marks_of_earlier_data, marks_of_file, read_marks

ROWS = [("a", "ann", "cat"), ("a", "ben", "dog"), ("a", "eve", "dog"), ("b", "ann", "dog"), ("b", "ben", "dog")]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)  # pandas does not quote a \r


def crowd(rows: list[tuple[str, str, str]] = ROWS, texts: dict[str, str] | None = None) -> CrowdDataset:
    made = replace(cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"])), name="pets")
    if texts is None:
        return made
    return replace(made, media=Media(columns=pd.DataFrame({"text": [texts[task] for task in made.task_ids]})))


@pytest.fixture
def votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CrowdDataset:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    return crowd()


def test_a_file_is_kept_as_marks_and_what_is_wrong_is_told_by_row_and_column(votes: CrowdDataset) -> None:
    lines = [
        "item,truth,mark,annotator,comment,colour",
        "a,dog,,ann,not a cat,red",
        "b,,unclear,,,",
        "b,,,,,",
        "c,dog,,,,",
        "a,cow,,,,",
        "b,dog,,eve,,",
        "a,dog,wrong,,,",
        "a,dog,maybe,,,",
        "a,dog,unclear,,,",
        f"a,dog,,,{'x' * 2001},",
    ]
    found = marks_of_file(votes, "marks.csv", "\n".join(lines).encode())
    assert [(mark.task, mark.says, mark.worker, mark.comment) for mark in found.marks] == [
        ("a", "wrong", "ann", "not a cat"),
        ("b", "unclear", "", ""),
    ]
    assert list(zip(found.faults["row"], found.faults["column"], strict=True)) == [
        (3, "truth"),
        (4, "item"),
        (5, "truth"),
        (6, "annotator"),
        (7, "mark"),
        (8, "mark"),
        (9, "truth"),
        (10, "comment"),
    ]
    assert "colour" in found.notes[0]
    assert read_marks(votes) == ()
    keep_marks(votes, found.marks)
    assert read_marks(votes) == found.marks
    assert marks_of_file(votes, "marks.csv", b"task,truth,worker,comment\na,dog,ann\n").marks[0].comment == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no CSV"),
        (b"\xff\xfe", "no CSV"),
        (b"task,label\na,dog\n", "No column holds the right class"),
        (b"truth\ndog\n", "No column holds the task"),
        (b"task,truth\na,dog,ann\n", "no CSV"),
        (b"task,truth\na,dog\nb,dog,ann\n", "no CSV"),
        (b"task,truth,Truth\na,dog,dog\n", "Two columns are called 'truth'"),
    ],
)
def test_a_file_that_holds_no_marks_is_refused(votes: CrowdDataset, content: bytes, said: str) -> None:
    with pytest.raises(cc.DataError, match=said):
        marks_of_file(votes, "marks.csv", content)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), st.sampled_from(["cat", "dog", "cow", ""]), TEXT)))
def test_every_row_is_a_mark_or_a_fault(rows: list[tuple[str, str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["task", "right class", "comment"])
    found = marks_of_file(crowd(), "marks.csv", frame.to_csv(index=False).encode())
    assert len(found.marks) + len(found.faults) == len(rows)
    assert {mark.task for mark in found.marks} <= {"a", "b"}


def test_the_table_of_all_marks_is_read_back(votes: CrowdDataset) -> None:
    from crowdcore.data.dictionary import csv_bytes

    add_mark(votes, "a", "cat", worker="ann", comment="=1+1", by="me")
    add_mark(votes, "b", None)
    table = cc.exhibits.review.marked_tasks(cc.exhibits.view(votes, "majority-vote")).table
    found = marks_of_file(votes, "marks.csv", csv_bytes(table))
    assert not len(found.faults)
    same = {(m.task, m.truth, m.worker, m.comment, m.by) for m in current_marks(votes).values()}
    assert {(m.task, m.truth, m.worker, m.comment, m.by) for m in found.marks} == same


def test_marks_follow_data_that_have_changed_and_what_does_not_fit_is_listed(votes: CrowdDataset) -> None:
    texts = {"a": "meow", "b": "woof", "c": "moo", "d": "baa"}
    before = crowd([*ROWS, ("c", "ann", "cow"), ("d", "ann", "dog")], texts)
    for task, truth, worker in (("a", "dog", "ann"), ("b", "dog", "ben"), ("c", "cow", ""), ("d", "dog", "")):
        add_mark(before, task, truth, worker=worker, by="me")
    changed = [row for row in ROWS if row != ("b", "ben", "dog")] + [("d", "ann", "dog")]
    now = crowd(changed, {**texts, "d": "another text"})
    assert now.fingerprint != before.fingerprint
    found = marks_of_earlier_data(now)
    assert [(mark.task, mark.truth, mark.by) for mark in found.marks] == [("a", "dog", "me")]
    assert dict(zip(found.faults["task"], found.faults["column"], strict=True)) == {
        "b": "worker",
        "c": "task",
        "d": "task",
    }
    keep_marks(now, found.marks)
    assert not marks_of_earlier_data(now).marks
    assert current_marks(now)["a"].at == current_marks(before)["a"].at
    assert not marks_of_earlier_data(replace(now, name="other data")).marks


def test_a_mark_made_here_stands_and_the_last_of_several_is_carried(votes: CrowdDataset) -> None:
    add_mark(votes, "a", "dog")
    add_mark(votes, "a", "cat")
    add_mark(votes, "b", "dog")
    now = crowd([*ROWS, ("c", "ann", "cat")])
    add_mark(now, "b", "cat")
    found = marks_of_earlier_data(now)
    assert [(mark.task, mark.truth) for mark in found.marks] == [("a", "cat")]
    assert found.faults["fault"].tolist() == ["The task has a mark here already"]
