"""CSV and its kin: dialects, odd rows, bounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, read_dataset
from crowdcore.data.tables import base, delimited

ROWS = [("t1", "w1", "cat"), ("t1", "w2", "dog"), ("t2", "w1", "dog")]


def rows(ds) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in ds.annotations[["task", "worker", "label"]].to_numpy()]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(write, delimiter, end):
    text = end.join(delimiter.join(row) for row in [("task", "worker", "label"), *ROWS]) + end
    found = examine(write(text))
    assert rows(found.dataset()) == ROWS
    assert found.report.delimiter == delimiter


def test_mixed_line_ends(write):
    assert rows(read_dataset(write("task,worker,label\r\nt1,w1,cat\nt1,w2,dog\rt2,w1,dog"))) == ROWS


def test_decimal_commas_do_not_mislead(write):
    found = examine(write("task;worker;label;score\nt1;w1;cat;0,5\nt1;w2;dog;1,5\nt2;w1;dog;2,5\n"))
    assert found.report.delimiter == ";"
    assert rows(found.dataset()) == ROWS


def test_unicode_line_separators_end_no_row(write):
    ds = read_dataset(write("task;worker;label\nt1;w,1;a\u2028b\nt2;w,2;c\x0bd\nt3;w,3;e\x85f\n"))
    assert ds.classes == ("a\u2028b", "c\x0bd", "e\x85f")


def test_a_delimiter_can_be_given(write):
    path = write("task:worker:label\nt1:w1:cat\nt1:w2:dog\nt2:w1:dog\n")
    assert rows(read_dataset(path, delimiter=":")) == ROWS


def test_quotes_newlines_and_delimiters_in_cells(write):
    ds = read_dataset(write('task,worker,label\n"t,1","w ""x""","say ""hi"""\n"t2","two\nlines",plain\n'))
    assert list(ds.task_ids) == ["t,1", "t2"]
    assert set(ds.worker_ids) == {'w "x"', "two\nlines"}
    assert ds.classes == ("plain", 'say "hi"')


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


def test_a_quote_that_is_never_closed(write):
    with pytest.raises(DataError, match=r"labels.csv"):
        read_dataset(write('task,worker,label\nt1,w1,a\nt2,"w1,b\nt3,w1,a\n'))


def test_a_huge_field_is_refused_with_its_place(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 1 << 16)
    path = write("task,worker,label,text\n" + "t1,w1,a,x\n" * 10 + "t2,w1,b," + "x" * 200_000 + "\n")
    with pytest.raises(DataError, match=r"A row is longer than 0 MiB, or a quote is never closed"):
        read_dataset(path)


def test_a_field_below_the_bound_is_read(write):
    path = write("task,worker,label,text\nt1,w1,a,x\nt2,w1,b," + "x" * 3_000_000 + "\n")
    assert len(read_dataset(path).media.columns["text"][1]) == 3_000_000


def test_repeated_column_names(write):
    with pytest.raises(DataError, match="Two columns are called 'label'"):
        read_dataset(write("task,worker,label,label\nt1,w1,a,b\n"))
    ds = read_dataset(write("task,worker,label,x,x\nt1,w1,a,1,2\nt2,w1,b,1,2\n"))
    assert list(ds.extra.columns) == ["x", "x (2)"]


def test_a_table_without_a_header(write):
    path = write("1 5 0\n1 6 1\n2 5 1\n", "answers.txt")
    ds = read_dataset(path, task="1", worker="2", label="3")
    assert rows(ds) == [("1", "5", "0"), ("1", "6", "1"), ("2", "5", "1")]
    path = write("t1,w1,cat\nt1,w2,dog\nt2,w1,dog\n")
    assert rows(read_dataset(path, header=False, task="1", worker="2", label="3")) == ROWS


