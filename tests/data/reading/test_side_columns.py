"""Side columns keep every character and every row of the file, whatever is written and read again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import from_frame, read_dataset, write_folder, write_long

VOTES = {"task": ["t1", "t2", "t3"], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}


SIDES = "00501 00502 7/1.10 1.1 2/+5 5 -0/1 1.0 2/nan inf 1/0x10 1e3 /123456789012345678901 1 2/  /1.5  3/1.0 2.5 "


@pytest.mark.parametrize(
    "values",
    [[" 7", "7", "8"], ["9007199254740993", "", "9007199254740992"], *(cells.split(" ") for cells in SIDES.split("/"))],
)
@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_text_keeps_its_characters(tmp_path, values, table):
    path = tmp_path / "votes.csv"
    pd.DataFrame({**VOTES, "code": values}).to_csv(path, index=False)
    ds = read_dataset(path)
    again = read_dataset(write_folder(ds, tmp_path / "again", table=table))
    for extra in (ds.extra, again.extra):
        codes = extra["code"]
        if all(isinstance(value, str) for value in codes):
            assert codes.tolist() == values
        else:  # numbers, because each is spelled as a number is written
            said = ["" if pd.isna(v) else str(v) for v in codes]
            assert said in (values, [f"{v}.0" if v and "." not in v else v for v in values])


def test_whole_numbers_beside_missing_ones_stay_whole(tmp_path):
    path = tmp_path / "votes.parquet"
    code = pa.array([2**53 + 1, None, 2**53])
    pq.write_table(pa.table({**VOTES, "code": code, "big": pa.array([2**64 - 1, None, 1], pa.uint64())}), path)
    for ds in (read_dataset(path), read_dataset(write_folder(read_dataset(path), tmp_path / "again"))):
        assert ds.extra["code"].tolist() == [2**53 + 1, pd.NA, 2**53]
        assert ds.extra["big"].tolist() == [2**64 - 1, pd.NA, 1]


def test_maps_lists_and_bytes_are_kept_in_parquet_and_refused_in_csv(tmp_path):
    path = tmp_path / "votes.parquet"
    columns = {
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff", None, b"x"]),
        "list": pa.array([[1], None, []]),
    }
    for name, column in columns.items():
        pq.write_table(pa.table({**VOTES, name: column}), path)
        ds = read_dataset(path)
        again = read_dataset(write_folder(ds, tmp_path / name))
        assert pa.array(again.extra[name], from_pandas=True) == pa.array(ds.extra[name], from_pandas=True)
        with pytest.raises(DataError, match=rf"The column '{name}' holds .*, which a CSV file cannot hold\. Write Pa"):
            write_long(ds, tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()


def test_values_of_many_kinds_are_refused_in_a_sentence(tmp_path):
    ds = from_frame(pd.DataFrame(VOTES))
    odd = pd.DataFrame({"odd": [1, "x", object()]})
    with pytest.raises(DataError, match="The extra column 'odd' holds values that no table can hold"):
        write_folder(type(ds)(**{**vars(ds), "extra": odd}), tmp_path / "out")
    with pytest.raises(DataError, match="'gold' has the name of another column"):
        write_long(type(ds)(**{**vars(ds), "extra": odd.rename(columns={"odd": "gold"})}), tmp_path / "out.csv")


def test_a_side_column_named_as_one_of_ours_gets_another_name(tmp_path):
    path = tmp_path / "votes.csv"
    pd.DataFrame({**VOTES, "gold": ["u", "v", "w"], "truth": ["x", "y", "x"]}).to_csv(path, index=False)
    ds = read_dataset(path, gold="truth")
    assert ds.extra["gold_column"].tolist() == ["u", "v", "w"]
    again = read_dataset(write_folder(ds, tmp_path / "again"))
    assert again.extra["gold_column"].tolist() == ["u", "v", "w"]
    assert again.fingerprint == ds.fingerprint


def test_rows_are_those_of_the_file_after_accepting_changes(tmp_path, write):
    path = write("task,worker,label\nt2,a,x\nt1,a,\nt2,b,y\nt1,b,x\nt2,b,x\n", "votes.csv")
    ds = read_dataset(path, accept=True)
    assert list(zip(ds.task_ids[ds.task], ds.file_row, strict=True)) == [("t2", 1), ("t2", 3), ("t2", 5), ("t1", 4)]
    again = read_dataset(write_folder(ds, tmp_path / "again"))
    assert again.file_row.tolist() == [1, 3, 5, 4]
    assert "row 5)" in next(note for note in again.notes if "repeat" in note)
    assert pd.read_csv(write_long(ds, tmp_path / "out.csv"))["file_row"].tolist() == [1, 3, 5, 4]
    assert ds.where(ds.label == 0).file_row.tolist() == [1, 5, 4]


@pytest.mark.parametrize("rows", [[1, 2], [1.0, 2.0, 3.0]])
def test_rows_that_do_not_fit_are_refused(tmp_path, rows):
    folder = write_folder(from_frame(pd.DataFrame(VOTES)), tmp_path / "made")
    np.save(folder / "file_row.npy", np.array(rows))
    with pytest.raises(DataError, match="whole number for each of 3 annotations"):
        read_dataset(folder)


def test_minus_one_in_a_class_list_is_a_class(tmp_path, write):
    path = write("task,worker,label,gold\nt1,a,-1.0,-1.0\nt2,a,1.0,1.0\n", "votes.csv")
    ds = read_dataset(path, classes=["-1.0", "1.0"])
    assert ds.gold.tolist() == [0, 1]
    for table in ("csv", "parquet"):
        assert read_dataset(write_folder(ds, tmp_path / table, table=table)).fingerprint == ds.fingerprint
