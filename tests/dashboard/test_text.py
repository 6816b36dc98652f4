from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from dashboard.components.text import as_text, count, listed, number, percent


@given(st.text())
def test_nothing_is_left_that_markdown_reads(text: str) -> None:
    shown = as_text(text)
    assert not re.search(r"(?<!\\)(\\\\)*[*_`\[\]<>#$|~&!(){}:+-]", re.sub(r"\\[^A-Za-z0-9\s]", "", shown))
    assert "\n" not in shown


@given(st.text())
def test_unescaping_gives_the_words_back(text: str) -> None:
    plain = re.sub(r"\\([^A-Za-z0-9\s])", r"\1", as_text(text)).replace("\u2060", "")
    assert plain == " ".join(text.split()).replace("\u2060", "")


@pytest.mark.parametrize(
    "text", [":material_home:", "www.example.com", "http://a.b", "me@b.com", "a -> b", "<- a", "a--b"]
)
def test_what_streamlit_rewrites_late_is_broken_up(text: str) -> None:
    assert "\u2060" in as_text(text)


def test_a_list_has_a_line_for_each_item() -> None:
    assert listed("Two faults", ["a_b", "c"], "Correct them.") == "Two faults:\n\n- a\\_b\n- c\n\nCorrect them\\."


def test_numbers() -> None:
    assert count(1, "worker") == "1 worker"
    assert count(36, "worker") == "36 workers"
    assert count(2547, "annotation") == "2,547 annotations"
    assert count(0, "class", "classes") == "0 classes"
    assert percent(0.6101695) == "61.0 %"
    assert percent(float("nan")) == "–"
    assert number(1.11624) == "1.116"
    assert number(float("nan")) == "–"
