"""The pages of a crowd that tags tokens."""

from __future__ import annotations

import pytest

from crowdcore.data import simulate, write_folder
from tests.dashboard.app_page import open_page, table, words


@pytest.fixture(autouse=True)
def crowd(tmp_path, monkeypatch):
    folder = tmp_path / "found"
    folder.mkdir()
    made = simulate.tags(n_sentences=20, seed=1)
    write_folder(made, folder / "tagged")
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    return made


def test_the_page_draws_and_says_what_applies_to_crowds_without_spans():
    test = open_page("spans", dataset="tagged")
    assert not test.exception and not test.error
    assert "Shared boundary errors" in words(test) and "20 sentences" in words(test)
    assert table(test, "starts early")["type"].tolist() == ["LOC", "PER"]
    other = open_page("spans", dataset="demo")
    assert not other.error and "The labels of demo are classes of single tasks" in words(other)


def test_a_task_shows_its_sentence_with_the_spans_of_every_worker(crowd):
    task = int((crowd.gold == 1).argmax())
    test = open_page("tasks", dataset="tagged", task=str(crowd.task_ids[task]))
    assert not test.exception and not test.error
    assert crowd.sentences.words[task] in test.title[0].value
    shown = table(test, "tagged by")
    assert shown["tagged by"][0] == "gold" and len(shown) == 5
    assert f"[{crowd.sentences.words[task]}" in shown["sentence"][0]
