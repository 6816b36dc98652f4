"""With names hidden, nothing that the app sends, offers for download or logs reveals a name or a further column."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest, local_script_runner

from crowdcore import load_dataset
from crowdcore.exhibits.view import worker_names
from dashboard.services import uploads
from testkit.named_crowd import NAME, SIDE, addresses, names_in, record_named_crowd, written
from tests.dashboard.app_page import open_page

SLOW = "train"  # waits for torch, and names no worker; `python -m benchmarks.names` opens it too


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("named")


@pytest.fixture(scope="module")
def runs(home: Path) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        (home / "found").mkdir()
        (home / "workspace").mkdir()
        return record_named_crowd(home / "found", home / "workspace")


@pytest.fixture
def named(home: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The app has the crowd, and these runs on it."""
    monkeypatch.setenv("CROWDCORE_DATA", str(home / "found"))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(home / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("crowdcore.runs.report.drawing_fault", lambda: "SVG takes seconds")
    monkeypatch.setattr("dashboard.services.runs.model_kinds", dict)  # invented runs hold no network
    return runs


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Everything that the last run of a page sent to the browser, and every file it offered."""
    contents: dict[str, bytes] = {}
    parse, button = local_script_runner.parse_tree_from_messages, st.download_button

    def noted(messages: list[Any]) -> Any:
        contents["page"] = b"\n".join(message.SerializeToString() for message in messages)
        return parse(messages)

    def offered(label: str, data: Any, file: str, *rest: Any, **options: Any) -> Any:
        contents[f"{label} {options.get('key')}"] = file.encode() + b"\n" + data()
        return button(label, data, file, *rest, **options)

    monkeypatch.setattr(local_script_runner, "parse_tree_from_messages", noted)
    monkeypatch.setattr(st, "download_button", offered)
    return contents


def leaks(sent: dict[str, bytes]) -> dict[str, list[str]]:
    """Place -> names that it reveals."""
    return {place: names for place, content in sent.items() if (names := names_in(content))}


def toggle(test: AppTest, label: str) -> AppTest:
    switch = next(t for t in test.toggle if t.label == label)
    return switch.set_value(not switch.value).run()


def test_no_page_download_or_log_tells_a_name(
    named: list[str], sent: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for page, address in addresses("named", named):
        if page != SLOW:
            sent.clear()
            test = open_page(page, **address)
            assert not [error.value for error in test.error], (page, address)
            assert not leaks(sent)
    assert not names_in(caplog.text.encode())


def test_the_crawler_sees_names_where_they_are_shown(named: list[str], sent: dict[str, bytes]) -> None:
    open_page("overview", dataset="named", names="shown", view="Numbers")
    assert f"{NAME}03" in names_in(sent["page"]), "in the notes"
    assert f"{NAME}07" in names_in(sent["CSV data-annotations-per-worker"])


def test_an_address_follows_the_switch(named: list[str]) -> None:
    crowd = load_dataset("named")
    hidden = dict(zip(worker_names(crowd, False), worker_names(crowd, True), strict=True))
    test = open_page("annotators", dataset="named", view="One worker", worker=f"{NAME}02", names="hidden")
    assert test.query_params["worker"] == hidden[f"{NAME}02"]
    assert test.selectbox(key="annotators-worker").value == hidden[f"{NAME}02"]
    toggle(test, "Hide worker names")
    assert test.query_params["worker"] == f"{NAME}02"
    assert test.selectbox(key="annotators-worker").value == f"{NAME}02"
    picked = test.selectbox(key="annotators-worker").options
    toggle(test, "Hide worker names")
    assert picked == sorted(hidden)
    assert test.selectbox(key="annotators-worker").options == sorted(hidden.values())


def test_an_upload_hides_names_and_further_columns_until_told_otherwise(sent: dict[str, bytes]) -> None:
    imported = uploads.examine(uploads.receive("votes.csv", io.BytesIO(written())), ())
    assert not isinstance(imported, tuple)
    name = uploads.accept(imported)
    for page, address in [one for one in addresses(name, []) if one[0] in {"overview", "tasks"}]:
        sent.clear()
        open_page(page, **{key: value for key, value in address.items() if key != "names"})
        assert not leaks(sent)
    test = open_page("tasks", dataset=name, task="t00007", names="shown")
    text = " ".join(names_in(*sent.values()))
    assert NAME in text
    assert SIDE not in text
    toggle(test, "Show further columns")
    assert SIDE in " ".join(names_in(sent["page"]))
    assert SIDE in " ".join(names_in(sent["CSV csv-labels"]))
    toggle(test, "Hide worker names")
    assert NAME not in " ".join(names_in(*sent.values()))
    toggle(test, "Show further columns")
    assert not names_in(*sent.values())
