"""Prodigy's JSON lines."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset

OPTIONS = [{"id": "SPORT", "text": "Sport"}, {"id": "POLITICS", "text": "Politics"}, {"id": "OTHER"}]


def line(text, who, answer="accept", accept=(), **more):
    return {
        "text": text, "_input_hash": hash(text) % 1000, "_task_hash": 1000 + hash(text) % 1000, "options": OPTIONS,
        "_annotator_id": who, "answer": answer, "accept": list(accept), "_timestamp": 1_700_000_000, **more,
    }  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(records):
        path = tmp_path / "export.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return path

    return write


def test_choices(write):
    records = [
        line("goal", "db-ann", accept=["SPORT"]),
        line("goal", "db-bob", accept=["OTHER"]),
        line("vote", "db-ann", accept=["POLITICS"]),
        line("vote", "db-bob", answer="ignore"),
    ]
    found = examine(write(records))
    ds = found.dataset()
    assert found.report.format == "prodigy"
    assert ds.classes == ("SPORT", "POLITICS", "OTHER")
    assert ds.label.tolist() == [0, 2, 1]
    assert list(ds.worker_ids) == ["db-ann", "db-bob"]
    assert ds.media.columns["text"].tolist() == ["goal", "vote"]
    assert ds.extra["timestamp"].tolist() == [1_700_000_000] * 3
    skipped = next(f for f in found.report.findings if f.code == "skipped")
    assert skipped.rows == (4,)


def test_accepted_and_rejected_suggestions(write):
    records = [
        {"text": "goal", "label": "SPORT", "_input_hash": 1, "_task_hash": 11, "_annotator_id": who, "answer": answer}
        for who, answer in (("ann", "accept"), ("bob", "reject"), ("eve", "ignore"))
    ]
    ds = read_dataset(write(records))
    assert ds.classes == ("accept", "reject")
    assert ds.label.tolist() == [0, 1]
    assert list(ds.task_ids) == ["11"]


def test_what_is_left_out_needs_acceptance(write):
    records = [
        line("goal", "ann", accept=["SPORT"]),
        line("goal", "bob", accept=["SPORT", "OTHER"]),
        line("vote", "ann", answer="reject"),
        line("vote", "bob", accept=[]),
    ]
    found = examine(write(records))
    assert {f.code: f.rows for f in found.report.changes} == {"several-choices": (2,), "rejected": (3,)}
    assert found.dataset(accept=True).n_annotations == 1


def test_the_session_stands_in_for_the_annotator(write):
    record = line("goal", None, accept=["SPORT"], _session_id="2024-s1")
    assert list(read_dataset(write([record])).worker_ids) == ["2024-s1"]


def test_refusals(write):
    with pytest.raises(DataError, match="No line holds an answer"):
        examine(write([line("goal", "ann", answer="ignore")]))
    record = {"answer": "accept", "_annotator_id": "ann", "label": "X"}
    with pytest.raises(DataError, match=r"This line names no task.*row 1"):
        examine(write([record]))
