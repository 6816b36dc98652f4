"""Every row of a file is an annotation, or one finding says why it is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine


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
