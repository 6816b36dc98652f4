"""The page Panel: in the menu where workers are models, with the words of the exhibits."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdcore as cc
from crowdcore.data.writers import write_folder
from crowdcore.exhibits import panel, view
from tests.analysis.panels.crowds import difficult, judged
from tests.dashboard.app_page import open_page, words

MODELS = [f"gpt-{k}" for k in range(3)] + [f"claude-{k}" for k in range(3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    verdicts, truth = difficult(300, 6, 11)
    verdicts[:, 3] = verdicts[:, 0]
    write_folder(judged(verdicts, truth, MODELS), tmp_path / "judges")


def test_the_page_says_what_the_panel_counts_as(folder: None) -> None:
    test = open_page("panel", dataset="judges", names="shown", worker="gpt-0", other="claude-0")
    assert not test.error
    sentences = words(test)
    for sentence in panel.headline(view(cc.load_dataset("judges"))):
        assert sentence.split(":")[0] in sentences.replace("\\", "")
    assert "Items on which gpt-0 and claude-0 are wrong" in sentences
    assert panel.panel_score(view(cc.load_dataset("judges"))).notes[0].split(" %")[0] in sentences
    links = {link.proto.label for link in test.get("page_link")}
    assert "Panel" in links


def test_people_have_no_panel_in_the_menu_but_may_open_it() -> None:
    test = open_page("panel", dataset="demo")
    assert "Panel" not in {link.proto.label for link in test.get("page_link")}
