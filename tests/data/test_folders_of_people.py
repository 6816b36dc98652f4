"""Folders with a file for each worker, or for each task."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdcore.data import examine
from tests.data.test_odd_inputs import BY_TASK, BY_WORKER, ROWS, TASKS, WORKERS, table, written


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
