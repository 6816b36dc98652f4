"""With names hidden, nothing that the app sends, offers for download or logs holds a worker's name or an extra column."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import local_script_runner

from tests.dashboard.app_page import open_page
from tests.dashboard.named_crowd import addresses, names_in, record_named_crowd


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("named")


@pytest.fixture(scope="module")
def runs(home: Path) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        (home / "found").mkdir()
        return record_named_crowd(home / "found", home / "workspace")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """All that a page has sent to the browser, and the content of each of its downloads, by the button's label."""
    found: dict[str, bytes] = {}
    parse, button = local_script_runner.parse_tree_from_messages, st.download_button

    def noted(messages: list[Any]) -> Any:
        found["page"] = b"\n".join(message.SerializeToString() for message in messages)
        return parse(messages)

    def offered(label: str, data: Any, file: str, *arguments: Any, **options: Any) -> Any:
        found[f"download {label} {file} {options.get('key')}"] = file.encode() + b"\n" + data()
        return button(label, data, file, *arguments, **options)

    monkeypatch.setattr(local_script_runner, "parse_tree_from_messages", noted)
    monkeypatch.setattr(st, "download_button", offered)
    yield found


def test_no_page_or_download_shows_a_name(
    home: Path, runs: list[str], sent: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setenv("CROWDCORE_DATA", str(home / "found"))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(home / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("dashboard.services.report.drawing_fault", lambda: "SVG takes long")
    caplog.set_level(logging.WARNING)
    leaks = []
    for page, address in addresses("named", runs):
        sent.clear()
        import time; t0 = time.time()
        test = open_page(page, **address)
        print(page, address.get("view"), round(time.time() - t0, 2), {k: len(v) for k, v in sent.items()}, [e.value for e in test.error])
        leaks += [(page, address.get("view", address), place, names_in(content)) for place, content in sent.items() if names_in(content)]
    for l in leaks: print(*l)
    assert not leaks
    assert not names_in(caplog.text.encode())
