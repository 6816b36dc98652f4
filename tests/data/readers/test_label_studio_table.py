"""Label Studio's CSV and JSON-MIN exports."""

from __future__ import annotations

import pytest

from crowdcore.data import MappingError, examine
from testkit import exports


def test_times_are_no_labels(tmp_path):
    data = examine(exports.write(tmp_path)["label-studio-table.csv"]).dataset(accept=True)
    assert data.extra["seconds"].tolist() == [5.25] * 4
    assert data.extra["timestamp"].tolist() == ["2024-01-01T10:00:00Z"] * 4


def test_a_control_is_named_where_there_may_be_several(write):
    records = [{**record, "source": "imdb"} for record in exports.STUDIO_MIN]
    with pytest.raises(MappingError, match=r"Which column holds the choices is not certain .*'sentiment', 'source'"):
        examine(write(records))
    assert examine(write(records), label="sentiment").report.n_annotations == 4


def test_spans_and_missing_answers_are_reported(write):
    records = [dict(record) for record in exports.STUDIO_MIN]
    records[0]["sentiment"] = [{"start": 0, "end": 5, "labels": ["pos"]}]
    del records[1]["sentiment"]
    report = examine(write(records)).report
    assert {f.code: f.rows for f in report.changes if f.left_out} == {
        "no-class": (1,), "no-choice": (2,), "several-choices": (3,)
    }  # fmt: skip
