"""The Overview tells what was planted, links to the evidence, and takes its thresholds from the address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crowdcore.data.writers import write_folder
from testkit.crowds import simulate_crowd
from tests.dashboard.app_page import open_page, table, words


def links(test, label: str) -> list[str]:
    return [link.proto.query_string for link in test.get("page_link") if link.proto.label == label]


def test_planted_workers_and_shared_mistakes_are_told_with_links() -> None:
    test = open_page("overview", dataset="demo", names="shown")
    assert not test.exception
    assert not test.error
    shown = words(test)
    assert "w04 on " in table(test, "reason")["reason"].str.cat()
    assert "“one” “seven”" in shown
    metrics = {metric.label: metric.value for metric in test.metric}
    assert metrics["Remove"] == "2"
    assert "worker=w35" in links(test, "w35")[0]
    assert table(test, "κ low")["verdict"].iloc[0] == "remove"


def test_a_file_on_the_command_line_is_opened_with_its_questions(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("item,rater,answer\n1,ann,cat\n1,bob,dog\n2,ann,cat\n")
    monkeypatch.setattr("sys.argv", ["server.py", str(file)])
    test = open_page("overview")
    assert not test.exception
    assert not test.error
    assert "votes.csv" in words(test)
    assert [button.label for button in test.button if button.label == "Open it"]


def test_a_threshold_comes_from_the_address() -> None:
    test = open_page("overview", dataset="demo", trust="95")
    assert next(slider.value for slider in test.slider if slider.label.startswith("Trust")) == 95
    assert int(next(metric.value for metric in test.metric if metric.label == "Trust")) < 33


def test_a_worker_s_page_has_verdict_partners_and_message() -> None:
    test = open_page("annotators", dataset="demo", view="One worker", worker="w05", names="shown")
    assert not test.exception
    assert not test.error
    assert "w04 on " in words(test)
    assert table(test, "other")["other"].iloc[0] == "w04"
    assert "your 170 labels" in words(test)


def test_who_cannot_be_judged_is_not_said_to_be_fine(data_folder: object) -> None:
    test = open_page("overview", dataset="labelme")
    told = "No fault was found in any worker. The labels of 19 of 59 workers are too few to tell."
    assert told in [message.value for message in test.success]
    assert "Review gold that may be wrong" in {link.proto.label for link in test.get("page_link")}
    assert "Review tasks to relabel" not in {link.proto.label for link in test.get("page_link")}
    assert "Review ambiguous tasks" not in {link.proto.label for link in test.get("page_link")}
    assert table(test, "reason")["verdict"].iloc[0] == "undecided"


def test_where_nobody_can_be_judged_there_is_no_praise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(simulate_crowd(30, n_workers=1, per_task=1), gold=None)
    write_folder(alone, tmp_path / "alone")
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    test = open_page("overview", dataset="alone")
    assert not test.success
    assert any("how good any worker" in message.value for message in test.info)
