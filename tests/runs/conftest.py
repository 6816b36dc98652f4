"""A workspace whose record is made once per session, and a small dataset on disk."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crowdcore.data.writers import write_folder
from crowdcore.runs import Run, RunSpec, Workspace, engine, store, train_process
from crowdcore.runs.record import make_database
from tests.learning.helpers import featured_crowd


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    opened = Workspace.open()
    make_database(opened)
    return opened


@pytest.fixture
def crowd_folder(tmp_path: Path) -> Path:
    """60 tasks with 6 features, 5 workers, 3 classes, in our format."""
    (tmp_path / "data").mkdir()
    return write_folder(featured_crowd(), tmp_path / "data" / "small")


@pytest.fixture
def make(workspace: Workspace, crowd_folder: Path) -> Callable[..., Run]:
    """``make("conal", epochs=4, seeds=(0, 1))`` records a run on the small dataset."""

    def create(method: str = "crowd-layer", seeds: tuple[int, ...] = (0, 1), **settings: Any) -> Run:
        given = {"epochs": 3, "backbone_settings": {"hidden": 8}} | settings
        spec = RunSpec(dataset=str(crowd_folder), method=method, settings=given, seeds=seeds, device="cpu")
        return store.create(spec, workspace=workspace)

    return create


@pytest.fixture
def train(workspace: Workspace) -> Iterator[Callable[[Run], int]]:
    """``train(run)`` trains in this process instead of a child; returns the exit code."""
    before = signal.getsignal(signal.SIGTERM)
    yield lambda run: train_process.work(workspace, run.id)
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> list[Workspace]:
    """Start nothing; return the workspaces whose engine would have started."""
    workspaces: list[Workspace] = []
    monkeypatch.setattr(engine, "ensure_engine", lambda *, workspace: workspaces.append(workspace))
    return workspaces
