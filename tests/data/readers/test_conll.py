"""CoNLL columns: a token a line, a column of tags for each worker."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset, simulate, write_conll

TEXT = """token gold ann ben
to O O ?
Rome B-LOC B-LOC ?

"Paris" B-LOC O I-LOC
"""


@pytest.fixture
def write(tmp_path):
    def made(text, name="tags.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return made


def test_columns_of_workers_and_gold(write):
    found = examine(write(TEXT))
    ds = found.dataset()
    assert found.report.format == "conll"
    assert (list(ds.sentences.words), list(ds.sentences.ids)) == (["to", "Rome", '"Paris"'], ["s1", "s2"])
    assert list(ds.task_ids) == ["s1:1", "s1:2", "s2:1"]
    assert (ds.classes, ds.gold.tolist()) == (("O", "B-LOC", "I-LOC"), [0, 1, 1])
    rows = list(zip(ds.task.tolist(), ds.worker_ids[ds.worker], ds.label.tolist(), strict=True))
    assert rows == [(0, "ann", 0), (1, "ann", 1), (2, "ann", 0), (2, "ben", 2)]
    assert ds.file_row.tolist() == [2, 3, 5, 5]
    assert found.report.n_rows == 4 == found.report.n_annotations + found.report.n_left_out


def test_without_a_header_workers_are_numbered_and_blank_lines_may_repeat(write, tmp_path):
    ds = read_dataset(write("\n\na\tO\tB-X\n\n\nb\tB-X\t_\n\n"))
    assert (list(ds.worker_ids), ds.sentences.start.tolist()) == (["worker-1", "worker-2"], [0, 1, 2])
    assert ds.classes == ("O", "B-X", "I-X")
    assert read_dataset(write_conll(ds, tmp_path / "again.conll")).fingerprint == ds.fingerprint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TEXT.replace("Rome B-LOC B-LOC ?", "Rome B-LOC"), r"This line has 2 columns, the first one has 4.*row 3"),
        (TEXT.replace("I-LOC", "LOC"), r"'LOC' is not an IOB2 tag.*row 5, column 'ben'"),
        ("token ann\n", "There are columns, but no tokens"),
        (TEXT.replace("ben", "ann"), "Two columns are called 'ann'"),
    ],
)
def test_refusals_name_the_line(write, text, sentence):
    with pytest.raises(DataError, match=sentence):
        read_dataset(write(text), format="conll")


def test_a_line_too_short_is_told_by_the_reader_of_the_format_without_naming_it(write):
    with pytest.raises(DataError, match=r"This line has 2 columns, the first one has 3.*row 2"):
        read_dataset(write("John B-PER O\nlives O\n\nParis B-LOC B-LOC\n"))


def test_blocks_do_not_show(tmp_path, monkeypatch):
    path = write_conll(simulate.tags(n_sentences=40, seed=3), tmp_path / "crowd.conll")
    whole = read_dataset(path)
    monkeypatch.setattr("crowdcore.data.readers.conll.BLOCK", 100)
    assert read_dataset(path).fingerprint == whole.fingerprint
    assert read_dataset(path).file_row.tolist() == whole.file_row.tolist()
    lines = path.read_text().split("\n")
    lines[-3] += "\tO"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=f"row {len(lines) - 2}"):
        read_dataset(path)


def test_round_trip(tmp_path):
    crowd = simulate.tags(n_sentences=40, seed=3)
    back = read_dataset(write_conll(crowd, tmp_path / "crowd.conll"))
    assert (back.classes, list(back.worker_ids)) == (crowd.classes, list(crowd.worker_ids))
    for part in ("task", "worker", "label", "gold"):
        np.testing.assert_array_equal(getattr(back, part), getattr(crowd, part))
    assert back.sentences.words.equals(crowd.sentences.words)
    np.testing.assert_array_equal(back.sentences.start, crowd.sentences.start)


def test_what_columns_cannot_hold(tmp_path, crowd):
    with pytest.raises(DataError, match="knows no sentences"):
        write_conll(crowd, tmp_path / "c.txt")


def test_a_crowd_that_marked_nothing_is_read_again(write, tmp_path):
    """No tag tells the format then: the file's name does."""
    ds = read_dataset(write(TEXT.replace("B-LOC", "O").replace("I-LOC", "O"), "nothing.conll"))
    again = read_dataset(write_conll(ds, tmp_path / "again.conll"))
    assert (again.fingerprint, len(again.sentences)) == (ds.fingerprint, 2)
    with pytest.raises(DataError, match=r"'E-LOC' is not an IOB2 tag.*row 5, column 'ben'"):
        read_dataset(write(TEXT.replace("I-LOC", "E-LOC"), "other.conll"))
