"""Argilla's records."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine
from testkit import exports


def test_parquet_of_a_dataset(tmp_path):
    """`to_datasets().to_parquet` keeps lists."""
    path = tmp_path / "records.parquet"
    pd.DataFrame(exports.ARGILLA_FLAT).to_parquet(path)
    found = examine(path)
    assert (found.report.format, found.report.n_rows, found.report.n_annotations) == ("argilla", 6, 4)
    assert {f.code: (f.count, f.left_out) for f in found.report.changes} == {
        "prediction": (1, 0), "discarded": (1, 1), "draft": (1, 1)
    }  # fmt: skip


def test_json_that_says_no_status_is_told(write):
    warnings = [f.code for f in examine(write(exports.ARGILLA)).report.findings if f.level == "warning"]
    assert warnings == ["status-unknown"]


def test_several_questions_and_other_answers(write):
    records = json.loads(json.dumps(exports.ARGILLA))
    records[0]["responses"]["spans"] = [{"value": [{"start": 0, "end": 5, "label": "x"}], "user_id": "u"}]
    with pytest.raises(MappingError, match=r"There are several questions .*'sentiment', 'spans'.*label="):
        examine(write(records))
    assert examine(write(records), label="sentiment").report.n_annotations == 5
    assert examine(write(records), label="spans").report.classes == ("O", "B-x", "I-x")


def test_records_of_argilla_1(write):
    responses = [
        {"user_id": who, "status": status, "values": {"sentiment": {"value": value}}}
        for who, value, status in (("u1", "pos", "submitted"), ("u2", "neg", "submitted"), ("u3", "neg", "discarded"))
    ]
    report = examine(write([{"id": "r1", "fields": {"text": "great film"}, "responses": responses}])).report
    assert (report.n_annotations, report.n_rows, report.classes) == (2, 3, ("neg", "pos"))


def test_suggestions_alone_are_no_annotations(write):
    with pytest.raises(DataError, match=r"^No record has a response .*Suggestions alone"):
        examine(write([{**record, "responses": {}} for record in exports.ARGILLA]))
