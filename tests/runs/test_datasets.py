from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.data.catalogue import full_name, open_labels
from crowdcore.data.dataset import Media
from crowdcore.data.writers import write_folder
from crowdcore.runs import Run, RunSpec, Workspace, result, store
from tests.learning.helpers import featured_crowd


def test_names_uploads_and_paths(workspace: Workspace, crowd_folder: Path) -> None:
    assert open_labels("demo", accept=True, home=workspace.folder).name == "demo"
    assert open_labels(str(crowd_folder), accept=True, home=workspace.folder).n_tasks == 60
    shutil.copytree(crowd_folder, workspace.folder / "datasets" / "mine")
    assert open_labels("mine", accept=True, home=workspace.folder).n_tasks == 60
    shutil.copytree(crowd_folder, workspace.folder / "datasets" / "demo")
    assert open_labels("demo", accept=True, home=workspace.folder).n_tasks == 60, "what was uploaded comes first"


@pytest.mark.parametrize("name", ["nothing", ".", "..", "", "/nowhere/at/all"])
def test_what_is_not_there_is_a_sentence(workspace: Workspace, name: str) -> None:
    (workspace.folder / "datasets").mkdir()
    with pytest.raises(CrowdError):
        open_labels(name, accept=True, home=workspace.folder)


def test_rows_that_were_left_out_on_acceptance_are_left_out_again(workspace: Workspace, tmp_path: Path) -> None:
    folder = workspace.folder / "datasets" / "mine"
    folder.mkdir(parents=True)
    (folder / "annotations.csv").write_text("task,worker,label\nt1,w1,a\nt1,w2,\nt2,w1,b\n", encoding="utf-8")
    for name in ("mine", str(folder)):
        assert open_labels(name, accept=True, home=workspace.folder).n_annotations == 2


def test_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").touch()
    assert full_name("labelme") == "labelme"
    assert full_name("v1.5") == "v1.5"
    assert full_name("votes.csv") == full_name("./votes.csv") == str(tmp_path / "votes.csv")
    assert full_name("a/../b") == str(tmp_path / "b")


def test_a_run_leaves_out_empty_texts_where_that_was_accepted(
    workspace: Workspace, train: Callable[[Run], int], tmp_path: Path
) -> None:
    crowd = featured_crowd()
    words = [f"{('red', 'green', 'blue')[g]} and more" for g in crowd.gold[:-1]]
    columns = pd.DataFrame({"text": [*words, " "]}, index=range(crowd.n_tasks))
    folder = write_folder(replace(crowd, features=None, media=Media(columns=columns)), tmp_path / "texts")
    spec = RunSpec(dataset=str(folder), method="dl-mv", settings={"epochs": 2}, device="cpu")
    for accept in (False, True):
        run = store.create(spec.model_copy(update={"accept": accept}), workspace=workspace)
        train(run)
        ended = store.get_run(run.id, workspace=workspace)
        if accept:
            kept = result(run.id, workspace=workspace)
            assert "Left out: 1 of 60 tasks" in " ".join(kept.notes) and len(kept.task) == 59
        else:
            assert ended.state == "failed" and "the text is empty" in ended.message
