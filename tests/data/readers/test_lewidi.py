"""LeWiDi's JSON files."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from testkit import exports


def test_labels_split_and_no_gold(write):
    found = examine(write(exports.LEWIDI))
    data = found.dataset(accept=True)
    assert list(data.worker_ids) == ["Ann1", "Ann2", "Ann3"]
    assert data.split.tolist() == [0, 1]
    assert not data.has_gold
    assert "not read as gold" in found.report.text()


def test_the_edition_of_2025(write):
    item = {
        "annotation task": "sarcasm detection", "text": {"context": "Hi", "response": "Oh, hi"},
        "annotators": "Ann1,Ann2", "number of annotations": 2,
        "annotations": {"Ann1": "1", "Ann2": "6", "Ann3": "1,6"}, "split": "train",
    }  # fmt: skip
    found = examine(write({"7": item}))
    assert [f.code for f in found.report.changes] == ["several-choices", "workers-without-labels"]
    data = found.dataset(accept=True)
    assert data.classes == ("1", "6")
    assert data.media.columns["text"].tolist() == ["context: Hi\nresponse: Oh, hi"]


def test_a_conversation_written_as_json(write):
    """As in ConvAbuse, whose labels are -3 … 1."""
    said = {"prev_agent": "Hi.", "prev_user": "hello", "agent": "How are you?", "user": "Fine"}
    item = {**exports.LEWIDI["1"], "text": json.dumps(said), "annotations": "1,-1,-3", "annotators": "Ann2,Ann3,Ann8"}
    data = examine(write({"1": item, "2": {**exports.LEWIDI["2"], "annotations": "0,0,1"}})).dataset()
    assert data.media.columns["text"][0].splitlines() == [
        "prev_agent: Hi.", "prev_user: hello", "agent: How are you?", "user: Fine"
    ]  # fmt: skip
    assert data.classes == ("-3", "-1", "0", "1")


def test_every_annotator_has_one_label(write):
    item = {**exports.LEWIDI["1"], "annotators": "Ann1,Ann2"}
    with pytest.raises(DataError, match=r"^3 annotations by 2 annotators \(export.json, row 2\)"):
        examine(write({"0": exports.LEWIDI["1"], "1": item}))
