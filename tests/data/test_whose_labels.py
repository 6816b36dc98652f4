"""Workers, tasks and gold of files whose names alone do not identify them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdcore.data import examine

DOCS = [f"d{i}" for i in range(30)]
PEOPLE = [f"u{i}" for i in range(5)]
HALVES = PEOPLE[::2], PEOPLE[1::2]


def label(person: str, doc: str) -> str:
    return "yes" if (int(doc[1:]) + int(person[1:]) * (int(doc[1:]) % 7 == 0)) % 2 else "no"


def read(folder: Path, records: Any, **settings: Any) -> Any:
    path = folder / "votes.json"
    path.write_text(json.dumps(records))
    return examine(path, **settings)


def of_people(who: Any, key: str = "doc") -> list[dict[str, Any]]:
    return [{**who(p), "labels": [{key: d, "label": label(p, d)} for d in DOCS]} for p in PEOPLE]


@pytest.mark.parametrize(
    "records",
    [
        of_people(lambda p: {"annotator": p}),
        of_people(lambda p: {"annotator": {"id": p, "country": "DE"}}, "x"),
        [{"item": {"id": d}, "said": [{"by": {"id": p}, "value": label(p, d)} for p in PEOPLE]} for d in DOCS],
        [
            {"item": {"id": d}, "v": [{"who": p, "value": label(p, d)} for p in PEOPLE[k::2]]}
            for d in DOCS
            for k in (0, 1)
        ],
        [{"id": d, "votes": [{"source": p, "vote": label(p, d)} for p in PEOPLE]} for d in DOCS],
    ],
    ids=["records of a named worker", "of a worker with an id", "workers with an id", "tasks twice", "unnamed workers"],
)
def test_records_of_tasks_and_of_workers(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    imported = read(tmp_path, records)
    assert not imported.report.questions
    dataset = imported.dataset()
    assert ({*dataset.task_ids}, {*dataset.worker_ids}) == ({*DOCS}, {*PEOPLE})
    given = {
        (dataset.worker_ids[w], dataset.task_ids[t]): dataset.classes[c]
        for t, w, c in zip(dataset.task, dataset.worker, dataset.label, strict=True)
    }
    assert given == {(p, d): label(p, d) for p in PEOPLE for d in DOCS}


@pytest.mark.parametrize(
    "records", [of_people(lambda p: {"id": p}, "key"), {p: [label(p, d) for d in DOCS] for p in PEOPLE}]
)
def test_records_that_may_be_of_either_are_asked_about(tmp_path: Path, records: Any) -> None:
    (question,) = read(tmp_path, records).report.questions
    assert question.code == "turned"
    assert [(r.setting, r.value) for r in question.remedies] == [("turn", True), ("turn", False)]
    for turn, size in ((True, (30, 5)), (False, (5, 30))):
        imported = read(tmp_path, records, turn=turn)
        assert not imported.report.questions
        assert (imported.report.n_tasks, imported.report.n_workers) == size


def votes(folder: Path, gold: dict[str, str], lines: int = 30, turned: bool = False) -> Path:
    """Votes and gold by another name; ``turned``: most votes are wrong."""
    path, given = folder / "votes.csv", {"yes": "no", "no": "yes"} if turned else {"yes": "yes", "no": "no"}
    rows = [f"{d},{p},{given[label(p, d)]},{gold[label('u0', d)]}" for d in DOCS[:lines] for p in PEOPLE]
    path.write_text("\n".join(["task,worker,label,gold", *rows]))
    return path


@pytest.mark.parametrize(
    "gold", [{"yes": "1", "no": "0"}, {"yes": "YES.", "no": "No."}, {"yes": "ja", "no": "nein"}], ids=lambda g: g["yes"]
)
def test_gold_that_nobody_gives_is_asked_about(tmp_path: Path, gold: dict[str, str]) -> None:
    path = votes(tmp_path, gold)
    (question,) = examine(path).report.questions
    assert question.code == "gold-apart" and question.count == 30
    same = {name: [other] for name, other in gold.items()}
    assert question.remedies[0].setting == "merge_classes" and question.remedies[0].value == same
    merged = examine(path, merge_classes=same)
    assert not merged.report.questions
    dataset = merged.dataset(accept=True)
    right = dataset.label == dataset.gold[dataset.task]
    assert {*dataset.classes} == {"yes", "no"} and 0.85 < right.mean() < 1
    all_classes = examine(path, classes=[*gold, *gold.values()])
    assert not all_classes.report.questions and len(all_classes.dataset().classes) == 4


def test_what_1_means_is_not_told_by_votes_that_are_wrong(tmp_path: Path) -> None:
    (asked,) = examine(votes(tmp_path, {"yes": "1", "no": "0"}, turned=True)).report.questions
    assert asked.remedies[0].value == {"yes": ["1"], "no": ["0"]}


def test_a_word_for_no_gold_is_asked_about_and_few_tasks_are_not(tmp_path: Path) -> None:
    path = votes(tmp_path, {"yes": "to do", "no": "no"})
    (question,) = examine(path).report.questions
    remedy = next(remedy for remedy in question.remedies if remedy.setting == "missing")
    imported = examine(path, missing=remedy.value)
    assert not imported.report.questions and 0 < imported.report.n_gold < 30
    assert imported.dataset(accept=True).classes == ("no", "yes")
    assert not examine(votes(tmp_path, {"yes": "1", "no": "0"}, lines=4)).report.questions


def test_gold_of_other_tasks_is_asked_about(tmp_path: Path) -> None:
    path, other = tmp_path / "votes.csv", np.random.default_rng(0).permutation(120)
    for gold, value in (((np.arange(120) % 3), []), (other % 3, ["gold-by-chance"])):
        rows = [f"t{t},w{w},{(t + (t % 5 == w)) % 3},{gold[t]}" for t in range(120) for w in range(4)]
        path.write_text("\n".join(["task,worker,label,gold", *rows]))
        assert [question.code for question in examine(path).report.questions] == value


def test_gold_under_another_name_is_mentioned(tmp_path: Path) -> None:
    records = [{"id": d, "said": {p: label(p, d) for p in PEOPLE}, "human": label("u0", d), "x": "yes"} for d in DOCS]
    imported = read(tmp_path, records)
    (noticed,) = [f for f in imported.report.findings if f.code == "unread-gold"]
    assert [(r.setting, r.value) for r in noticed.remedies] == [("gold", "human")]
    assert read(tmp_path, records, gold="human").report.n_gold == 30


def test_counts_beside_their_sum_and_the_majority(tmp_path: Path) -> None:
    counts = np.random.default_rng(2).integers(0, 4, (40, 3)) + np.eye(3, dtype=int)[0]
    path = tmp_path / "counts.csv"
    rows = [f"{i},{','.join(map(str, c))},{sum(c)},{c.argmax()}" for i, c in enumerate(counts)]
    path.write_text("\n".join(["id,hate,offensive,neither,n,class", *rows]))
    dataset = examine(path).dataset()
    assert dataset.classes == ("hate", "offensive", "neither")
    np.testing.assert_array_equal(np.bincount(dataset.label), counts.sum(0))
