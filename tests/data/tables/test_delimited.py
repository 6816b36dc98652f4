"""Delimited tables, and their headers told from their content."""

from __future__ import annotations

import gzip
import io
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, read_dataset
from crowdcore.data.tables import base, delimited
from tests.data.reading.read_case import check, placed, table

ROWS = [("t1", "w1", "cat"), ("t1", "w2", "dog"), ("t2", "w1", "dog")]


def rows(ds) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in ds.annotations[["task", "worker", "label"]].to_numpy()]


@pytest.mark.parametrize(
    ("delimiter", "end"), [(",", "\r"), (";", "\r\n"), ("\t", "\n"), ("|", "\r"), (" ", "\r\n"), (",", "\n")]
)
def test_delimiters_and_line_ends(write, delimiter, end):
    text = end.join(delimiter.join(row) for row in [("task", "worker", "label"), *ROWS]) + end
    imported = examine(write(text))
    assert rows(imported.dataset()) == ROWS
    assert imported.report.delimiter == delimiter


READ: dict[str, tuple[Any, ...]] = {
    "mixed line ends": ("task,worker,label\r\nt1,w1,cat\nt1,w2,dog\rt2,w1,dog", {"triples": ROWS, "changes": {}}),
    "decimal commas": (
        "task;worker;label;score\nt1;w1;cat;0,5\nt1;w2;dog;1,5\nt2;w1;dog;2,5\n", {"delimiter": ";", "triples": ROWS}),
    "Unicode separators end no row": (
        "task;worker;label\nt1;w,1;a\u2028b\nt2;w,2;c\x0bd\nt3;w,3;e\x85f\n",
            {"classes": ("a\u2028b", "c\x0bd", "e\x85f")}),
    "a given delimiter": (
        "task:worker:label\nt1:w1:cat\nt1:w2:dog\nt2:w1:dog\n", ({"delimiter": ":"}, {"triples": ROWS, "changes": {}})),
    "quotes, newlines and delimiters in cells": (
        'task,worker,label\n"t,1","w ""x""","say ""hi"""\n"t2","two\nlines",plain\n',
        {"task_ids": ["t,1", "t2"], "worker_ids": {'w "x"', "two\nlines"}, "classes": ("plain", 'say "hi"'),
        "changes": {}}),
    "a label column twice": ("task,worker,label,label\nt1,w1,a,b\n", {"refused": None, "match": "'label'"}),
    "a column twice": ("task,worker,label,x,x\nt1,w1,a,1,2\nt2,w1,b,1,2\n", {"extra": {"x": [1, 1], "x (2)": [2, 2]}}),
    "numbers without a header": (  # a first row of numbers is no header to come again
        ("answers.txt", "1 5 0\n1 6 1\n2 5 1\n1 5 0\n"), ({"task": "1", "worker": "2", "label": "3"},
        {"triples": [("1", "5", "0"), ("1", "6", "1"), ("1", "5", "0"), ("2", "5", "1")]})),
    "words without a header": (
        "t1,w1,cat\nt1,w2,dog\nt2,w1,dog\n",
        ({"header": False, "task": "1", "worker": "2", "label": "3"}, {"triples": ROWS, "changes": {}})),
    "a header longer than the sample": (
        table([[f"t{t}", *("ab"[(i + t) % 2] for i in range(50))] for t in range(2)], "task",
        *(f"worker-{i:06000}" for i in range(50))),
        {"n_workers": 50}),
    "a large field": ("task,worker,label,text\nt1,w1,a,x\nt2,w1,b," + "x" * 3_000_000 + "\n",
        {"texts": ["x", "x" * 3_000_000]}),
    **{f"no delimiter: {sign!r}": ("task,worker,label\nt1,w1,a\n", ({"delimiter": sign}, {"refused": SettingError,
       "match": "`delimiter`"})) for sign in ('"', "\n", "é", "\0")},
    **{f"rows counted below a header: {header}": (
        "1,2,3\n" * header + "t1,w1,a\nt1,w2,b\nt2,w2,a\nt2,w1,\nt3,w1,b\nt3,w2,b\n",
        ({"header": header, "task": "1", "worker": "2", "label": "3"},
        {"changes": {"missing-label": (4,)}, "header": header}))
       for header in (True, False)},
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name: str, tmp_path: Path) -> None:
    content, *steps = READ[name]
    check(placed(tmp_path, content), *steps)


@pytest.mark.parametrize(
    ("text", "row", "cells"),
    [
        ("task,worker,label\nt1,w1,a\nt2,w1\nt3,w1,b\n", 2, 2),
        ("task,worker,label\nt1,w1,a\nt2,w1,b,c\n", 2, 4),
        ('task,worker,label\n"t\n1",w1,a\n\n\nt2\n', 2, 1),
        ("task,worker,label\n" + "t1,w1,a\n" * 5000 + "t2,w1\n", 5001, 2),
    ],
)
def test_a_ragged_row_is_named(write, text, row, cells):
    sentence = rf"^This row has {cells} cells?, but there are 3 columns \(labels.csv, row {row} below the header\)\."
    with pytest.raises(DataError, match=sentence) as caught:
        read_dataset(write(text))
    assert caught.value.row == row


