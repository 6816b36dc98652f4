"""Marks are kept, counted, taken from files and carried over: nothing is lost silently."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import crowdcore as cc
from crowdcore.analysis import available_references, resolve_reference, reviewed_gold
from crowdcore.data import Media
from crowdcore.data.dataset import CrowdDataset
from crowdcore.marks import (
    add_mark,
    current_marks,
    keep_marks,
    marks_of_earlier_data,
    marks_of_file,
    read_marks,
    undo_mark,
)


@pytest.fixture
def votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CrowdDataset:
    """Two tasks of three workers; gold is cat, dog."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    rows = [("a", "ann", "cat"), ("a", "ben", "dog"), ("a", "eve", "dog"), ("b", "ann", "dog"), ("b", "ben", "dog")]
    frame = pd.DataFrame([(*row, {"a": "cat", "b": "dog"}[row[0]]) for row in rows])
    return cc.from_frame(frame.set_axis(["task", "worker", "label", "gold"], axis=1))


def test_a_mark_says_whether_the_label_that_was_looked_at_is_right(votes: CrowdDataset) -> None:
    assert add_mark(votes, "a", "dog").says == "right"  # the most frequent label
    assert add_mark(votes, "a", "dog", worker="ann").says == "wrong"
    assert add_mark(votes, "a", "cat", worker="ann").says == "right"
    assert add_mark(votes, "a", None, comment=" blurred ", by="me").says == "unclear"
    last = read_marks(votes)[-1]
    assert (last.task, last.label, last.comment, last.by) == ("a", "dog", "blurred", "me")
    assert len(read_marks(votes)) == 4
    assert list(current_marks(votes)) == ["a"]


def test_what_was_said_before_counts_again_after_an_undo(votes: CrowdDataset) -> None:
    first = add_mark(votes, "a", "cat", by="me")
    add_mark(votes, "a", "dog", by="you")
    assert undo_mark(votes).truth == "dog"
    assert current_marks(votes)["a"] == first
    add_mark(votes, "b", "dog", by="you")
    assert undo_mark(votes, by="me") == first
    assert [mark.task for mark in read_marks(votes)] == ["b"]
    with pytest.raises(cc.DataError, match="no mark"):
        undo_mark(votes, by="me")


def test_reviewed_gold_is_a_reference_of_its_own_or_on_top_of_gold(votes: CrowdDataset) -> None:
    assert "reviewed" not in available_references(votes)
    with pytest.raises(cc.DataError, match="Nobody"):
        resolve_reference(votes, "reviewed")
    add_mark(votes, "a", "dog")
    assert available_references(votes)[:3] == ["gold", "reviewed", "reviewed+gold"]
    alone, both = resolve_reference(votes, "reviewed"), resolve_reference(votes, "reviewed+gold")
    dog = votes.classes.index("dog")
    assert (alone.name, alone.labels.tolist(), alone.soft) == ("reviewed", [dog, -1], False)
    assert (both.name, both.labels.tolist()) == ("reviewed+gold", [dog, dog])
    add_mark(votes, "a", None)
    assert resolve_reference(votes, "reviewed+gold").labels.tolist() == [-1, dog]
    assert "reviewed+gold" not in available_references(replace(votes, gold=np.full(2, -1, np.int32)))


def test_exhibits_follow_every_mark_and_say_what_the_truth_is(votes: CrowdDataset) -> None:
    add_mark(votes, "a", "dog")
    seen = cc.exhibits.view(votes, "reviewed")
    assert cc.exhibits.view(votes, "reviewed").truth is seen.truth
    assert cc.exhibits.tasks.task(seen, "a").table["reviewed"].tolist() == ["dog"]
    assert "reviewed, on 1 task" in cc.exhibits.verdicts.verdicts(seen).notes[0]
    add_mark(votes, "a", "cat")
    assert cc.exhibits.view(votes, "reviewed").truth.labels[0] == votes.classes.index("cat")


def test_marks_of_sessions_at_once_are_all_kept(votes: CrowdDataset) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: add_mark(votes, "ab"[n % 2], "cat", comment=str(n)), range(40)))
    assert {mark.comment for mark in read_marks(votes)} == {str(n) for n in range(40)}


def test_a_line_that_a_killed_process_left_torn_loses_nothing_else(votes: CrowdDataset, tmp_path: Path) -> None:
    add_mark(votes, "a", "cat")
    file = tmp_path / "workspace" / "marks" / f"{votes.fingerprint}.jsonl"
    with file.open("a") as torn:
        torn.write('{"task": "b", "tr')
    assert len(read_marks(votes)) == 1
    add_mark(votes, "b", "dog")
    assert [mark.task for mark in read_marks(votes)] == ["a", "b"]
    assert all(json.loads(line) for line in file.read_text().splitlines())
    file.write_text(file.read_text() + "no mark\n")
    with pytest.raises(cc.DataError, match=r"row 3"):
        read_marks(votes)


def test_marks_belong_to_the_data_and_move_with_the_workspace(votes: CrowdDataset, tmp_path: Path) -> None:
    add_mark(votes, "a", "dog")
    moved = (tmp_path / "workspace").rename(tmp_path / "moved")
    assert read_marks(votes) == ()
    assert reviewed_gold(replace(votes, name="another name"), workspace=moved).labels[0] == votes.classes.index("dog")
    changed = votes.where(np.arange(votes.n_annotations) > 0)
    assert read_marks(changed, moved) == ()


