"""A page of the app in-process, opened by its address, and its text."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT


def open_page(name: str, **address: str | list[str]) -> AppTest:
    """The page of ``dashboard/views`` at an address, in a session of its own, drawn without a fault."""
    test = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    if name == "mistakes":  # Streamlit knows a page whose address is not its file's name after a first run
        test.run()
    test.switch_page(f"views/{name}.py")
    test.query_params.clear()
    for key, value in address.items():
        test.query_params[key] = value
    test.run()
    assert not test.exception
    return test


def words(test: AppTest) -> str:
    """All sentences of the page, without the marks that keep names from being read as Markdown."""
    kinds = (
        test.title,
        test.header,
        test.subheader,
        test.markdown,
        test.caption,
        test.error,
        test.warning,
        test.info,
        test.code,
    )
    values = [str(part.value) for kind in kinds for part in kind]
    return "\n".join(values).replace("\\", "").replace("\u2060", "")


def button(test: AppTest, label: str) -> Any:
    return next(b for b in test.button if b.label == label)


def field(test: AppTest, label: str) -> Any:
    return next(f for f in (*test.number_input, *test.selectbox, *test.multiselect) if f.label == label)


def table(test: AppTest, column: str) -> Any:
    """The first table that has this column."""
    return next(frame.value for frame in test.dataframe if column in frame.value.columns)