def test_a_huge_field_is_refused_with_its_place(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 1 << 16)
    path = write("task,worker,label,text\n" + "t1,w1,a,x\n" * 10 + "t2,w1,b," + "x" * 200_000 + "\n")
    with pytest.raises(DataError, match=r"0 MiB.*quote"):
        read_dataset(path)


def test_more_rows_than_can_be_held(write, monkeypatch):
    monkeypatch.setattr(base, "MAX_ROWS", 2)
    with pytest.raises(DataError, match="2 rows"):
        read_dataset(write("task,worker,label\n" + "t1,w1,cat\n" * 3))


def test_slabs_do_not_change_the_result(write, monkeypatch):
    lines = [f"task-{i % 997},worker {i % 31:02},class {i % 7},{i}" for i in range(20_000)]
    path = write("task,worker,label,comment\n" + "\n".join(lines) + "\n")
    whole = read_dataset(path)
    monkeypatch.setattr(base, "SLAB_BYTES", 1 << 16)
    monkeypatch.setattr(delimited, "BLOCK", 1 << 14)
    pieces = read_dataset(path)
    assert pieces.fingerprint == whole.fingerprint
    assert pieces.extra.equals(whole.extra)
    monkeypatch.setattr("crowdcore.data.columns.EXTRA_LIMIT", 1 << 16)
    bounded = examine(path)
    assert bounded.dataset(accept=True).fingerprint == whole.fingerprint
    assert bounded.dataset(accept=True).extra is None
    (left_out,) = bounded.report.changes
    assert left_out.code == "columns-left-out"
    assert left_out.examples == ("comment",)


