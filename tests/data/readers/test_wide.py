"""Wide tables: a row per task, a column per worker."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine, read_dataset
from crowdcore.data.tables import delimited


def read(tmp_path, text, name="labels.csv", **how):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_dataset(path, **how)


def triples(ds):
    return [tuple(map(str, row)) for row in ds.annotations.to_numpy()]


@pytest.mark.parametrize(
    "text",
    [
        "task,w1,w2,w10\nt1,a,,b\nt2,,a,\nt3,b,b,b\n",
        "task,w1,w2,w10\nt1,a,-1,b\nt2,-1,a,-1\nt3,b,b,b\n",
        "item\tw1\tw2\tw10\nt1\ta\t \tb\nt2\t\ta\t-1\nt3\tb\tb\tb\n",
        ",w1,w2,w10\nt1,a,,b\nt2,,a,\nt3,b,b,b\n",
        "name of it,w1,w2,w10\nt1,a,,b\nt2,,a,\nt3,b,b,b\n",
    ],
)
def test_empty_cells_are_missing_and_minus_one_on_acceptance(tmp_path, text):
    ds = read(tmp_path, text, accept="-1" in text)
    want = [
        ("t1", "w1", "a"),
        ("t1", "w10", "b"),
        ("t2", "w2", "a"),
        ("t3", "w1", "b"),
        ("t3", "w2", "b"),
        ("t3", "w10", "b"),
    ]
    assert triples(ds) == want
    assert list(ds.worker_ids) == ["w1", "w2", "w10"]


def test_a_matrix_of_numbers_without_names(tmp_path):
    """The layout of LabelMe's answers.txt."""
    ds = read(tmp_path, "-1 2 0 -1\n1 -1 -1 10\n-1 -1 -1 -1\n", "answers.txt", missing=["-1"])
    assert triples(ds) == [("1", "2", "2"), ("1", "3", "0"), ("2", "1", "1"), ("2", "4", "10")]
    assert ds.classes == ("0", "1", "2", "10")
    assert ds.n_tasks == 3


def test_gold_and_text_beside_the_workers(tmp_path):
    ds = read(tmp_path, "task,gold,text,w1,w2\nt1,b,hello,a,b\nt2,,you,b,\n")
    assert ds.gold.tolist() == [1, -1]
    assert ds.media.columns["text"].tolist() == ["hello", "you"]
    assert ds.n_workers == 2


def test_an_empty_worker_column_is_left_out_on_acceptance(tmp_path):
    text = "task,w1,idle,w2\nt1,a,,b\nt2,b,,\n"
    with pytest.raises(DataError, match=r"1 worker column is empty and left out: 'idle'.*accept=True"):
        read(tmp_path, text)
    assert list(read(tmp_path, text, accept=True).worker_ids) == ["w1", "w2"]


def test_rows_in_findings_are_rows_of_the_table(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("task,w1,w2\nt1,a,b\nt2,z,\nt3,,z\n", encoding="utf-8")
    (finding,) = examine(path, classes=["a", "b"]).report.changes
    assert finding.rows == (2, 3)


def test_another_value_for_missing(tmp_path):
    ds = read(tmp_path, "task,w1,w2\nt1,-1,1\nt2,1,0\nt3,-1,-1\n", missing=["0"])
    assert ds.classes == ("-1", "1")
    assert ds.n_annotations == 5


def test_floats_from_a_spreadsheet(tmp_path):
    ds = read(tmp_path, "task,w1,w2\nt1,1.0,\nt2,,0.0\nt3,2.0,1.0\n")
    assert ds.classes == ("0", "1", "2")


def test_a_typed_parquet_matrix(tmp_path):
    frame = pd.DataFrame({"w1": [0, np.nan, 2], "w2": [np.nan, 1, 1]}, index=pd.Index(["x", "y", "z"], name="task"))
    frame.to_parquet(tmp_path / "labels.parquet")
    assert triples(read_dataset(tmp_path / "labels.parquet")) == [
        ("x", "w1", "0"), ("y", "w2", "1"), ("z", "w1", "2"), ("z", "w2", "1"),
    ]  # fmt: skip


def test_a_long_table_with_odd_names_is_not_taken_for_a_wide_one(tmp_path):
    with pytest.raises(MappingError):
        read(tmp_path, "hit,turker,verdict\nt1,w1,a\nt1,w2,b\nt2,w1,b\n")


def test_the_same_task_twice_is_refused(tmp_path):
    with pytest.raises(DataError, match="names 't1' twice, in rows 1 and 3"):
        read(tmp_path, "task,w1,w2\nt1,a,b\nt2,b,a\nt1,b,b\n")


def test_many_workers_in_pieces(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 5, size=(400, 150))
    pd.DataFrame(labels).to_csv(tmp_path / "labels.csv", index=False, header=False)
    whole = read_dataset(tmp_path / "labels.csv", classes=["0", "1", "2", "3", "4"])
    monkeypatch.setattr(delimited, "BLOCK", 1 << 13)
    pieces = read_dataset(tmp_path / "labels.csv", classes=["0", "1", "2", "3", "4"])
    assert pieces.fingerprint == whole.fingerprint
    task, worker = np.nonzero(labels >= 0)
    np.testing.assert_array_equal(whole.task, task)
    np.testing.assert_array_equal(whole.worker, worker)
    np.testing.assert_array_equal(whole.label, labels[labels >= 0])
