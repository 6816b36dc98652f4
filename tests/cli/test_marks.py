"""`crowdcore marks`: marks, lists and refusals on the command line; `--reference reviewed` elsewhere."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


def test_marks_are_added_listed_exported_taken_back_and_believed(
    crowdcore, refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    assert "Nobody has marked" in str(refused("quality", "demo", "--reference", "reviewed"))
    out = tmp_path / "relabel.csv", tmp_path / "training.csv"
    adding = ("--add", "digit-0001", "seven", "--unclear", "digit-0002", "--comment", "a bar", "--by", "me")
    told = crowdcore("marks", "demo", *adding, "--export", out[0], "--training", out[1])
    assert [(row["task"], row["right class"], row["by"]) for row in told["marks"]] == [
        ("digit-0002", "", "me"),
        ("digit-0001", "seven", "me"),
    ]
    assert pd.read_csv(out[0])["task"].tolist() == ["digit-0001", "digit-0002"]
    assert set(pd.read_csv(out[1])["right class"]) == {"seven"}
    assert crowdcore("quality", "demo", "-r", "reviewed")["reference"] == "reviewed"
    assert crowdcore("quality", "demo", "-r", "reviewed+gold")["reference"] == "reviewed+gold"
    assert len(crowdcore("marks", "demo", "--undo")["marks"]) == 1
    assert refused("marks", "demo", "--add", "digit-0001", "ten").got == "ten"
    assert "'digit'" in str(refused("marks", "demo", "--unclear", "digit"))


def test_marks_are_taken_from_a_file_and_from_data_that_changed(
    crowdcore, refused, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n1,ann,cat\n1,ben,dog\n2,ann,dog\n")
    marks = tmp_path / "marks.csv"
    marks.write_text("task,right class\n1,cat\n3,cat\n")
    assert "row 2, column 'task'" in str(refused("marks", votes, "--import", marks))
    assert crowdcore("marks", votes)["marks"] == []
    assert len(crowdcore("marks", votes, "--import", marks, "--accept")["marks"]) == 1
    votes.write_text("task,worker,label\n1,ann,cat\n1,ben,dog\n2,ann,dog\n2,ben,dog\n")
    assert crowdcore("marks", votes)["marks"] == []
    assert "Marks taken: 1. Not taken: 0." in run("marks", votes, "--carry").err
    assert [row["right class"] for row in crowdcore("marks", votes)["marks"]] == ["cat"]


def test_the_glossary_is_a_command(crowdcore) -> None:
    assert [row["column"] for row in crowdcore("glossary", "κ low")] == ["κ low"]


def test_a_table_is_limited_by_a_number(crowdcore, refused) -> None:
    rows = crowdcore("show", "worker-quality", "demo", "--between", "annotations", "200", "inf")["table"]
    assert rows
    assert all(row["annotations"] >= 200 for row in rows)
    assert refused("show", "worker-quality", "demo", "--between", "signal", "0", "1").got == "signal"