READ_AND_TELL_PEAK = """
import sys
from pathlib import Path
from crowdcore.data import columns, read_dataset
from crowdcore.data.tables import base, content, delimited
base.SLAB_BYTES = columns.EXTRA_LIMIT = 4 << 20
delimited.BLOCK = content.CHUNK = 1 << 18
def memory(kind):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith(kind)) / 1024
read_dataset(Path(sys.argv[1]).with_name("small.csv"))  # what is imported and compiled on first use is no data
before = memory("VmRSS")
ds = read_dataset(sys.argv[1], accept=True)
print(ds.n_annotations, memory("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_file_larger_than_the_memory_it_may_take(write):
    """With the bounds turned down, reading 160 MB of text takes less than half of that."""
    write("task,worker,label,comment\n" + "t1,w1,a,x\n" * 1000, "small.csv")
    filler = "filler " * 600
    lines = "".join(f"task-{i % 97},worker {i % 31:02},class {i % 7},{filler}\n" for i in range(800))
    path = write("task,worker,label,comment\n", "large.csv")
    with path.open("a", encoding="utf-8") as file:
        for _ in range(50):
            file.write(lines)
    assert path.stat().st_size > 150_000_000
    command = [sys.executable, "-c", READ_AND_TELL_PEAK, str(path)]
    n, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    path.unlink()
    assert int(n) == 40_000
    assert float(peak) < 75


@pytest.mark.parametrize("blank", [[""], ["", ""], ["  "], ["\t"]])
@pytest.mark.parametrize(("mark", "end"), [("", "\r"), ("\ufeff", "\r\n"), ("", "\n")])
def test_blank_lines_before_the_header(write, mark, end, blank):
    lines = [*blank, "task,worker,label", *map(",".join, ROWS)]
    imported = examine(write(mark + end.join([*lines, ""])))
    assert rows(imported.dataset()) == ROWS
    assert imported.report.n_rows == 3
    with pytest.raises(DataError, match="4 cells") as ragged:
        examine(write(mark + end.join([*lines, "t9,w9,cat,more", ""]))).dataset()
    assert ragged.value.row == 4


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_first_line_says_the_delimiter_as_excel_writes_it(write, mark, end, quote):
    lines = [f"{quote}sep=;{quote}", "task;worker;label", *map(";".join, ROWS)]
    imported = examine(write(mark + end.join([*lines, ""])))
    assert rows(imported.dataset()) == ROWS
    assert imported.report.n_rows == 3
    with pytest.raises(DataError, match=r"4 cells.*3 columns") as ragged:
        examine(write(mark + end.join([*lines, "t9;w9;cat;more", ""]))).dataset()
    assert ragged.value.row == 4
    with pytest.raises(DataError, match="never closed") as unclosed:
        examine(write(mark + end.join([*lines, 't9;w9;"cat', ""])))
    assert unclosed.value.row == 4


def test_the_header_again_is_left_out_on_acceptance(write):
    lines = ["task,worker,label,note,note", *(",".join((*row, "x", "y")) for row in ROWS)]
    path = write("\n".join([*lines, *lines, "\ufeff" + lines[0], "t9,w2,cat,label,note"]) + "\n")
    imported = examine(path)
    (finding,) = imported.report.changes
    assert (finding.code, finding.rows, finding.left_out) == ("repeated-header", (4, 8), 2)
    with pytest.raises(DataError, match="repeat"):
        imported.dataset()
    ds = imported.dataset(accept=True)
    assert sorted(rows(ds)) == sorted([*ROWS, *ROWS, ("t9", "w2", "cat")])
    assert list(ds.extra["note"]).count("x") == 6
    lacking = write("\n".join([*lines, lines[0], "t9,w2,,x,y"]) + "\n")
    assert next(f for f in examine(lacking).report.changes if f.code == "missing-label").rows == (5,)


def test_no_thread_of_arrow_holds_what_python_has_to_free(write, monkeypatch):
    """Freed by a thread while the process ends, it aborts the process: of refusals one in seven had exit code 134."""
    options, opened = [], pa_csv.open_csv
    monkeypatch.setattr(pa_csv, "open_csv", lambda *given, **named: options.append(named) or opened(*given, **named))
    with pytest.raises(DataError, match="row 2 below"):
        examine(write("task,worker,label\nt1,w1,a\nt2,w1\n"))
    assert options
    assert all(named["parse_options"].invalid_row_handler is None for named in options)


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
    with pytest.raises(DataError, match="exist"):
        read_dataset(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="folder"):
        read_dataset(tmp_path)


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_are_found(write, encoding):
    path = write(TEXT.encode(encoding), "labels.csv")
    imported = examine(path)
    assert imported.report.encoding == encoding
    assert imported.dataset().classes == CLASSES
    guessed = [f for f in imported.report.findings if f.code == "encoding-guessed"]
    assert bool(guessed) == (encoding in ("latin-1", "utf-16-le", "utf-16-be"))
    assert all(f.level == "warning" for f in guessed)


def test_windows_1252_is_told_from_latin_1_by_letters_anywhere_in_the_file(write, monkeypatch):
    path = write(TEXT.replace("caf\u00e9", "\u201ccaf\u00e9\u201d").encode("cp1252"), "labels.csv")
    guess = {"encoding-guessed": {"rows": (1,)}}
    check(path, {"encoding": "cp1252", "classes": {"\u201ccaf\u00e9\u201d", "th\u00e9"}, "findings": guess})
    monkeypatch.setattr("crowdcore.data.tables.content.CHUNK", 64)
    text = TEXT + "".join(f"t{i},caf\u00e9,x\n" for i in range(100, 140)) + "t140,\u201cann\u201d,x\n"
    assert examine(write(text.encode("cp1252"), "labels.csv")).report.encoding == "cp1252"


def test_an_encoding_can_be_given_and_must_fit(write):
    path = write(TEXT.encode("mac_roman"), "labels.csv")
    assert read_dataset(path, encoding="mac_roman").classes == CLASSES
    with pytest.raises(DataError, match="8 text") as refused:
        read_dataset(path, encoding="utf-8")
    assert [remedy.setting for remedy in refused.value.remedies] == ["encoding"]
    with pytest.raises(DataError, match="'utf-9'"):
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
    with pytest.raises(DataError, match="begin"):
        read_dataset(tmp_path / "labels.parquet")


@pytest.mark.parametrize("kept", [4, 100, 0.5, 0.99])
def test_a_truncated_parquet_file(tmp_path, kept):
    path = tmp_path / "labels.parquet"
    pd.DataFrame({"task": np.arange(999), "worker": 1, "label": np.arange(999) % 3}).to_parquet(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(kept * len(raw)) if kept < 1 else kept])
    with pytest.raises(DataError, match="Parquet"):
        read_dataset(path)


def test_parquet_with_text_that_is_not_utf_8_or_nested_columns(tmp_path):
    bad = pa.array([b"caf\xe9", b"tea"]).view(pa.string())
    for label, told in ((bad, r"8.*'label'"), (pa.array([["cat"], ["dog"]]), "'label'")):
        pq.write_table(
            pa.table({"task": ["a", "b"], "worker": ["x", "y"], "label": label}), tmp_path / "labels.parquet"
        )
        with pytest.raises(DataError, match=told):
            read_dataset(tmp_path / "labels.parquet")


def test_a_small_parquet_file_that_expands_beyond_all_bounds(tmp_path):
    n = 5_000_000
    huge = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * 10_000]))
    few = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["a"]))
    table = pa.table({"task": huge, "worker": few, "label": few})
    pq.write_table(table, tmp_path / "small.parquet", store_schema=False)
    assert (tmp_path / "small.parquet").stat().st_size < 100_000
    with pytest.raises(DataError, match=r"'task'.*10,000 bytes"):
        read_dataset(tmp_path / "small.parquet", accept=True)
