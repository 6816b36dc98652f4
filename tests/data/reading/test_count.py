"""Every row of a file is an annotation or is reported; repeats, against loops over pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from crowdcore.data.lookups import counted_sorted
from crowdcore.data.reading.numbering import Annotations, find_repeats, reduce_repeats


def codes(report) -> dict[str, str]:
    return {finding.code: finding.level for finding in report.findings}


def test_rows_that_do_not_add_up_are_refused_as_a_fault_of_ours(write, monkeypatch):
    from crowdcore.data.readers.long import LongTable

    honest = LongTable.read
    monkeypatch.setattr(LongTable, "read", lambda *of: replace(honest(*of), n_rows=7))
    sentence = "The reader 'long' lost count: of 7 rows 2 became annotations and 0 are reported as left out"
    with pytest.raises(DataError, match=f"{sentence}.*fault of crowdcore"):
        examine(write("task,worker,label\nt1,w1,a\nt1,w2,b\n"))


def test_a_row_with_several_faults_is_left_out_once(write):
    path = write("task,worker,label\nt1,w1,a\n,,z\n,w1,\nt1,w1,z\nt1,w1,b\nt1,w1,b\n")
    report = examine(path, classes=["a", "b"], repeats="majority").report
    left_out = {f.code: f.left_out for f in report.findings if f.left_out}
    assert left_out == {"missing-task": 2, "label-outside-classes": 1, "repeats": 2}
    assert (report.n_rows, report.n_annotations, report.n_left_out) == (6, 1, 5)
    assert "6 rows in the file, 5 left out" in report.text()
    assert report.as_dict()["findings"][0]["left_out"] == 2
    assert report.frame()["left_out"].sum() == 5


def test_no_task_with_two_labels(write):
    rows = "".join(f"{i},w{i % 3},{'ab'[i % 2]}\n" for i in range(12))
    report = examine(write("id,worker,label\n" + rows)).report
    assert codes(report)["no-shared-tasks"] == "warning"
    assert "no-shared-tasks" not in codes(examine(write("id,worker,label\n" + rows + "1,w2,a\n")).report)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), max_size=30), st.booleans())
def test_sorting_is_stable(triples, numbered):
    table = np.array(triples, np.int32).reshape(-1, 3)
    rows = np.arange(len(table)) * 10 if numbered else None
    given_ = Annotations(rows, *table.T)
    order = np.argsort(table[:, 0], kind="stable")
    want, got = given_.at(order), given_.sort(6)
    for part in ("task", "worker", "label"):
        np.testing.assert_array_equal(getattr(got, part), getattr(want, part), part)
        assert getattr(got, part).dtype == np.int32
    np.testing.assert_array_equal(np.arange(len(table)) if got.rows is None else got.rows, want.rows)


def test_numbers_written_in_several_ways_are_kept_apart_with_a_warning(write):
    report = examine(write("task,worker,label\n1,ann,1\n2,ann,1.0\n3,ann,01\n4,ann,one\n5,ann,2\n")).report
    assert report.classes == ("01", "1", "1.0", "2", "one")
    (found,) = [finding for finding in report.findings if finding.code == "same-number"]
    assert (found.level, found.examples) == ("warning", ("01", "1", "1.0"))
    assert [remedy.setting for remedy in found.remedies] == ["merge_classes"]


def test_all_labels_that_look_missing_are_named(write):
    report = examine(write("task,worker,label\nt1,w1,NA\nt2,w1,cat\nt3,w1,None\n")).report
    (found,) = [finding for finding in report.findings if finding.code == "looks-missing"]
    assert [(remedy.setting, remedy.value) for remedy in found.remedies] == [("missing", ["NA", "None"])]


TRIPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=25)


def columns(triples):
    table = np.array(sorted(triples, key=lambda t: t[0]), dtype=np.int32).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


@settings(max_examples=200)
@given(TRIPLES)
def test_finding(triples):
    task, worker, label = columns(triples)
    groups = defaultdict(list)
    for row, pair in enumerate(zip(task, worker, strict=True)):
        groups[pair].append(row)
    several = {pair: rows for pair, rows in groups.items() if len(rows) > 1}
    repeats = find_repeats(task, worker, label, 3)
    found = {
        (task[rows[0]], worker[rows[0]]): rows.tolist()
        for rows in np.split(repeats.rows, repeats.start[1:-1])
        if len(rows)
    }
    assert found == several
    assert repeats.n_repeats == sum(len(rows) - 1 for rows in several.values())
    assert repeats.contradicting.sum() == sum(len({label[r] for r in rows}) > 1 for rows in several.values())


@settings(max_examples=200)
@given(TRIPLES, st.sampled_from(["first", "last", "majority"]))
def test_reducing(triples, how):
    task, worker, label = columns(triples)
    repeats = find_repeats(task, worker, label, 3)
    kept = np.ones(len(task), bool)
    kept[reduce_repeats(repeats, label, how)] = False
    groups = defaultdict(list)
    for row, pair in enumerate(zip(task, worker, strict=True)):
        groups[pair].append(row)
    for rows in groups.values():
        votes = Counter(label[r] for r in rows)  # in order of appearance, which breaks ties
        winner = next(r for r in rows if label[r] == max(votes, key=votes.__getitem__))
        want = {"first": rows[0], "last": rows[-1], "majority": winner}[how]
        assert [r for r in rows if kept[r]] == [want]


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n):
    nothing = np.zeros(n, np.int32)
    assert find_repeats(nothing, nothing, nothing, 1).n_repeats == 0


def test_blocks_of_tasks_find_the_same_repeats(monkeypatch):
    rng = np.random.default_rng(1)
    task = np.sort(rng.integers(0, 40, 300)).astype(np.int32)
    worker, label = (rng.integers(0, n, 300).astype(np.int32) for n in (9, 3))
    whole = find_repeats(task, worker, label, 9)
    monkeypatch.setattr("crowdcore.data.reading.numbering.BLOCK", 7)
    parts = find_repeats(task, worker, label, 9)
    for name in ("rows", "start", "contradicting"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), name)


def test_counts_of_sorted_codes_are_those_of_bincount(monkeypatch):
    codes = np.sort(np.random.default_rng(2).integers(0, 50, 200)).astype(np.int32)
    monkeypatch.setattr("crowdcore.data.lookups.BLOCK", 16)
    np.testing.assert_array_equal(counted_sorted(codes, 60), np.bincount(codes, minlength=60))
    assert counted_sorted(codes[:0], 3).tolist() == [0, 0, 0]