@pytest.mark.parametrize(
    ("task", "truth", "worker", "said"),
    [
        ("gone", "cat", "", "has no task 'gone'. If the data have changed, marks on the old data do not fit them."),
        ("a", "cow", "", "`class` must be one of cat, dog, but got 'cow'."),
        ("b", "cat", "eve", "has no label of worker 'eve' on task 'b'"),
    ],
)
def test_what_is_not_there_cannot_be_marked(votes: CrowdDataset, task: str, truth: str, worker: str, said: str) -> None:
    with pytest.raises(cc.CrowdError) as refused:
        add_mark(votes, task, truth, worker=worker)
    assert said in str(refused.value)
    assert read_marks(votes) == ()


ROWS = [("a", "ann", "cat"), ("a", "ben", "dog"), ("a", "eve", "dog"), ("b", "ann", "dog"), ("b", "ben", "dog")]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)  # pandas does not quote a \r


def crowd(rows: list[tuple[str, str, str]] = ROWS, texts: dict[str, str] | None = None) -> CrowdDataset:
    made = replace(cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"])), name="pets")
    if texts is None:
        return made
    return replace(made, media=Media(columns=pd.DataFrame({"text": [texts[task] for task in made.task_ids]})))


@pytest.fixture
def small_crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CrowdDataset:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    return crowd()


def test_a_file_is_kept_as_marks_and_what_is_wrong_is_told_by_row_and_column(small_crowd: CrowdDataset) -> None:
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
    marks = marks_of_file(small_crowd, "marks.csv", "\n".join(lines).encode())
    assert [(mark.task, mark.says, mark.worker, mark.comment) for mark in marks.marks] == [
        ("a", "wrong", "ann", "not a cat"),
        ("b", "unclear", "", ""),
    ]
    assert list(zip(marks.faults["row"], marks.faults["column"], strict=True)) == [
        (3, "truth"),
        (4, "item"),
        (5, "truth"),
        (6, "annotator"),
        (7, "mark"),
        (8, "mark"),
        (9, "truth"),
        (10, "comment"),
    ]
    assert "colour" in marks.notes[0]
    assert read_marks(small_crowd) == ()
    keep_marks(small_crowd, marks.marks)
    assert read_marks(small_crowd) == marks.marks
    assert marks_of_file(small_crowd, "marks.csv", b"task,truth,worker,comment\na,dog,ann\n").marks[0].comment == ""


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
def test_a_file_that_holds_no_marks_is_refused(small_crowd: CrowdDataset, content: bytes, said: str) -> None:
    with pytest.raises(cc.DataError, match=said):
        marks_of_file(small_crowd, "marks.csv", content)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), st.sampled_from(["cat", "dog", "cow", ""]), TEXT)))
def test_every_row_is_a_mark_or_a_fault(rows: list[tuple[str, str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["task", "right class", "comment"])
    marks = marks_of_file(crowd(), "marks.csv", frame.to_csv(index=False).encode())
    assert len(marks.marks) + len(marks.faults) == len(rows)
    assert {mark.task for mark in marks.marks} <= {"a", "b"}


def test_the_table_of_all_marks_is_read_back(small_crowd: CrowdDataset) -> None:
    from crowdcore.data.dictionary import csv_bytes

    add_mark(small_crowd, "a", "cat", worker="ann", comment="=1+1", by="me")
    add_mark(small_crowd, "b", None)
    table = cc.exhibits.review.marked_tasks(cc.exhibits.view(small_crowd, "majority-vote")).table
    marks = marks_of_file(small_crowd, "marks.csv", csv_bytes(table))
    assert not len(marks.faults)
    same = {(m.task, m.truth, m.worker, m.comment, m.by) for m in current_marks(small_crowd).values()}
    assert {(m.task, m.truth, m.worker, m.comment, m.by) for m in marks.marks} == same


def test_marks_follow_data_that_have_changed_and_what_does_not_fit_is_listed(small_crowd: CrowdDataset) -> None:
    texts = {"a": "meow", "b": "woof", "c": "moo", "d": "baa"}
    before = crowd([*ROWS, ("c", "ann", "cow"), ("d", "ann", "dog")], texts)
    for task, truth, worker in (("a", "dog", "ann"), ("b", "dog", "ben"), ("c", "cow", ""), ("d", "dog", "")):
        add_mark(before, task, truth, worker=worker, by="me")
    changed = [row for row in ROWS if row != ("b", "ben", "dog")] + [("d", "ann", "dog")]
    now = crowd(changed, {**texts, "d": "another text"})
    assert now.fingerprint != before.fingerprint
    marks = marks_of_earlier_data(now)
    assert [(mark.task, mark.truth, mark.by) for mark in marks.marks] == [("a", "dog", "me")]
    assert dict(zip(marks.faults["task"], marks.faults["column"], strict=True)) == {
        "b": "worker",
        "c": "task",
        "d": "task",
    }
    keep_marks(now, marks.marks)
    assert not marks_of_earlier_data(now).marks
    assert current_marks(now)["a"].at == current_marks(before)["a"].at
    assert not marks_of_earlier_data(replace(now, name="other data")).marks


def test_a_mark_made_here_stands_and_the_last_of_several_is_carried(small_crowd: CrowdDataset) -> None:
    add_mark(small_crowd, "a", "dog")
    add_mark(small_crowd, "a", "cat")
    add_mark(small_crowd, "b", "dog")
    now = crowd([*ROWS, ("c", "ann", "cat")])
    add_mark(now, "b", "cat")
    marks = marks_of_earlier_data(now)
    assert [(mark.task, mark.truth) for mark in marks.marks] == [("a", "cat")]
    assert len(marks.faults) == 1
