"""Where the names of columns are: below a title, in a row of numbers, above rows that explain them, nowhere."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, read_dataset
from crowdcore.data.tables import delimited
from tests.data.reading.read_case import ANIMALS, CROWD, path_of, read_case, refusal, summary


def remedies(found, code):
    """The remedies of the findings of a code, as (setting, value)."""
    return [(r.setting, r.value) for f in found.report.findings if f.code == code for r in f.remedies]


@pytest.mark.parametrize(
    ("case", "crowd", "code", "remedy"),
    [
        ("no-header-long", CROWD, "no-header", ("header", True)),
        ("no-header-numbers", CROWD, "no-header", ("header", True)),
        ("no-header-wide", CROWD, "no-header", ("header", True)),
        ("pandas-columns-0-1-2", (30, 6, 103, 0.07455), "counted-columns", ("header", False)),
        ("title-rows", CROWD, "title-rows", ("skip", 0)),
    ],
)
def test_the_first_row_is_what_its_content_says(case, crowd, code, remedy):
    found = read_case(case)
    assert found.report.changes == ()
    assert summary(found) == crowd
    assert remedy in remedies(found, code)


@pytest.mark.parametrize("case", ["no-header-long", "no-header-numbers"])
def test_roles_by_content_can_be_named(case):
    found = read_case(case, task="1", worker="2", label="3")
    assert (found.report.format, summary(found)) == ("long", CROWD)
    turned = read_case(case, task="2", worker="1")
    assert (turned.report.n_tasks, turned.report.n_workers) == (4, 24)


def test_whole_numbers_under_names_nobody_knows_are_asked_about():
    error = refusal("long-of-numbers")
    assert error.code == "columns"
    assert {r.setting for r in error.remedies} == {("task", "worker", "label"), "header"}
    assert summary(read_case("long-of-numbers", task="q", worker="p", label="r")) == CROWD


def test_decimal_commas_are_points():
    found = read_case("decimal-comma", kind="ratings", low=1, high=5)
    ratings = found.dataset()
    assert (found.report.changes, ratings.n_annotations) == ((), 96)
    assert ratings.rating[:3].tolist() == [1.6, 3.7, 3.6]
    assert refusal("decimal-comma").code == "many-numbers"


def test_codes_of_several_classes_are_no_decimal_commas(write):
    text = "task;worker;label\n" + "".join(f"t{i};{w};{'1,3' if i % 2 else '1,2'}\n" for i in range(8) for w in "ab")
    assert read_dataset(write(text)).classes == ("1,2", "1,3")


@pytest.mark.parametrize(
    "text",
    [
        "task,worker,label\na,b,c\nb,c,a\n",
        "item;a;b\nx1;a;b\nx2;b;b\nx3;a;a\n",
        ",a,b,c\nx,a,b,c\ny,b,c,c\nz,c,c,c\n",
        "doc,1,2,3\nd1,cat,dog,cat\nd2,dog,dog,dog\nd3,cat,cat,cat\n",
        "unit,v1,v2\nq1,2,3\nq2,3,3\nq3,2,2\n",
    ],
)
def test_names_of_columns_stay_names(write, text):
    report = examine(write(text)).report
    assert report.header
    assert not {f.code for f in report.findings} & {"no-header", "title-rows", "counted-columns", "extra-headers"}


@pytest.mark.parametrize("n", [2, 7])
def test_numbers_above_words_are_names(write, n):
    header = ",".join(str(i + 101) for i in range(n))
    rows = "\n".join(",".join("ab"[(i * t) % 2] for i in range(n)) for t in range(12))
    assert read_dataset(write(f"{header}\n{rows}\n")).n_workers == n


@pytest.mark.parametrize("lines", [["Round 2"], ["Round 2", ""], ["Round 2", "by ann, ben", ""]])
def test_titles_of_one_cell(write, lines):
    rows = "".join(f"t{t};{w};{'xy'[(t + i) % 2]}\n" for t in range(6) for i, w in enumerate("abc"))
    path = write("\n".join([*lines, "task;worker;label", rows]))
    assert (read_dataset(path).n_annotations, read_dataset(path, skip=len(lines)).n_annotations) == (18, 18)


def test_a_sparse_first_row_is_no_title(write):
    rows = ["cat,,,", "dog,cat,,", "cat,cat,dog,", ",dog,dog,cat", "cat,dog,,cat"] * 3
    dataset = read_dataset(write("\n".join(rows) + "\n"))
    assert (dataset.n_tasks, dataset.n_annotations, dataset.classes) == (15, 3 * 12, ANIMALS[1:])


def test_the_first_row_below_a_title_is_row_1(write):
    text = path_of("title-rows").read_text().replace("photo01,ben,dog", "photo01,ben,")
    (change,) = examine(write(text)).report.changes
    assert (change.code, change.rows) == ("missing-label", (2,))


def test_merged_cells_are_filled_down():
    found = read_case("merged-cells")
    assert [f.code for f in found.report.changes] == ["merged-cells"]
    assert summary(found) == CROWD
    assert remedies(found, "merged-cells") == [("fill", ["task"]), ("fill", [])]
    filled = read_case("merged-cells", fill=["task"])
    assert (filled.report.changes, filled.dataset().fingerprint) == ((), found.dataset(accept=True).fingerprint)
    assert next(f for f in read_case("merged-cells", fill=[]).report.changes if f.code == "missing-task").count == 66
    with pytest.raises(SettingError):
        read_case("merged-cells", fill=["tsk"])


def test_merged_cells_reach_over_pieces(tmp_path, monkeypatch):
    rows = "".join(f"{f'task {i // 3}' if i % 3 == 0 else ''},w{i % 3},{'ab'[i % 2]}\n" for i in range(3000))
    path = tmp_path / "merged.csv"
    path.write_text("unit,worker,label\n" + rows)
    monkeypatch.setattr(delimited, "BLOCK", 1 << 10)
    dataset = read_dataset(path, fill=["unit"], task="unit")
    assert (dataset.n_tasks, dataset.n_annotations) == (1000, 3000)


def test_a_last_row_of_totals_is_asked_about():
    found = read_case("total-row")
    assert [f.code for f in found.report.questions] == ["total-row"]
    assert (summary(found), found.report.classes) == (CROWD, ANIMALS)
    assert read_case("total-row", totals=True).report.changes == ()
    kept = read_case("total-row", totals=False).report
    assert (kept.n_tasks, kept.n_annotations, kept.questions) == (25, 94, ())


@pytest.mark.parametrize("last", ["t9,lynx,lynx,lynx", "t9,5,cat,cat", "t9,,,"])
def test_a_last_row_that_is_a_task(write, last):
    path = write("task,ann,ben,cem\n" + "".join(f"t{i},cat,dog,cat\n" for i in range(8)) + last + "\n")
    assert examine(path).report.questions == ()


def test_a_second_header_in_another_order_is_refused(write):
    path = write("task,worker,label\nt1,ann,cat\nt2,ben,dog\nworker,task,label\nann,t3,cat\n")
    with pytest.raises(DataError) as caught:
        examine(path)
    assert (caught.value.code, caught.value.row) == ("header-in-another-order", 3)
