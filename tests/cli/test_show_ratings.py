"""`crowdcore show` of labels that are numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdcore.data import read_ratings
from crowdcore.data.kinds import KindError
from crowdcore.learning import train_ratings
from testkit.recorded_runs import record
from tests.rated_crowd import rated_folder


def test_exhibits_of_runs_on_ratings_and_refusals_of_others(crowdcore, refused, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    folder = rated_folder(tmp_path / "rated")
    crowd = read_ratings(folder)
    fast = {"epochs": 2, "backbone_settings": {"hidden": 8}, "device": "cpu"}
    result = train_ratings(crowd, "crowd-layer", seeds=2, **fast)
    run = record(tmp_path / "workspace", result, crowd)
    found = crowdcore("show", "rating-errors", folder, "--run", run)
    assert found["table"][0]["RMSE"] == pytest.approx(result.score("rmse").mean())
    hidden = crowdcore("show", "rating-biases", folder, "--run", run, "--hide-names")
    assert {row["worker"] for row in hidden["table"]}.isdisjoint(crowd.worker_ids)
    assert isinstance(refused("show", "shared-mistakes", folder), KindError)
    assert isinstance(refused("show", "rating-errors", "demo", "--run", run), KindError)
