"""`crowdcore panel` and `crowdcore check --panel`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from crowdcore.cli import main
from tests.analysis.panels.crowds import difficult, judged


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    verdicts, truth = difficult(300, 6, 8)
    of = judged(verdicts, truth)
    path = tmp_path_factory.mktemp("panel") / "verdicts.csv"
    names = list(of.classes)
    rows = {"task": of.task_ids[of.task], "worker": of.worker_ids[of.worker], "label": [names[c] for c in of.label]}
    pd.DataFrame(rows).assign(gold=[names[of.gold[t]] for t in of.task]).to_csv(path, index=False)
    return str(path)


def test_a_panel_is_printed_and_written(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["panel", file, "--out", str(tmp_path / "judges.csv"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["votes"][0]["kish"] < 6 and len(document["judges"]) == 6
    assert len(pd.read_csv(tmp_path / "judges.csv")) == 6


def test_a_score_writes_what_to_label_next(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(file)
    table.loc[table["task"] >= "i00100", "gold"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    with pytest.raises(SystemExit):
        main(["panel", str(tmp_path / "some.csv"), "--score", "b-yes", "--out", str(tmp_path / "next.csv"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["panel-score"][0]["score low"] < document["panel-score"][0]["score"]
    assert len(pd.read_csv(tmp_path / "next.csv")) == 40


def test_people_are_named_on_the_command_line(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["panel", file, "--person", "judge-0", "--person", "judge-1", "--person", "judge-2", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert {row["worker"] for row in document["panel-people"]} == {"judge-3", "judge-4", "judge-5"}
    with pytest.raises(SystemExit) as ended:
        main(["panel", file, "--person", "nobody"])
    assert ended.value.code == 2 and "nobody" in capsys.readouterr().err


@pytest.mark.parametrize(("votes", "code"), [("1", 0), ("5.9", 1)])
def test_the_check_of_a_panel_fails_below_its_limit(file: str, votes: str, code: int) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", file, "--panel", "--min-votes", votes, "--min-kappa", "-1"])
    assert ended.value.code == code


def test_what_is_no_panel_is_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.csv").write_text("task,worker,label\n1,a,x\n2,a,y\n")
    with pytest.raises(SystemExit) as ended:
        main(["panel", str(tmp_path / "one.csv")])
    err = capsys.readouterr().err
    assert ended.value.code == 2 and "1 worker" in err and ".." not in err.replace(str(tmp_path), "")
