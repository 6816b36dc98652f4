"""The app around the pages."""

from __future__ import annotations

from types import ModuleType

from _plotly_utils import basevalidators

from tests.dashboard.app_page import open_page


def test_a_session_that_begins_while_another_one_imports_pandas(monkeypatch):
    asked = []

    def half_of_it(name: str, should_load: bool = True) -> ModuleType:
        asked.append(name)
        return ModuleType(name)

    monkeypatch.setattr(basevalidators, "get_module", half_of_it)
    test = open_page("glossary", dataset="demo")
    assert "pandas" in asked
    assert not test.exception
    assert [title.value for title in test.title] == ["Glossary"]
