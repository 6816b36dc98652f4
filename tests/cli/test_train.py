"""`crowdcore train`, by a method or by a preset."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdcore import runs
from crowdcore.data.rows import Rows
from crowdcore.data.writers import write_folder
from crowdcore.learning import presets, trials
from tests.learning.helpers import featured_crowd
from tests.rated_crowd import rated_folder
from tests.runs.conftest import crowd_folder, make, workspace  # noqa: F401

SHORT = ("--epochs", 1, "--device", "cpu", "--set", 'backbone_settings={"hidden": 8}')


def test_presets_are_listed(run: Callable[..., Any]) -> None:
    done = run("train", "--presets")
    assert done.code == 0
    for name in presets.PRESETS:
        assert name in done.out


def test_a_preset_trains_each_of_its_rows_and_keeps_them_apart(
    crowdcore: Callable[..., Any],
    crowd_folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    out = tmp_path / "kept"
    found = crowdcore("train", crowd_folder, "--preset", "labelme-table-3", *SHORT, "--seeds", 2, "--out", out)
    assert [row["method"] for row in found] == ["crowd-layer", "crowd-layer-over", "conal"]
    assert [len(row["seeds"]) for row in found] == [2, 2, 2]
    assert {folder.name for folder in out.iterdir()} == {"crowd-layer", "crowd-layer-over", "conal"}
    kept = json.loads(next((out / "conal").glob("*.json")).read_text())
    assert kept["training"]["schedule"] == "cosine"
    assert kept["training"]["epochs"] == 1


def test_a_preset_in_the_background_is_a_run_for_each_row(
    crowdcore: Callable[..., Any],
    crowd_folder: Path,  # noqa: F811
    monkeypatch,
    workspace,  # noqa: F811
) -> None:
    monkeypatch.setattr(runs, "submit", runs.store.create, raising=False)
    crowdcore("runs", "start", crowd_folder, "--preset", "labelme-table-2")
    found = runs.list_runs()
    assert sorted(run.spec.settings["regularisation"] for run in found) == [0.0, 1e-6, 1e-5, 1e-4]
    assert {run.spec.seeds for run in found} == {(0, 1, 2, 3, 4)}
    assert len({run.spec.group for run in found}) == 1


def test_what_does_not_fit_together_is_refused(refused: Callable[..., str]) -> None:
    assert refused("train", "--preset", "labelme-tabel").argument == "preset"
    assert refused("train", "demo", "--preset", "labelme-table", "-m", "conal").argument == "--method"
    assert refused("train").argument == "DATASET"


def test_labels_that_are_numbers_are_trained_on_by_the_same_command(crowdcore, refused, tmp_path):
    folder = rated_folder(tmp_path / "rated")
    asked = ("train", folder, "--seeds", 2, "--epochs", 2, "--set", "connection=b")
    found = crowdcore(*asked)
    assert found["method"] == "crowd-layer (b)" and [row["epoch"] for row in found["errors"]] == [
        *("selected", "last", "best")
    ]
    for _ in range(2):  # the second goes on from the first one's last checkpoint
        again = crowdcore("ratings", *asked, "--checkpoint", tmp_path / "kept")
        assert again["errors"] == found["errors"] and any((tmp_path / "kept").rglob("*.safetensors"))
    assert "for ratings" in str(refused("train", folder, "--method", "conal"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.full(6, 3), None),
        (np.full(6, np.nan), "Fill or drop them first."),
        (np.full(6, np.inf), "Fill or drop them first."),
        (np.zeros(0), "cannot be read"),
    ],
    ids=["the same for all", "NaN", "infinite", "none at all"],
)
def test_auto_has_a_result_or_one_line_on_odd_features(value, said, crowdcore, refused, monkeypatch, tmp_path):
    monkeypatch.setattr(trials, "FOLDS", 2)
    monkeypatch.setattr(trials, "REPLICAS", 1)
    crowd = featured_crowd()
    features = np.tile(value, (crowd.n_tasks, 1)).astype(np.float32)
    folder = write_folder(replace(crowd, features=Rows.from_array(features)), tmp_path / "odd")
    asked = ("train", folder, "--method", "auto", "--seeds", 1, *SHORT, "--set", "select_on=none")
    if said:
        assert said in str(refused(*asked))
    else:
        found = crowdcore(*asked)
        assert found["method"] == "auto" and 0 <= found["selected_mean"] <= 1
