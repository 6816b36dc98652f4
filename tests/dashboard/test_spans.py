"""The pages of a crowd that tags tokens."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from crowdcore import exhibits
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
    assert not test.error
    assert "Boundary errors" in words(test) and "20 sentences" in words(test) and "infers" not in words(test)
    assert table(test, "starts early")["type"].tolist() == ["LOC", "PER"]
    other = open_page("spans", dataset="demo")
    assert not other.error and "demo are classes" in words(other)


def test_what_a_page_waits_for_is_on_screen(crowd, tmp_path, monkeypatch):
    write_folder(replace(crowd, gold=None), tmp_path / "found" / "ungolded")
    monkeypatch.setattr(st, "spinner", spinner := MagicMock())
    assert "True spans are what auto infers" in words(open_page("spans", dataset="ungolded"))
    assert any("with auto" in call.args[0] for call in spinner.call_args_list)


def test_labels_begin_with_auto_and_a_table_shows_no_empty_column():
    [aggregators] = [box for box in open_page("aggregate", dataset="tagged").multiselect if box.label == "Aggregators"]
    assert aggregators.value[0] == "auto"
    pairs = table(open_page("annotators", dataset="tagged", view="Together"), "wrong_alike")
    assert "agreed" in pairs and "adjusted p" not in pairs, "which is tested for no pair of workers who tag"


def test_a_task_shows_its_sentence_with_the_spans_of_every_worker(crowd):
    task = int((crowd.gold == 1).argmax())
    test = open_page("tasks", dataset="tagged", task=str(crowd.task_ids[task]))
    assert not test.error
    assert crowd.sentences.words[task] in test.title[0].value
    shown = table(test, "tagged by")
    assert shown["tagged by"][0] == "gold" and len(shown) == 5
    assert f"[{crowd.sentences.words[task]}" in shown["sentence"][0]


def test_a_task_leads_to_the_sentences_beside_its_own(crowd):
    first, last = (crowd.sentences.start[s] for s in (1, -2))
    beside = exhibits.tasks.sentences_beside(crowd, str(crowd.task_ids[first + 1]))
    assert beside == tuple(str(crowd.task_ids[crowd.sentences.start[s]]) for s in (0, 2))
    assert exhibits.tasks.sentences_beside(crowd, str(crowd.task_ids[0]))[0] == ""
    assert exhibits.tasks.sentences_beside(crowd, str(crowd.task_ids[last]))[1] == ""
    untagged = crowd.where(crowd.sentences.of_task[crowd.task] != 1)
    assert exhibits.tasks.sentences_beside(untagged, str(crowd.task_ids[0]))[1] == beside[1]
    test = open_page("tasks", dataset="tagged", task=str(crowd.task_ids[first]))
    assert not test.error
    assert {"Previous sentence", "Next sentence"} <= {link.label for link in test.get("page_link")}


def test_next_labels_name_the_word_and_say_that_sentences_are_tagged_whole():
    test = open_page("next", dataset="tagged")
    assert not test.error
    assert "word" in table(test, "task") and "whole sentence" in words(test)


def test_a_column_of_tags_is_not_taken_for_rounds(crowd, tmp_path):
    tags = pd.DataFrame({"typed": np.array(crowd.classes, object)[crowd.label]})
    write_folder(replace(crowd, extra=tags), tmp_path / "found" / "typed")
    test = open_page("rounds", dataset="typed")
    assert not test.error
    test = open_page("rounds", dataset="typed", by="typed")
    assert not test.error
    assert "Which labels are of the second round?" in words(test)
    [values] = [box.options for box in test.selectbox if box.label == "Value of typed"]
    assert set(values) <= set(crowd.classes) and len(values) > 2
