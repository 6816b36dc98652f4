"""Long tables: their roles, points in time, and tasks without an id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine, read_dataset
from crowdcore.data.columns import ALIASES
from crowdcore.data.times import iso_time

ROWS = [("t1", "w1", "a"), ("t1", "w2", "b"), ("t2", "w1", "b")]


def write(tmp_path, header, rows=ROWS, suffix="csv"):
    path = tmp_path / f"labels.{suffix}"
    frame = pd.DataFrame(rows, columns=header)
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    return path


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "header",
    [
        ["task", "worker", "label"],
        ["item", "annotator", "answer"],
        ["Question ID", "User", "Response"],
        ["example-id", "labeler", "annotation"],
        ["_unit_id", "_worker_id", "category"],
        ["image", "annotator_id", "class"],
        ["INPUT:image", "ASSIGNMENT:worker_id", "OUTPUT:result"],
        ["HITId", "WorkerId", "Answer"],
    ],
)
def test_names_of_other_tools(tmp_path, header, suffix):
    found = examine(write(tmp_path, header, suffix=suffix))
    assert found.report.roles == dict(zip(("task", "worker", "label"), header, strict=True))
    aliases = [f for f in found.report.findings if f.code == "alias"]
    assert len(aliases) == sum(name not in ("task", "worker", "label") for name in header)
    assert found.dataset().annotations.astype(str).to_numpy().tolist() == [list(row) for row in ROWS]


def test_every_alias_is_in_its_compared_form():
    from crowdcore.data.columns import plain

    for role, names in ALIASES.items():
        assert all(plain(name) == name for name in names), role
        assert len(set(names)) == len(names), role


def test_unknown_columns_are_asked_for(tmp_path):
    path = write(tmp_path, ["hitty", "who", "verdict"])
    with pytest.raises(
        MappingError, match=r"^No column was recognised as the task or the worker or the label"
    ) as caught:
        examine(path)
    assert caught.value.columns == ("hitty", "who", "verdict")
    assert caught.value.roles == {}
    assert caught.value.remedies[0].settings == ("task", "worker", "label")
    ds = read_dataset(path, task="hitty", worker="who", label="verdict")
    assert ds.n_annotations == 3


def test_a_partly_recognised_table_says_what_is_lacking(tmp_path):
    with pytest.raises(MappingError, match=r"^No column was recognised as the worker \(") as caught:
        examine(write(tmp_path, ["task", "who", "label"]), format="long")
    assert caught.value.roles == {"task": "task", "label": "label"}


def test_a_named_column_must_be_there(tmp_path):
    with pytest.raises(
        DataError, match=r"^There is no column 'annotator' \(labels.csv\)\. Its columns are 'task', 'worker'"
    ):
        examine(write(tmp_path, ["task", "worker", "label"]), worker="annotator")


def test_an_explicit_column_wins_over_an_alias(tmp_path):
    rows = [("t1", "w1", "a", "b"), ("t2", "w2", "b", "a")]
    path = write(tmp_path, ["task", "worker", "label", "response"], rows)
    report = examine(path).report
    assert report.roles["label"] == "label"
    rival = next(f for f in report.findings if f.code == "alias-rival")
    assert "'response' could be the label too" in rival.sentence
    ds = read_dataset(path, label="response", gold="label")
    assert ds.label.tolist() == [1, 0]
    assert ds.gold.tolist() == [0, 1]


def test_a_name_as_it_is_wins_over_one_with_blanks(tmp_path):
    ds = read_dataset(write(tmp_path, [" task", "task", "worker", "label"], [("x", *row) for row in ROWS], "jsonl"))
    assert list(ds.task_ids) == ["t1", "t2"]


def test_media_columns(tmp_path):
    rows = [("t1", "w1", "a", "hello", "a.png"), ("t1", "w2", "b", "hello", "a.png"), ("t2", "w1", "b", "", "b.png")]
    ds = read_dataset(write(tmp_path, ["task", "worker", "label", "sentence", "image_path"], rows))
    assert ds.media.folder == tmp_path
    assert ds.media.columns["text"].fillna("-").tolist() == ["hello", "-"]
    assert ds.media.columns["image"].tolist() == ["a.png", "b.png"]


def test_order_of_appearance_and_natural_order_of_workers(tmp_path):
    rows = [("z", "w10", "a"), ("b", "w9", "b"), ("z", "w2", "a"), ("a", "w10", "b")]
    ds = read_dataset(write(tmp_path, ["task", "worker", "label"], rows))
    assert list(ds.task_ids) == ["z", "b", "a"]
    assert list(ds.worker_ids) == ["w2", "w9", "w10"]
    assert ds.task.tolist() == [0, 0, 1, 2]
    assert ds.worker.tolist() == [2, 0, 1, 2]


def test_numeric_ids_of_any_type_are_the_same_names(tmp_path):
    for dtype in ("int64", "float64", "str", "category"):
        frame = pd.DataFrame({"task": [3, 3, 10], "worker": [1, 2, 1], "label": [0, 1, 1]})
        frame = frame.astype({"task": dtype, "worker": dtype})
        frame.to_parquet(tmp_path / "labels.parquet")
        ds = read_dataset(tmp_path / "labels.parquet")
        assert (list(ds.task_ids), list(ds.worker_ids)) == (["3", "10"], ["1", "2"])


def test_missing_values_in_parquet(tmp_path):
    frame = pd.DataFrame({"task": [1, 1, 2], "worker": ["x", None, "y"], "label": [0.0, 1.0, np.nan]})
    frame.to_parquet(tmp_path / "labels.parquet")
    found = examine(tmp_path / "labels.parquet")
    assert {f.code: f.rows for f in found.report.changes} == {
        "missing-worker": (2,),
        "missing-label": (3,),
        "workers-without-labels": (),
    }
    assert found.dataset(accept=True).classes == ("0", "1")


def test_further_columns_called_like_roles_are_renamed(tmp_path):
    path = write(tmp_path, ["item", "worker", "label", "task"], [("t1", "w1", "a", "x"), ("t2", "w1", "b", "y")])
    ds = read_dataset(path, task="item")
    assert ds.extra["task_column"].tolist() == ["x", "y"]
    assert list(ds.annotations.columns) == ["task", "worker", "label", "task_column"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Thu Jun 16 12:59:33 PDT 2011", "2011-06-16T19:59:33Z"),
        ("Wed Aug 14 16:00:59 UTC 2019", "2019-08-14T16:00:59Z"),
        ("Thu Jun 16 12:59:33 CEST 2011", "Thu Jun 16 12:59:33 CEST 2011"),
        ("Thu Jux 16 12:59:33 PDT 2011", "Thu Jux 16 12:59:33 PDT 2011"),
        ("6/30/2014 14:28:16", "2014-06-30T14:28:16"),
        ("30/6/2014 14:28:16", "30/6/2014 14:28:16"),
        ("2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00Z"),
        ("2024-01-01 12:00:00", "2024-01-01T12:00:00"),
        (1_700_000_000, "2023-11-14T22:13:20Z"),
        (1_700_000_000_000, "2023-11-14T22:13:20Z"),
        (1e300, "1e+300"),
        ("soon", "soon"),
        (float("nan"), None),
        (True, None),
        ("", None),
        ([], None),
    ],
)
def test_one_form_for_all(written, read):
    assert iso_time(written) == read


REFUSED = r"^The task in row 2 has no id, and its number 2 is another task's id \(.*\)\. Give every task an id\."


def studio(number, *answers):
    result = [{"from_name": "sentiment", "type": "choices", "value": {"choices": ["pos"]}}]
    return {
        "data": {"text": f"text {number}"},
        "annotations": [{"completed_by": who, "result": result} for who in answers],
    }


def argilla(number, *answers):
    given = [{"value": "pos", "user_id": who, "status": "submitted"} for who in answers]
    return {"fields": {"text": f"text {number}"}, "responses": {"sentiment": given}}


def doccano(number, *answers):
    return {"text": f"text {number}", "annotations": [{"user": who, "label": 1} for who in answers], "id": None}


@pytest.mark.parametrize(("record", "form"), [(argilla, "argilla"), (studio, "label-studio"), (doccano, "doccano")])
def test_a_number_is_no_other_tasks_id(write, record, form):
    plain = [record(1, "ann", "ben"), record(2, "ann", "ben")]
    found = examine(write(plain, "export.json"))
    assert (found.report.format, list(found.dataset(accept=True).task_ids)) == (form, ["1", "2"])
    with pytest.raises(DataError, match=REFUSED):
        read_dataset(write([plain[0] | {"id": 2}, plain[1]], "mixed.json"))
    with pytest.raises(DataError, match=REFUSED):
        read_dataset(write([plain[0] | {"id": 7}, plain[1], plain[0] | {"id": 2}], "later.json"))
