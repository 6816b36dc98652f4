from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.runs import Workspace
from crowdcore.runs.datasets import open_dataset, spelled


def test_names_uploads_and_paths(workspace: Workspace, crowd_folder: Path) -> None:
    assert open_dataset("demo", workspace).name == "demo"
    assert open_dataset(str(crowd_folder), workspace).n_tasks == 60
    shutil.copytree(crowd_folder, workspace.folder / "datasets" / "mine")
    assert open_dataset("mine", workspace).n_tasks == 60
    shutil.copytree(crowd_folder, workspace.folder / "datasets" / "demo")
    assert open_dataset("demo", workspace).n_tasks == 60, "what was uploaded comes first"


@pytest.mark.parametrize("name", ["nothing", ".", "..", "", "/nowhere/at/all"])
def test_what_is_not_there_is_a_sentence(workspace: Workspace, name: str) -> None:
    (workspace.folder / "datasets").mkdir()
    with pytest.raises(CrowdError):
        open_dataset(name, workspace)


def test_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").touch()
    assert spelled("labelme") == "labelme"
    assert spelled("v1.5") == "v1.5"
    assert spelled("votes.csv") == spelled("./votes.csv") == str(tmp_path / "votes.csv")
    assert spelled("a/../b") == str(tmp_path / "b")
