"""A workspace of its own and empty caches for every test of the app."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner

from crowdcore import runs
from crowdcore.data.rows import Rows
from crowdcore.data.writers import write_folder
from crowdcore.runs import Estimate, Workspace, store
from crowdcore.runs.record import make_database
from dashboard.services import train
from testkit.crowds import simulate_crowd

if TYPE_CHECKING:
    from tests.dashboard.compared_runs import Recorded


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_up_once() -> Iterator[None]:
    """Look up components once: a server does so at its start, a test would with every page it opens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's workspace; no cache survives a test, and no trial trains to estimate a run's cost."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setattr("dashboard.services.opening._FRESH", 0.0)
    monkeypatch.setattr(runs, "estimate", lambda *_: Estimate(61.0, 3 * 10**9, "By a test."), raising=False)
    monkeypatch.setattr(train, "_SETTLED", 0.0)
    st.cache_resource.clear()
    return tmp_path / "workspace"


@pytest.fixture
def trainable_crowd(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd with features and one without; runs are recorded, but no engine takes them."""
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    make_database(Workspace.open())
    features = tmp_path / "features.npy"
    np.save(features, np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32))
    crowd = simulate_crowd()
    rows = Rows((features,), np.zeros(300, np.int8), np.arange(300))
    write_folder(replace(crowd, features=rows, name="crowd"), folder / "crowd")
    write_folder(replace(crowd, name="bare"), folder / "bare")
    monkeypatch.setattr(runs, "submit", store.create, raising=False)
    monkeypatch.setattr("crowdcore.runs.searching.submit", store.create)


@pytest.fixture(scope="session")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Finished runs on a crowd with known truth, recorded once per session."""
    from tests.dashboard.recovered_crowd import record_runs

    return record_runs(tmp_path_factory.mktemp("recovered"))


@pytest.fixture
def study(recovered: SimpleNamespace, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Show the recorded runs to the app, with the methods' recoveries looked up without torch."""
    from tests.dashboard.recovered_crowd import ABLE

    monkeypatch.setenv("CROWDCORE_DATA", str(recovered.home / "found"))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(recovered.home / "workspace"))
    able = lambda part: [name for name in ABLE if part in ABLE[name]]  # noqa: E731
    monkeypatch.setattr("crowdcore.learning.learners.recovering", able)
    return recovered


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Finished runs to compare, recorded once."""
    from tests.dashboard.compared_runs import Recorded

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return Recorded(tmp_path_factory.mktemp("compared"))


@pytest.fixture
def recorded(compared: Recorded, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """Show the runs recorded for comparison to the app."""
    monkeypatch.setenv("CROWDCORE_DATA", str(compared.datasets))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(compared.workspace))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield compared
    st.cache_resource.clear()
