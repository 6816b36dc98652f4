"""What a file is, by its bytes: the right result, or one clear sentence with the file's name in it."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset

TEXT = "task,worker,label\nt1,w1,caf\u00e9\nt2,w1,th\u00e9\n"
CLASSES = ("caf\u00e9", "th\u00e9")


def zipped(member: str, text: str = TEXT) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", r"^This file is empty \(labels.csv\)\.$"),
        (b"  \n\n  \n", r"^This file contains only spaces \(labels.csv\)\.$"),
        (b"task,worker,label\n", r"^There are columns, but no rows \(labels.csv\)\.$"),
        (b"task,worker,label", r"^There are columns, but no rows \(labels.csv\)\.$"),
        (b"5", r"^There are columns, but no rows \(labels.csv\)\.$"),
        (b"<?xml version='1.0'?><a/>", r"^This is an XML or HTML document, not a table of labels \(labels.csv\)"),
        (b"\xef\xbb\xbf \n<!DOCTYPE html><html></html>", r"^This is an XML or HTML document, not a table of labels"),
        (zipped("xl/workbook.xml"), r"^This workbook cannot be read .*\(labels.csv\)\. Save the sheet as CSV"),
        (zipped("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), r"^This workbook cannot be read"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-20], r"^This gzip file is cut off or damaged .*\(labels.csv\)"),
        (gzip.compress(gzip.compress(TEXT.encode(), mtime=0), mtime=0), r"^This is packed once more \(labels.csv\)"),
        (bytes(257) + b"ustar" + bytes(250), r"^This is a tar archive"),
        (pickle.dumps({"a": 1}), r"^This is a pickle, not a table .* Pickles run code and are never opened"),
        (b"%PDF-1.7 ...", r"^This is a PDF"),
        (b"SQLite format 3\x00" + bytes(100), r"^This is an SQLite database"),
        (b"task,worker,label\nt1,w1,a\nt2,w\x001,b\n", r"^Byte 30 is NUL: .* \(labels.csv, row 2\)\. Save it as UTF-8"),
        (b'{"task": 1, ', r"^This line is not JSON .* \(labels.csv, row 1\)\.$"),
        (b"just some words\nand more\n", r"^This row has 2 cells, but .* \(labels.csv, row 1 below the header\)"),
        (b"one\n1\n2\n", r"^No column was recognised as the task .* \(labels.csv\)\. Its columns are 'one'"),
    ],
)  # fmt: skip
def test_a_file_without_a_table_is_refused_in_one_sentence(write, raw, sentence):
    path = write(raw, "labels.csv")
    with pytest.raises(DataError, match=sentence):
        examine(path)


def test_there_is_no_such_file(tmp_path):
    with pytest.raises(DataError, match=r"nowhere.csv does not exist"):
        read_dataset(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match=r"This folder holds no dataset"):
        read_dataset(tmp_path)


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_are_found(write, encoding):
    path = write(TEXT.encode(encoding), "labels.csv")
    found = examine(path)
    assert found.report.encoding == encoding
    assert found.dataset().classes == CLASSES
    guessed = [f for f in found.report.findings if f.code == "encoding-guessed"]
    assert bool(guessed) == (encoding in ("latin-1", "utf-16-le", "utf-16-be"))
    assert all(f.level == "warning" for f in guessed)


def test_windows_1252_is_told_from_latin_1(write):
    path = write(TEXT.replace("caf\u00e9", "\u201ccaf\u00e9\u201d").encode("cp1252"), "labels.csv")
    found = examine(path)
    assert found.report.encoding == "cp1252"
    assert "\u201ccaf\u00e9\u201d" in found.report.classes
    (guess,) = [f for f in found.report.findings if f.code == "encoding-guessed"]
    assert guess.rows == (1,)


def test_windows_1252_is_told_by_letters_far_down_the_file(write, monkeypatch):
    monkeypatch.setattr("crowdcore.data.tables.content.CHUNK", 64)
    text = TEXT + "".join(f"t{i},caf\u00e9,x\n" for i in range(100, 140)) + "t140,\u201cann\u201d,x\n"
    assert examine(write(text.encode("cp1252"), "labels.csv")).report.encoding == "cp1252"


def test_an_encoding_can_be_given_and_must_fit(write):
    path = write(TEXT.encode("mac_roman"), "labels.csv")
    assert read_dataset(path, encoding="mac_roman").classes == CLASSES
    with pytest.raises(DataError, match=r"^This is not utf-8 text \(.*\) \(labels.csv\)\. ") as refused:
        read_dataset(path, encoding="utf-8")
    assert [remedy.setting for remedy in refused.value.remedies] == ["encoding"]
    with pytest.raises(DataError, match=r"^There is no encoding called 'utf-9'"):
        read_dataset(path, encoding="utf-9")


def test_a_character_cut_by_a_chunk_border_is_still_utf_8(write, monkeypatch):
    monkeypatch.setattr("crowdcore.data.tables.content.CHUNK", 7)
    path = write(TEXT + "t3,w1,日本\n" * 20, "labels.csv")
    assert examine(path).report.encoding == "utf-8"


def test_a_file_that_ends_within_a_character_is_not_utf_8(write):
    path = write(b"task,worker,label\nt1,w1,a\nt2,w1,b\xc3", "labels.csv")
    assert "encoding-guessed" in {finding.code for finding in examine(path).report.findings}


def test_the_name_does_not_matter_but_the_content(tmp_path):
    frame = pd.DataFrame({"task": ["t1", "t2"], "worker": ["w1", "w1"], "label": ["a", "b"]})
    frame.to_parquet(tmp_path / "labels.csv")
    assert read_dataset(tmp_path / "labels.csv").n_tasks == 2
    (tmp_path / "labels.parquet").write_text(TEXT, encoding="utf-8")
    with pytest.raises(DataError, match=r"This is not a Parquet file: it does not begin like one \(labels.parquet\)"):
        read_dataset(tmp_path / "labels.parquet")


@pytest.mark.parametrize("kept", [4, 100, 0.5, 0.99])
def test_a_truncated_parquet_file(tmp_path, kept):
    path = tmp_path / "labels.parquet"
    pd.DataFrame({"task": np.arange(999), "worker": 1, "label": np.arange(999) % 3}).to_parquet(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(kept * len(raw)) if kept < 1 else kept])
    with pytest.raises(DataError, match=r"^This Parquet file is cut off or damaged \(.*\) \(labels.parquet\)\."):
        read_dataset(path)


def test_parquet_with_a_damaged_page(tmp_path):
    path = tmp_path / "labels.parquet"
    pd.DataFrame({"task": np.arange(9999), "worker": 1, "label": np.arange(9999) % 3}).to_parquet(path)
    raw = bytearray(path.read_bytes())
    raw[4:2000] = bytes(1996)
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"^This Parquet file is cut off or damaged"):
        read_dataset(path)


def test_parquet_with_text_that_is_not_utf_8(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    bad = pa.array([b"caf\xe9", b"tea"]).view(pa.string())
    pq.write_table(pa.table({"task": ["a", "b"], "worker": ["x", "y"], "label": bad}), tmp_path / "labels.parquet")
    with pytest.raises(DataError, match=r"This column holds text that is not UTF-8 .*column 'label'"):
        read_dataset(tmp_path / "labels.parquet")


def test_parquet_with_nested_columns(tmp_path):
    frame = pd.DataFrame({"task": ["a"], "worker": ["x"], "label": [["cat", "dog"]]})
    frame.to_parquet(tmp_path / "labels.parquet")
    with pytest.raises(DataError, match=r"This column holds list.*, not names or numbers .*column 'label'"):
        read_dataset(tmp_path / "labels.parquet")


def test_a_small_parquet_file_that_expands_beyond_all_bounds(tmp_path):
    n = 5_000_000
    huge = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * 10_000]))
    few = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["a"]))
    table = pa.table({"task": huge, "worker": few, "label": few})
    pq.write_table(table, tmp_path / "small.parquet", store_schema=False)
    assert (tmp_path / "small.parquet").stat().st_size < 100_000
    with pytest.raises(DataError, match=r"'task' repeats texts of up to 10,000 bytes over .* expands to more than"):
        read_dataset(tmp_path / "small.parquet", accept=True)
