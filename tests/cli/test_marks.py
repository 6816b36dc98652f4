"""`crowdcore marks`: marks, lists and refusals on the command line; `--reference reviewed` elsewhere."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


def test_marks_are_added_listed_exported_taken_back_and_believed(
    crowdcore, refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    assert "Nobody has marked tasks of demo" in refused("quality", "demo", "--reference", "reviewed")
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
    assert "`class` must be one of zero, one" in refused("marks", "demo", "--add", "digit-0001", "ten")
    assert "demo has no task 'digit'" in refused("marks", "demo", "--unclear", "digit")


def test_the_glossary_is_a_command(crowdcore) -> None:
    assert [row["column"] for row in crowdcore("glossary", "κ low")] == ["κ low"]


def test_a_table_is_limited_by_a_number(crowdcore, refused) -> None:
    rows = crowdcore("show", "worker-quality", "demo", "--between", "annotations", "200", "inf")["table"]
    assert rows
    assert all(row["annotations"] >= 200 for row in rows)
    assert "one with numbers" in refused("show", "worker-quality", "demo", "--between", "signal", "0", "1")
