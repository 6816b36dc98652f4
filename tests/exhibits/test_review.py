"""Labels to review: filters, marks beside them, and the lists that come of marks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.exhibits import View, view
from crowdcore.exhibits.review import marked_tasks, relabel_list, review, training_list
from crowdcore.exhibits.verdicts import task_verdicts
from crowdcore.marks import add_mark
from tests.exhibits.examples import crowd


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> View:
    """Task a is a cat that two of three call a dog, b a dog that all know."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    rows = [("a", "ann", "cat"), ("a", "ben", "dog"), ("a", "eve", "dog"), ("b", "ann", "dog"), ("b", "ben", "dog")]
    frame = pd.DataFrame([(*row, {"a": "cat", "b": "dog"}[row[0]]) for row in rows])
    return view(cc.from_frame(frame.set_axis(["task", "worker", "label", "gold"], axis=1)))


def told(exhibit: cc.exhibits.Exhibit) -> list[str]:
    return sorted(exhibit.table["task"] + " " + exhibit.table["worker"])


def test_filters_leave_the_labels_behind_a_cell_a_group_a_pair(seen: View) -> None:
    assert told(review(seen)) == ["a ann", "a ben", "a eve", "b ann", "b ben"]
    assert told(review(seen, true="cat", given="dog")) == ["a ben", "a eve"]
    assert told(review(seen, workers=("ann", "eve"))) == ["a ann", "a eve", "b ann"]
    assert told(review(seen, show="alike", workers=("ben", "eve"))) == ["a ben", "a eve"]
    assert told(review(seen, show="alike", workers=("ann", "eve"))) == []
    votes = cc.analysis.resolve_reference(seen.dataset, "majority-vote")
    tasks = review(seen, by="task", against=votes).table
    assert tasks[["task", "most given", "gold"]].to_numpy().tolist() == [["a", "dog", "cat"]]


def test_a_soft_reference_shows_the_probabilities_that_overview_has(seen: View) -> None:
    of = view(seen.dataset, "majority-vote")
    table, overview = review(of).table, task_verdicts(of).table.set_index("task")
    assert (table["probability"].to_numpy() == overview.loc[table["task"], "probability"].to_numpy()).all()
    same = table["label"] == table["majority-vote"]
    assert (table["probability of label"] == table["probability"])[same].all()


def test_marks_stand_beside_labels_and_make_both_lists(seen: View) -> None:
    add_mark(seen.dataset, "a", "cat", comment="ben is hasty")
    marks = review(seen).table.groupby("task")["mark"].agg(set)
    assert marks.to_dict() == {"a": {"wrong"}, "b": {""}}
    assert review(seen, by="task", show="unmarked").table["task"].tolist() == ["b"]
    assert training_list(seen).table[["worker", "task", "right class"]].to_numpy().tolist() == [
        ["ben", "a", "cat"],
        ["eve", "a", "cat"],
    ]
    add_mark(seen.dataset, "b", None, worker="ann")
    assert relabel_list(seen).table["task"].tolist() == ["a", "b"]
    assert marked_tasks(seen).notes == ("Marked tasks: 2 (1 wrong, 1 unclear).",)
    assert review(seen).click(0) == {"task": "a", "worker": "ann"}


def test_hidden_names_are_hidden_in_marks_comments_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    hidden = view(crowd(), hidden=True)
    of, worker = hidden.dataset, hidden.dataset.worker_ids[0]
    task = of.task_ids[of.task[of.worker == 0][0]]
    label = of.label[(of.worker == 0) & (of.task == of.task_ids.get_loc(task))][0]
    add_mark(of, task, of.classes[label - 1], worker=worker, comment=f"Ask {worker} why", by="anna of the lab")
    for made in (review(hidden), marked_tasks(hidden), relabel_list(hidden), training_list(hidden)):
        assert "anna" not in made.table.to_csv()
        assert "Ask worker " in made.table.to_csv()
