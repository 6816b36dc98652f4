"""Writers: whole files or none, names that survive, and cells that no spreadsheet runs."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import Media, Rows, neutralise, read_dataset, write_aggregated, write_folder, write_long
from crowdcore.data.dictionary import escape, strings, unescape
from crowdcore.data.writers import tables


def test_aggregated_labels(crowd, tmp_path):
    result = cc.aggregation.get("majority-vote").fit(crowd)
    for name in ("labels.csv", "labels.parquet"):
        path = write_aggregated(crowd, result.labels, tmp_path / name, posterior=result.posterior)
        frame = pd.read_csv(path) if name.endswith("csv") else pd.read_parquet(path)
        assert list(frame.columns) == ["task", "label", *(f"p({c})" for c in crowd.classes)]
        assert frame["task"].tolist() == list(crowd.task_ids)
        assert frame["label"].tolist() == [crowd.classes[c] for c in result.labels]
        np.testing.assert_allclose(frame.iloc[:, 2:], result.posterior)


def test_aggregated_labels_leave_out_what_is_unknown(crowd, tmp_path):
    labels = np.full(crowd.n_tasks, -1)
    labels[5] = 2
    frame = pd.read_csv(write_aggregated(crowd, labels, tmp_path / "a.csv"))
    assert frame.to_numpy().tolist() == [["t00005", "class 2"]]
    with pytest.raises(SettingError, match=r"`labels`.*300"):
        write_aggregated(crowd, labels[1:], tmp_path / "a.csv")
    with pytest.raises(SettingError, match=r"`posterior`.*300.*4"):
        write_aggregated(crowd, labels, tmp_path / "a.csv", posterior=np.ones((300, 3)))
    with pytest.raises(SettingError, match=r"`foil`.*300"):
        write_aggregated(crowd, labels, tmp_path / "a.csv", foil=labels[1:])


def test_difficulty_and_foil_of_a_task_are_written(crowd, tmp_path):
    foil = np.where(np.arange(crowd.n_tasks) == 2, 3, -1)
    path = write_aggregated(crowd, crowd.gold, tmp_path / "a.csv", difficulty=np.arange(300.0), foil=foil)
    frame = pd.read_csv(path)
    assert list(frame.columns) == ["task", "label", "difficulty", "foil"]
    assert frame["difficulty"].tolist() == list(range(300))
    assert frame["foil"].dropna().to_dict() == {2: "class 3"}


def test_formulas_do_not_reach_a_spreadsheet(crowd, tmp_path):
    ds = replace(crowd, worker_ids=pd.Index(["=cmd()", *crowd.worker_ids[1:]]), classes=("-a", "+b", "@c", "d"))
    path = write_long(ds, tmp_path / "labels.csv")
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    assert "'=cmd()" in cells
    assert "=cmd()" in read_dataset(path).worker_ids


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"classes": ("a", "b", "c", " d")}, "The class name ' d' would not be read back"),
        ({"classes": ("a", "b", "c", "e\u0301")}, "would not be read back unchanged.*NFC"),
        ({"worker_ids": pd.Index(["", *(f"w{i}" for i in range(11))])}, "The worker name '' would not"),
        ({"worker_ids": pd.Index(["w1", *(f"w{i}" for i in range(11))])}, "The worker name"),
    ],
)
def test_names_that_would_come_back_changed(crowd, tmp_path, change, sentence):
    ds = replace(crowd, **change)
    for write, name in ((write_long, "labels.csv"), (write_folder, "folder")):
        with pytest.raises(DataError, match=sentence):
            write(ds, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["d\ne", "d\re", "# Regression: 0..1", "# sequence"])
def test_classes_that_their_list_cannot_hold(crowd, tmp_path, name):
    with pytest.raises(DataError, match="written"):
        write_folder(replace(crowd, classes=(name, "b", "c", "d")), tmp_path / "crowd")


def test_classes_such_as_1_0_need_their_list(crowd, tmp_path):
    ds = replace(crowd, classes=("1", "1.0", "2.0", "3.0"))
    assert read_dataset(write_folder(ds, tmp_path / "crowd")).fingerprint == ds.fingerprint
    with pytest.raises(DataError, match="class"):
        write_long(ds, tmp_path / "labels.csv")


def test_a_folder_is_replaced_only_on_request_and_only_a_dataset(crowd, tmp_path):
    path = write_folder(crowd, tmp_path / "crowd", table="csv")
    with pytest.raises(DataError, match="exists already"):
        write_folder(crowd, path)
    fewer = crowd.without_workers(np.array([0]))
    write_folder(fewer, path, overwrite=True, readme="# mine\n")
    assert read_dataset(path).n_annotations == fewer.n_annotations
    assert not (path / "annotations.csv").exists()
    assert (path / "README.md").read_text(encoding="utf-8") == "# mine\n"
    (tmp_path / "precious").mkdir()
    with pytest.raises(DataError, match="exists already"):
        write_folder(crowd, tmp_path / "precious", overwrite=True)
    with pytest.raises(DataError, match="exist"):
        write_folder(crowd, tmp_path / "no" / "crowd")


def test_an_interrupted_write_leaves_what_was_there(crowd, tmp_path, monkeypatch):
    path = write_long(crowd, tmp_path / "labels.csv")
    folder = write_folder(crowd, tmp_path / "crowd")
    before = path.read_bytes()

    def fail(*_args, **_more):
        raise OSError("disk full")

    monkeypatch.setattr(tables.pa_csv, "write_csv", fail)
    monkeypatch.setattr(tables.pq, "ParquetWriter", fail)
    other = crowd.without_workers(np.array([0]))
    with pytest.raises(OSError, match="disk full"):
        write_long(other, path)
    with pytest.raises(OSError, match="disk full"):
        write_folder(other, folder, overwrite=True)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert read_dataset(folder).fingerprint == crowd.fingerprint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["crowd", "labels.csv"]


def test_parquet_spells_large_dictionaries_out_in_small_row_groups(crowd, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 5)
    monkeypatch.setattr(tables, "DICTIONARY", 0)
    path = write_long(crowd, tmp_path / "labels.parquet")
    file = tables.pq.ParquetFile(path)
    assert not any(tables.pa.types.is_dictionary(kind) for kind in file.schema_arrow.types)
    assert file.metadata.num_row_groups == -(-crowd.n_annotations // 5)
    monkeypatch.undo()
    again = write_long(crowd, tmp_path / "whole.parquet")
    assert tables.pq.read_table(path).to_pylist() == tables.pq.read_table(again).to_pylist()


def test_endings(crowd, tmp_path):
    with pytest.raises(SettingError, match=r"`path` must .*'labels.xlsx'"):
        write_long(crowd, tmp_path / "labels.xlsx")
    with pytest.raises(DataError, match="exist"):
        write_long(crowd, tmp_path / "no" / "labels.csv")


def test_media_files_travel_along(crowd, tmp_path):
    source = tmp_path / "source"
    (source / "pictures").mkdir(parents=True)
    (source / "pictures" / "one.png").write_bytes(b"png")
    (tmp_path / "secret").write_bytes(b"secret")
    columns = pd.DataFrame({"image": [None] * crowd.n_tasks}, dtype=object)
    columns.loc[0, "image"], columns.loc[1, "image"] = "pictures/one.png", "../secret"
    ds = replace(crowd, media=Media(columns=columns, folder=source))
    path = write_folder(ds, tmp_path / "crowd")
    assert (path / "pictures" / "one.png").read_bytes() == b"png"
    assert not list(path.rglob("secret"))
    assert read_dataset(path).media.columns["image"][0] == "pictures/one.png"


def test_rows_for_some_tasks_of_a_split_only(crowd, tmp_path):
    part = np.where(np.arange(crowd.n_tasks) < 3, 0, -1)
    rows = Rows((np.zeros((3, 2)),), part, np.arange(crowd.n_tasks) % 3)
    with pytest.raises(DataError, match=r"3.*300 tasks.*split"):
        write_folder(replace(crowd, features=rows), tmp_path / "crowd")
    assert list(tmp_path.iterdir()) == []


def test_idle_workers_and_their_order_survive(crowd, tmp_path):
    ds = crowd.without_workers(np.array([2]))
    again = read_dataset(write_folder(ds, tmp_path / "crowd"))
    assert again.fingerprint == ds.fingerprint
    assert (tmp_path / "crowd" / "workers.parquet").is_file()
    assert not (write_folder(crowd, tmp_path / "plain") / "workers.parquet").exists()


CELLS = st.one_of(st.text(max_size=6), st.text("'=+-@\t\r1.e", max_size=6))


@given(st.lists(CELLS, max_size=20))
def test_unescaping_undoes_escaping(cells):
    assert unescape(escape(strings(cells))).to_pylist() == cells


@given(CELLS)
def test_nothing_that_runs_is_left(cell):
    (safe,) = escape(strings([cell])).to_pylist()
    if safe[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(safe)  # a plain number is all that may begin so
    assert safe in (cell, f"'{cell}")


def test_the_rule():
    risky = ["=1+1", "+31 6", "-cmd", "@SUM(A1)", "\tx", "\rx", "-1+1", "'=1", "''"]
    plain = ["-1", "+1.5e-3", "it's", "'tis", ""]
    assert escape(strings([*risky, *plain])).to_pylist() == [*(f"'{cell}" for cell in risky), *plain]


def test_frames():
    frame = pd.DataFrame(
        {"=name": ["=1", "x", None], "n": [-1, -2.5, 3], "c": pd.Categorical(["+a", "b", "b"])}, index=[5, 6, 7]
    )
    safe = neutralise(frame)
    assert list(safe.columns) == ["'=name", "n", "c"]
    assert safe["'=name"].fillna("-").tolist() == ["'=1", "x", "-"]
    assert safe["n"].tolist() == [-1, -2.5, 3]
    assert safe["c"].tolist() == ["'+a", "b", "b"]
    assert list(safe.index) == [5, 6, 7]
    assert list(frame.columns) == ["=name", "n", "c"]
