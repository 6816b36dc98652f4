"""JSON lines and JSON lists of records."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given, strategies as st

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
def test_what_is_not_a_table_is_refused(write, text, sentence):
    path = write(text, "labels.jsonl" if text.startswith("{") else "labels.json")
    with pytest.raises(DataError, match=sentence):
        examine(path)


def test_bounds(write, monkeypatch):
    path = write(json.dumps(RECORDS), "labels.json")
    monkeypatch.setattr(json_table, "MAX_JSON", 10)
    with pytest.raises(DataError, match=r"documents.*0 MiB"):
        examine(path)
    path = write(lines(RECORDS), "labels.jsonl")
    monkeypatch.setattr(json_table, "MAX_LINE", 20)
    with pytest.raises(DataError, match=r"longer.*0 MiB.*row 1"):
        examine(path)


def test_half_a_surrogate_pair_is_refused(tmp_path):
    path = tmp_path / "labels.jsonl"
    good = '{"task": "t", "worker": "w", "label": "a"}\n'
    path.write_text(good + '{"task": "\\ud800", "worker": "w", "label": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"row 2.*'task'"):
        examine(path)
    path.write_text(good.replace("}", ', "\\udc00": 1}'), encoding="utf-8")
    with pytest.raises(DataError, match="pair"):
        examine(path)


def plainly(line):
    """Read a line with Python's own reader, as text; or return its refusal."""
    try:
        json.loads(line)
        return repr(json.loads(line, object_pairs_hook=json_table._record))
    except (ValueError, RecursionError) as error:
        return str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a:"', max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, st.booleans(), st.lists(st.tuples(st.integers(0, 60), st.text('{}[],:"\\0e1-.Na \t\x00', max_size=2))))
def test_a_line_is_read_as_python_reads_it(value, ascii_only, changes):
    line = json.dumps(value, ensure_ascii=ascii_only)
    for at, letters in changes:
        line = line[:at] + letters + line[at + 1 :]
    try:
        text = repr(json_table._parsed(line))
    except (ValueError, RecursionError) as error:
        text = str(error)
    assert text == plainly(line)


FRAME = pd.DataFrame({"task": ["t1", "t1", "t2"], "worker": ["x", "y", "x"], "label": ["p", "n", "p"]})


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_other_layouts_of_pandas_are_read(write, orient):
    dataset = read_dataset(write(FRAME.to_json(orient=orient), "labels.json"))
    assert (dataset.n_annotations, dataset.worker_ids.tolist(), dataset.classes) == (3, ["x", "y"], ("n", "p"))


def test_rows_without_names_have_numbers_for_names(write):
    dataset = read_dataset(write(FRAME.to_json(orient="values"), "labels.json"), task="1", worker="2", label="3")
    assert (dataset.n_annotations, dataset.classes) == (3, ("n", "p"))
    with pytest.raises(DataError, match=r'to_json\(orient="records"\)'):
        examine(write('[["t1", "x"], ["t1"]]', "labels.json"))


@pytest.mark.parametrize("label", [["pos"], {"value": "pos"}, []])
@pytest.mark.parametrize("name", ["labels.jsonl", "labels.json"])
def test_a_list_or_record_for_a_label_is_no_class(tmp_path, label, name):
    rows = [{"task": 1, "worker": 1, "label": "neg", "more": [1]}, {"task": 1, "worker": 2, "label": label}]
    (tmp_path / name).write_text(lines(rows) if name.endswith("l") else json.dumps(rows), encoding="utf-8")
    sentence = r"is a list or a record, not a name or number \(labels.jsonl?, row 2, column 'label'\)\. Write a plain"
    with pytest.raises(DataError, match=sentence):
        examine(tmp_path / name)


def test_a_wide_record_with_lists_for_labels(tmp_path):
    (tmp_path / "labels.json").write_text(json.dumps([{"task": "t1", "w1": ["a"], "w2": "b"}]), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 1.*'w1'"):
        examine(tmp_path / "labels.json", format="wide")


def test_a_name_that_stands_twice_in_a_record(write):
    path = write('{"task": 1, "worker": 2, "label": "a", "label": "b"}\n', "labels.jsonl")
    with pytest.raises(DataError, match=r"'label'.*row 1"):
        examine(path)


def test_a_column_that_begins_late(tmp_path):
    rows = [{"task": i // 2, "worker": i % 2, "label": "a"} for i in range(1500)] + [
        {"task": 0, "worker": 3, "label": "b", "gold": "b"}
    ]
    (tmp_path / "labels.jsonl").write_text(lines(rows), encoding="utf-8")
    assert read_dataset(tmp_path / "labels.jsonl").has_gold
