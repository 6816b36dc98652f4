"""JSON lines and JSON lists of records."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset
from crowdcore.data.tables import json_table

RECORDS = [
    {"item": 1, "annotator": "ann", "answer": True, "text": "one\u2028line"},
    {"item": 1, "annotator": "bob", "answer": False},
    {"item": 2, "annotator": "ann", "answer": True, "text": None},
]


def lines(records) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


@pytest.mark.parametrize(("name", "text"), [("l.jsonl", lines(RECORDS)), ("l.json", json.dumps(RECORDS, indent=1))])
def test_records(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    ds = read_dataset(tmp_path / name)
    assert ds.classes == ("False", "True")
    assert ds.annotations["task"].tolist() == ["1", "1", "2"]
    assert ds.label.tolist() == [1, 0, 1]
    assert ds.media.columns["text"][0] == "one\u2028line"
    assert ds.media.columns["text"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"task": 1, "worker": 2, "label": 3}\n{"task": 1, "wor\n', r"This line is not JSON .*row 2"),
        ('{"task": 1, "worker": 2, "label": 3}\n\n[1]\n', r"This line is not a record .*row 2"),
        ('{"task": [1], "worker": 2}\n', r"No column was recognised as the label .*'task', 'worker'"),
        ("[" * 100_000, r"This is not JSON"),
        ("[1, 2]", r"This entry is not a record .*row 1"),
        ("[]", r"There are no records"),
        ('[{"task": 1}', r"This is not JSON"),
    ],
)
def test_what_is_not_a_table_is_refused(tmp_path, text, sentence):
    path = tmp_path / ("labels.jsonl" if text.startswith("{") else "labels.json")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=sentence):
        examine(path)


def test_bounds(tmp_path, monkeypatch):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    monkeypatch.setattr(json_table, "MAX_JSON", 10)
    with pytest.raises(DataError, match="documents over 0 MiB are not read"):
        examine(path)
    path = tmp_path / "labels.jsonl"
    path.write_text(lines(RECORDS), encoding="utf-8")
    monkeypatch.setattr(json_table, "MAX_LINE", 20)
    with pytest.raises(DataError, match=r"This line is longer than 0 MiB \(labels.jsonl, row 1\)"):
        examine(path)


def test_half_a_surrogate_pair_is_refused(tmp_path):
    path = tmp_path / "labels.jsonl"
    good = '{"task": "t", "worker": "w", "label": "a"}\n'
    path.write_text(good + '{"task": "\\ud800", "worker": "w", "label": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"half a surrogate pair.*\(labels.jsonl, row 2, column 'task'\)"):
        examine(path)
    path.write_text(good.replace("}", ', "\\udc00": 1}'), encoding="utf-8")
    with pytest.raises(DataError, match=r"The name '\\udc00' holds half a surrogate pair"):
        examine(path)
