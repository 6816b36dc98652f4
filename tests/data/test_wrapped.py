"""Tables with two rows of names, JSON around or instead of records, and Labelbox's export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from tests.data.test_odd_inputs import BY_TASK, CLASSES, GIVEN, ROWS, TASKS, WORKERS, table, written

QUESTIONS = ("animal", "mood")
MOODS = dict(zip(CLASSES, ("calm", "glad", "wild"), strict=True))
BY_QUESTION = [
    [GIVEN.get((t, w), "") for w in WORKERS] + [MOODS.get(GIVEN.get((t, w)), "") for w in WORKERS] for t in TASKS
]
BY_PERSON = [[cell for pair in zip(row[:4], row[4:], strict=True) for cell in pair] for row in BY_QUESTION]
PANDAS = [["", *(q for q in QUESTIONS for _ in WORKERS)], ["", *WORKERS * 2], ["item", *[""] * 8]]
MERGED = [["", "animal", "", "", "", "mood", "", "", ""], ["item", *WORKERS * 2]]
PEOPLE = [["", *(cell for w in WORKERS for cell in (w, ""))], ["item", *QUESTIONS * 4]]


@pytest.mark.parametrize(("names", "rows"), [(PANDAS, BY_QUESTION), (MERGED, BY_QUESTION), (PEOPLE, BY_PERSON)])
def test_two_rows_of_names_with_several_questions(names: Any, rows: Any, tmp_path: Path) -> None:
    labelled = [[t, *row] for t, row in zip(TASKS, rows, strict=True)]
    path = written(tmp_path, "two.csv", table([*names, *labelled]))
    (question,) = examine(path).report.questions
    assert (question.code, question.examples) == ("several-questions", QUESTIONS)
    for name, classes in (("animal", CLASSES), ("mood", MOODS.values())):
        dataset = examine(path, question=name).dataset()
        assert ([*dataset.task_ids], [*dataset.worker_ids], dataset.n_annotations) == (TASKS, [*WORKERS], len(ROWS))
        assert {*dataset.classes} == {*classes}


RECORDS = [{"item": t, "worker": w, "label": v} for t, w, v in ROWS]
NESTED = [{"id": t, "annotations": [{"worker": w, "label": v} for w, v in given]} for t, given in BY_TASK.items()]
WRAPPED: dict[str, Any] = {
    "rows": {"data": {"items": RECORDS}},
    "beside": {"status": "ok", "data": {"page": 1, "results": {"n": 3, "labels": RECORDS}}},
    "tasks": {"data": {"items": NESTED}},
    "lists": ROWS,
    "named-lists": [("image", "user", "class"), *ROWS],
    "known-names": [("task", "worker", "label"), *ROWS],
}


@pytest.mark.parametrize("name", WRAPPED)
def test_records_within_others_and_lists_of_lists(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{name}.json", WRAPPED[name])
    found = examine(path)
    dataset = found.dataset(accept=True)
    assert not found.report.questions
    assert ([*dataset.task_ids], {*dataset.worker_ids}, dataset.n_annotations) == (TASKS, {*WORKERS}, len(ROWS))


def labelbox(*more: str) -> list[dict[str, Any]]:
    """A row for each task; ``more`` are questions besides the animal."""

    def label(who: str, option: str) -> dict[str, Any]:
        asked = [{"name": q, "radio_answer": {"name": option, "value": option}} for q in ("animal", *more)]
        details = {"created_at": "2024-05-01T10:00:00.000+00:00", "created_by": f"{who}@x.org"}
        found = {"objects": [], "classifications": asked, "relationships": []}
        return {"label_kind": "Default", "label_details": details, "annotations": found}

    return [
        {
            "data_row": {"id": f"cl{k}", "external_id": t, "row_data": f"https://x.org/{t}.jpg"},
            "media_attributes": {"mime_type": "image/jpeg"},
            "projects": {"p1": {"name": "Animals", "labels": [label(w, v) for w, v in given]}},
        }
        for k, (t, given) in enumerate(BY_TASK.items())
    ]


def test_labelbox(tmp_path: Path) -> None:
    found = examine(written(tmp_path, "export.json", labelbox()))
    dataset = found.dataset()
    assert (found.report.format, [*dataset.task_ids], dataset.n_annotations) == ("labelbox", TASKS, len(ROWS))
    assert [*dataset.worker_ids] == [f"{w}@x.org" for w in WORKERS]


def test_labelbox_with_several_questions(tmp_path: Path) -> None:
    path = written(tmp_path, "export.jsonl", labelbox("mood"))
    with pytest.raises(DataError) as refusal:
        examine(path)
    assert refusal.value.remedies[0].choices == ({"label": "animal"}, {"label": "mood"})
    assert examine(path, label="mood").dataset().n_annotations == len(ROWS)
    bare = [{**row, "projects": {"p1": {"labels": []}}} for row in labelbox()]
    with pytest.raises(DataError):
        examine(written(tmp_path, "bare.jsonl", bare))
