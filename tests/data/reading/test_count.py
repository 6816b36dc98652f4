"""Annotations are sorted by task, and every row of a file is one or is reported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from crowdcore.data.reading.numbering import Annotations


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
