"""Appen's full report."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine
from testkit import export_tables as exports


@pytest.fixture
def write(write):
    return lambda *replacements: write(exports.replaced(exports.APPEN, replacements), "f123.csv")


def test_gold_of_test_questions_trust_and_times(write):
    found = examine(write())
    assert found.report.roles["gold"] == "sentiment_gold"
    data = found.dataset(accept=True)
    assert data.gold.tolist() == [1, -1]
    assert data.extra["_trust"].tolist() == [0.9167] * 4
    assert data.extra["timestamp"].tolist() == ["2014-06-30T14:28:16"] * 4
    (told,) = [f for f in found.report.findings if f.level == "warning"]
    assert (told.code, told.rows) == ("flagged", (2,))
    assert examine(write(), flagged="drop").report.n_annotations == 3


def test_several_accepted_answers_are_no_gold(write):
    report = examine(write((",,,pos,,great", ',,,"pos\nneg",,great'))).report
    (finding,) = [f for f in report.changes if f.code == "several-gold"]
    assert (finding.count, finding.column, report.n_gold) == (3, "sentiment_gold", 0)


def test_fields_without_gold_are_asked_for(write):
    path = write(("sentiment_gold,", "orig_x,"))
    with pytest.raises(MappingError, match=r"There are several questions .*'sentiment', 'comment'"):
        examine(path)
    assert examine(path, label="sentiment").report.n_annotations == 4
    named = examine(write(("sentiment_gold,", "orig_x,"), (",sentiment,", ",category,"))).report
    assert (named.roles["label"], named.n_gold) == ("category", 0)


def test_a_cut_report_is_known_by_its_gold(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text(
        "_unit_id,_worker_id,category,category_gold\n1,a,cat,dog\n1,b,dog,dog\n2,a,cat,\n", encoding="utf-8"
    )
    data = examine(path).dataset()
    assert data.gold.tolist() == [1, -1]


def test_the_aggregated_report_is_refused(tmp_path):
    path = tmp_path / "a123.csv"
    path.write_text("_unit_id,_golden,_unit_state,_trusted_judgments,sentiment\n1,FALSE,finalized,3,pos\n", "utf-8")
    with pytest.raises(DataError, match=r"the aggregated report holds no worker's own judgments .*full report"):
        examine(path)


def test_answers_that_differ_by_a_blank_are_merged_only_when_that_is_accepted(tmp_path):
    path = tmp_path / "f124.csv"
    rows = "1,a,1.0,cat,cat\n1,b,1.0,cat ,cat \n2,a,1.0,dog,\n"
    path.write_text("_unit_id,_worker_id,_trust,kind,kind_gold\n" + rows, encoding="utf-8")
    report = examine(path).report
    assert {f.code: f.rows for f in report.changes} == {"merged-labels": (2,), "merged-golds": (2,)}
    assert examine(path).dataset(accept=True).classes == ("cat", "dog")


def test_a_report_made_from_an_older_report(tmp_path):
    """Its columns of the older one (``_trusted_judgments``, ``_unit_state``) make it no aggregated report."""
    path = tmp_path / "f125.csv"
    header = "_unit_id,_created_at,_golden,_canary,_tainted,_trust,_worker_id,kind,_trusted_judgments,_unit_state,text"
    line = "7{},8/24/2013 20:28:31,true,,false,0.9211,{},Yes,1,finalized,sunny\n"
    rows = "".join(line.format(unit, who) for unit in (1, 2) for who in "ab")
    path.write_text(f"{header}\n{rows}", encoding="utf-8")
    report = examine(path).report
    assert (report.format, report.roles["label"], report.n_annotations) == ("appen", "kind", 4)


def test_choices_that_a_script_wrote_as_a_list(tmp_path):
    """As in the tutorial of https://github.com/CrowdTruth/CrowdTruth-core."""
    path = tmp_path / "f126.csv"
    rows = '1,a,1,"[""Other""]"\n1,b,1,"[""Other"",""Artist""]"\n2,a,1,"[""Artist""]"\n2,b,1,[IS_A]\n'
    path.write_text("_unit_id,_worker_id,_trust,answer\n" + rows, encoding="utf-8")
    report = examine(path).report
    assert report.classes == ("Artist", "Other", "[IS_A]")
    assert {f.code: f.rows for f in report.changes} == {"several-choices": (2,)}
