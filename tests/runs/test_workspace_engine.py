"""The engine of a workspace that is moved or deleted while a run goes on, with real processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crowdcore import runs
from crowdcore.runs import Workspace
from testkit.on_engine import LONG, processes, spec, until, workspace_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),  # MLflow's own use of SQLAlchemy
]


def deleted(folder: Path) -> bool:
    """Delete a folder, also while a run writes into it: ``rmtree`` stops at files that appear meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_an_engine_ends_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    with workspace_at(tmp_path / "old") as old:
        run = runs.submit(spec(LONG), workspace=old)

        def reached(place: Workspace, epoch: int) -> bool:
            runs.engine_state(workspace=place)  # as any page does
            now = runs.get_run(run.id, workspace=place)
            assert not now.has_ended, now.message
            return now.state == "running" and now.epoch >= epoch

        until(lambda: reached(old, 6), 150, "the run is in its sixth epoch")
        (tmp_path / "old").rename(tmp_path / "new")
        until(lambda: not processes(old), 60, "the engine ends with all that it started")
        assert not (tmp_path / "old").exists()
        assert "was deleted or moved" in (tmp_path / "new" / "engine" / "engine.log").read_text()

        new = Workspace.open(tmp_path / "new")
        try:
            until(lambda: reached(new, 7), 150, "the run goes on at the new place")
            assert not (tmp_path / "old").exists()
            until(lambda: deleted(tmp_path / "new"), 60, "nothing more is written into the folder")
            until(lambda: not processes(new), 60, "the engine ends with all that it started")
            assert runs.engine_state(workspace=new).address is None
            assert not (tmp_path / "new").exists(), sorted((tmp_path / "new").rglob("*"))
        finally:
            runs.stop_engine(workspace=new)
