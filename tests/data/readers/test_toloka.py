"""Toloka's assignments."""

from __future__ import annotations

import pytest

from crowdcore.data import MappingError, examine
from testkit import export_tables as exports


@pytest.fixture
def write(write):
    return lambda *replacements: write(exports.replaced(exports.TOLOKA, replacements), "assignments.tsv")


def test_gold_status_and_times(write):
    data = examine(write()).dataset(accept=True)
    assert data.gold.tolist() == [1, -1]
    assert data.extra["timestamp"].tolist() == ["2023-01-05T11:44:27.393000"] * 4
    assert data.extra["ASSIGNMENT:status"].tolist() == ["APPROVED"] * 3 + ["REJECTED"]
    report = examine(write(), flagged="drop").report
    assert {f.code: f.rows for f in report.changes} == {
        "flagged": (4,), "no-choice": (5,), "workers-without-labels": ()
    }  # fmt: skip


def test_the_file_of_the_web_page_has_only_the_start(write):
    """It lacks ``submitted`` and what follows; only the interface for programs gives them."""
    data = examine(write(("ASSIGNMENT:submitted", "ACCEPT:comment"))).dataset(accept=True)
    assert data.extra["timestamp"].tolist() == ["2023-01-05T11:44:01.123000"] * 4


def test_the_only_input_is_the_task_where_no_task_is_named(write):
    assert examine(write(("ASSIGNMENT:task_id", "ASSIGNMENT:other"))).report.roles["task"] == "INPUT:text"
    path = write(("ASSIGNMENT:task_id", "INPUT:more"))
    with pytest.raises(MappingError, match=r"Which column names the task is not certain .*'INPUT:text', 'INPUT:more'"):
        examine(path)
    assert examine(path, task="INPUT:text").report.n_tasks == 2


def test_several_outputs_are_asked_for(write):
    path = write(("HINT:text", "OUTPUT:sure"))
    with pytest.raises(MappingError, match="'OUTPUT:result', 'OUTPUT:sure'"):
        examine(path)
    assert examine(path, label="OUTPUT:result").report.roles["gold"] == "GOLDEN:result"


def test_lists_of_choices(write):
    report = examine(write(("\tpos\tpos", '\t"[""pos"", ""neg""]"\tpos'), ("\tneg\tpos", '\t"[""neg""]"\tpos'))).report
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (1,), "no-choice": (5,)}
    assert report.classes == ("neg", "pos")
