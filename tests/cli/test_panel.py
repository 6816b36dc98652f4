"""`crowdcore panel` and `crowdcore check --panel`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.panels.crowds import difficult, judged


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    of = judged(*difficult(300, 6, 8))
    path = tmp_path_factory.mktemp("panel") / "verdicts.csv"
    gold = pd.Index(of.classes)[of.gold[of.task]]
    of.annotations[["task", "worker", "label"]].assign(gold=gold).to_csv(path, index=False)
    return path


def test_a_panel_is_printed_and_written(file: Path, crowdcore, tmp_path: Path) -> None:
    document = crowdcore("panel", file, "--out", tmp_path / "judges.csv")
    assert document["votes"][0]["kish"] < 6 and len(document["judges"]) == 6
    assert len(pd.read_csv(tmp_path / "judges.csv")) == 6


def test_a_score_writes_what_to_label_next(file: Path, crowdcore, tmp_path: Path) -> None:
    table = pd.read_csv(file)
    table.loc[table["task"] >= "i00100", "gold"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    document = crowdcore("panel", tmp_path / "some.csv", "--score", "b-yes", "--out", tmp_path / "next.csv")
    assert document["panel-score"][0]["score low"] < document["panel-score"][0]["score"]
    assert len(pd.read_csv(tmp_path / "next.csv")) == 40


def test_people_are_named_on_the_command_line(file: Path, crowdcore, refused) -> None:
    document = crowdcore("panel", file, "--person", "judge-0", "--person", "judge-1", "--person", "judge-2")
    assert {row["worker"] for row in document["panel-people"]} == {"judge-3", "judge-4", "judge-5"}
    assert "nobody" in str(refused("panel", file, "--person", "nobody"))


def test_the_check_of_a_panel_fails_below_its_limit(file: Path, run) -> None:
    for votes, code in ((1, 0), (5.9, 1)):
        assert run("check", file, "--panel", "--min-votes", votes, "--min-kappa", "-1").code == code


def test_what_is_no_panel_is_refused_in_one_sentence(refused, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("task,worker,label\n1,a,x\n2,a,y\n")
    text = str(refused("panel", tmp_path / "one.csv"))
    assert "1 worker" in text and ".." not in text.replace(str(tmp_path), "")
