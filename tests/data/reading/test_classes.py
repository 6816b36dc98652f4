"""What looks odd about the classes of a file."""

from __future__ import annotations

from crowdcore.data import examine


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
