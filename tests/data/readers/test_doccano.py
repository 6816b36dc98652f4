"""doccano's exports."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from testkit import exports


def test_users_are_the_names_of_the_files(tmp_path):
    data = examine(exports.write(tmp_path)["doccano"]).dataset(accept=True)
    assert list(data.worker_ids) == ["ann", "bob", "eve"]
    assert list(data.task_ids) == ["1", "2"]


def test_csv_files_join_labels_by_a_hash(tmp_path):
    (tmp_path / "crowd").mkdir()
    for who, label in (("ann", "pos"), ("bob", "pos#neg"), ("eve", "neg")):
        (tmp_path / "crowd" / f"{who}.csv").write_text(f"id,text,label\n1,great film,{label}\n", encoding="utf-8")
    report = examine(tmp_path / "crowd").report
    assert report.format == "doccano"
    assert [f.code for f in report.changes] == ["several-choices", "workers-without-labels"]
    assert report.classes == ("neg", "pos")


def test_one_file_of_all_users_names_no_worker(write):
    path = write(exports.lines([{"id": 1, "text": "great film", "label": ["pos"], "Comments": []}]), "all.jsonl")
    with pytest.raises(DataError, match=r"^These labels name no worker: doccano writes a file for each user .*ZIP"):
        examine(path)


def test_old_exports_name_the_user(tmp_path):
    path = tmp_path / "file.json1.jsonl"
    record = {
        "id": 1, "text": "great film", "meta": {}, "annotation_approver": None,
        "annotations": [
            {"id": 1, "label": 2, "user": 1, "created_at": "2020-01-01T00:00:00Z"}, {"id": 2, "label": 3, "user": 2},
            {"id": 3, "label": 2, "user": 3}, {"id": 4, "label": 3, "user": 3},
            {"id": 5, "label": 3, "user": 4, "start_offset": 0, "end_offset": 5},
        ],
    }  # fmt: skip
    path.write_text(exports.lines([record]), encoding="utf-8")
    report = examine(path).report
    assert (report.classes, report.n_annotations, report.n_rows) == (("2", "3"), 2, 4)
    assert {f.code: f.left_out for f in report.changes if f.left_out} == {"several-choices": 1, "no-class": 1}
