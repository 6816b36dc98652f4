from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from crowdcore.core.errors import DataError
from crowdcore.runs import Workspace

ID = "0" * 32


def test_the_environment_names_folder_and_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CROWDCORE_WORKSPACE", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert Workspace.open().folder == tmp_path / "workspace"
    assert Workspace.open().database == tmp_path / "workspace" / "mlflow.db"
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "other"))
    assert Workspace.open().folder == tmp_path / "other"
    assert Workspace.open("here").folder == tmp_path / "here"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server:5000")
    assert Workspace.open() == Workspace(tmp_path / "other", "http://server:5000")
    assert Workspace.open().database is None
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/x.db")
    assert Workspace.open().tracking_uri.endswith("x.db?timeout=3")


def test_a_child_process_opens_the_same_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    opened = Workspace.open(tmp_path)
    for name, value in opened.environment.items():
        monkeypatch.setenv(name, value)
    assert Workspace.open() == opened


@given(st.text() | st.sampled_from(["..", "../..", "/etc", ID + "/..", ID.upper().replace("0", "A"), ID + "\n"]))
def test_nothing_but_an_id_becomes_a_path(text: str) -> None:
    with pytest.raises(DataError, match="There is no run"):
        Workspace(Path("/w"), "").run_folder(text)


def test_cancel_is_asked_for_and_taken_back(tmp_path: Path) -> None:
    place = Workspace(tmp_path, "")
    assert not place.cancel_requested(ID)
    place.request_cancel(ID)
    assert place.cancel_requested(ID)
    place.forget_cancel(ID)
    place.forget_cancel(ID)
    assert not place.cancel_requested(ID)
