"""Marks are kept, counted, taken back and believed: nothing that one session said is lost to another."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.analysis import available_references, resolve_reference, reviewed_gold
from crowdcore.data.dataset import CrowdDataset
from crowdcore.marks import add_mark, current_marks, read_marks, undo_mark


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
    with pytest.raises(cc.DataError, match="Nobody has marked tasks"):
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
    assert cc.exhibits.verdicts.verdicts(seen).notes[0] == "The truth is reviewed, on 1 task."
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
