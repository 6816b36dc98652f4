"""Stray quotes are reported, wherever they are; text of several lines is left alone."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset
from crowdcore.data.tables import delimited as quotes

ROWS = [f"t{i},w{i % 3},{'ab'[i % 2]},ok" for i in range(60)]


@pytest.fixture
def write(tmp_path):
    def write(changes: dict[int, str], header: str = "task,worker,label,text", encoding: str = "utf-8"):
        path = tmp_path / "votes.csv"
        lines = [header, *(changes.get(i, row) for i, row in enumerate(ROWS))]
        path.write_text("\n".join(lines) + "\n", encoding=encoding)
        return path

    return write


ASTRAY = r"There is text after a closing quote in this row \(votes.csv, row 21 below the header\)"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_quote_that_is_never_closed(write, encoding):
    with pytest.raises(
        DataError,
        match=r"opened.*39 lines.*row 21",
    ):
        examine(write({20: 't20,w2,a,"said yes'}, encoding=encoding))


def test_a_quote_that_is_closed_by_the_next_quoted_cell(write):
    with pytest.raises(DataError, match=ASTRAY):
        examine(write({20: 't20,w2,a,"said yes', 30: 't30,w0,a,"fine"'}))


@pytest.mark.parametrize(("first", "last", "rows"), [(20, 21, 1), (20, 50, 30)])
def test_rows_within_a_cell_have_to_be_accepted(write, first, last, rows):
    path = write({first: f't{first},w2,a,"said yes', last: f't{last},w0,a,said no"'})
    (finding,) = examine(path).report.changes
    assert (finding.code, finding.rows) == ("rows-in-a-cell", (first + 1,))
    assert f"look like {rows} row" in finding.sentence
    assert read_dataset(path, accept=True).n_annotations == 60 - rows


TEXTS = ["one,\nand two", "a\n\nb, c\ne", 'said ""yes"",\r\nshe, too', "\n", "x\ny,z,v,w", "ok\nok", "ok\n", "\n\nok"]


@pytest.mark.parametrize("text", TEXTS)
def test_text_of_several_lines_is_left_alone(write, text):
    ds = read_dataset(write({20: f't20,w2,a,"{text}"'}))
    assert ds.n_annotations == 60
    assert "\n" in text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "row", ['t20,w2,a,5" nail', 't20,w2,a,"a ""b"""', 't20,w2,a,""', 't20,w2,a,""""', 't20,"w2",a,x']
)
def test_quotes_in_order(write, row):
    assert read_dataset(write({20: row})).n_annotations == 60


@pytest.mark.parametrize("row", ['t20,w2,a,"b" c', 't20,w2,a,""c', 't20,w2,a,"b"c"', 't20,w2,a,"he ""x" y"'])
def test_quotes_out_of_order(write, row):
    with pytest.raises(DataError, match=ASTRAY):
        examine(write({20: row}))


@pytest.mark.parametrize("end", ["", "ok"])
def test_a_cell_that_begins_or_ends_with_nothing_but_holds_rows(write, end):
    path = write({20: 't20,w2,a,"' + end, 22: 't22,w1,a,"'})
    (finding,) = examine(path).report.changes
    assert (finding.code, finding.rows) == ("rows-in-a-cell", (21,))


def test_a_table_of_one_row_that_swallowed_the_others(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text('task,worker,label,gold\nt8,w1,cat,"\nt2,w3,cat,cat\nt8,w2,cat,"\n', encoding="utf-8")
    assert [f.code for f in examine(path).report.changes] == ["rows-in-a-cell"]


def test_a_label_of_several_lines_is_refused_unless_it_is_a_class(write):
    path = write({20: 't20,w2,"a,ok', 22: 't22,w1,a",ok'})
    with pytest.raises(DataError, match=r"row 21.*'label'"):
        examine(path)
    assert "label-outside-classes" in {f.code for f in examine(path, classes=["a", "b"]).report.changes}


def test_the_quick_look_agrees_with_the_strict_parser_across_chunks(write, monkeypatch):
    monkeypatch.setattr(quotes, "CHUNK", 64)
    ROWS_QUOTED = {i: ",".join(f'"{cell}"' for cell in row.split(",")) for i, row in enumerate(ROWS)}
    assert quotes._plainly_fine(write(ROWS_QUOTED), ord(","))
    assert read_dataset(write(ROWS_QUOTED)).n_annotations == 60
    for i in (0, 17, 59):
        path = write({**ROWS_QUOTED, i: f'"t{i}","w0","a","astray'})
        assert not quotes._plainly_fine(path, ord(","))
        with pytest.raises(DataError, match=r"votes.csv, row"):
            examine(path)


def test_a_line_that_is_far_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(quotes, "CELL_LIMIT", 1 << 10)
    monkeypatch.setattr(quotes, "CHUNK", 1 << 9)
    path = tmp_path / "votes.csv"
    path.write_text('task,worker,label,text\nt1,w1,a,"' + "x" * (1 << 13) + '"\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"0 MiB.*quote"):
        examine(path)


ODD = ['Pat "The Cat" Lee', '"quoted" Bob', '5" screen']


@pytest.mark.parametrize("name", [*ODD, '"ann'])
def test_quotes_that_are_letters_are_kept_once_that_is_said(write, name):
    path = write({i: f"t{i},{name if i % 3 else 'w0'},{'ab'[i % 2]},ok" for i in range(60)})
    if name.startswith('"'):
        with pytest.raises(DataError) as refusal:
            examine(path)
        assert [remedy.choices for remedy in refusal.value.remedies] == [({"quotes": False},)]
    votes = read_dataset(path, quotes=False)
    assert (votes.n_annotations, [*votes.worker_ids]) == (60, sorted([name, "w0"]))