def test_more_rows_than_can_be_held(write, monkeypatch):
    monkeypatch.setattr(base, "MAX_ROWS", 2)
    with pytest.raises(DataError, match=r"There are more than 2 rows \(labels.csv\)"):
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


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", [[""], ["", ""], ["  "], ["\t"]])
def test_blank_lines_before_the_header(write, mark, end, blank):
    lines = [*blank, "task,worker,label", *map(",".join, ROWS)]
    found = examine(write(mark + end.join([*lines, ""])))
    assert rows(found.dataset()) == ROWS
    assert found.report.n_rows == 3
    with pytest.raises(DataError, match="This row has 4 cells") as ragged:
        examine(write(mark + end.join([*lines, "t9,w9,cat,more", ""]))).dataset()
    assert ragged.value.row == 4


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_first_line_says_the_delimiter_as_excel_writes_it(write, mark, end, quote):
    lines = [f"{quote}sep=;{quote}", "task;worker;label", *map(";".join, ROWS)]
    found = examine(write(mark + end.join([*lines, ""])))
    assert rows(found.dataset()) == ROWS
    assert found.report.n_rows == 3
    with pytest.raises(DataError, match="This row has 4 cells, but there are 3 columns") as ragged:
        examine(write(mark + end.join([*lines, "t9;w9;cat;more", ""]))).dataset()
    assert ragged.value.row == 4
    with pytest.raises(DataError, match="never closed") as unclosed:
        examine(write(mark + end.join([*lines, 't9;w9;"cat', ""])))
    assert unclosed.value.row == 4


def test_the_header_again_is_left_out_on_acceptance(write):
    lines = ["task,worker,label,note,note", *(",".join((*row, "x", "y")) for row in ROWS)]
    path = write("\n".join([*lines, *lines, "\ufeff" + lines[0], "t9,w2,cat,label,note"]) + "\n")
    found = examine(path)
    (finding,) = found.report.changes
    assert (finding.code, finding.rows, finding.left_out) == ("repeated-header", (4, 8), 2)
    with pytest.raises(DataError, match="repeat the column names"):
        found.dataset()
    ds = found.dataset(accept=True)
    assert sorted(rows(ds)) == sorted([*ROWS, *ROWS, ("t9", "w2", "cat")])
    assert list(ds.extra["note"]).count("x") == 6
    lacking = write("\n".join([*lines, lines[0], "t9,w2,,x,y"]) + "\n")
    assert next(f for f in examine(lacking).report.changes if f.code == "missing-label").rows == (5,)


def test_a_first_row_of_numbers_is_no_header_to_come_again(write):
    ds = read_dataset(write("1 2 3\n1 2 3\n2 2 3\n", "answers.txt"), task="1", worker="2", label="3")
    assert ds.n_annotations == 3


def test_a_header_longer_than_the_sample(write):
    names = [f"worker-{i:0600}" for i in range(500)]
    header = ",".join(["task", *names])
    assert len(header) > 1 << 18
    text = "\n".join(",".join([f"t{t}", *("ab"[(i + t) % 2] for i in range(500))]) for t in range(2))
    assert read_dataset(write(f"{header}\n{text}\n")).n_workers == 500


@pytest.mark.parametrize("delimiter", ['"', "\n", "é", "\0"])
def test_a_delimiter_that_cannot_be(write, delimiter):
    with pytest.raises(SettingError, match="`delimiter` must be one ASCII character"):
        read_dataset(write("task,worker,label\nt1,w1,a\n"), delimiter=delimiter)


def test_the_reader_knows_whether_rows_are_counted_below_a_header(tmp_path):
    rows, path = ["t1,w1,a", "t1,w2,b", "t2,w2,a", "t2,w1,", "t3,w1,b", "t3,w2,b"], tmp_path / "votes.csv"
    roles = {"task": "1", "worker": "2", "label": "3"}
    for header in (True, False):
        path.write_text("\n".join(["1,2,3"] * header + rows) + "\n")
        report = examine(path, header=header, **roles).report
        assert any(finding.rows == (4,) for finding in report.findings)
        assert bool(report.rows_counted) == header


def test_no_thread_of_arrow_holds_what_python_has_to_free(write, monkeypatch):
    """Freed by a thread while the process ends, it aborts the process: of refusals one in seven had exit code 134."""
    options, opened = [], pa_csv.open_csv
    monkeypatch.setattr(pa_csv, "open_csv", lambda *given, **named: options.append(named) or opened(*given, **named))
    with pytest.raises(DataError, match="row 2 below"):
        examine(write("task,worker,label\nt1,w1,a\nt2,w1\n"))
    assert options
    assert all(named["parse_options"].invalid_row_handler is None for named in options)
