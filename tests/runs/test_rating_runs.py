"""Runs on crowds whose labels are numbers: the same engine, errors instead of accuracies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import read_ratings
from crowdcore.data.catalogue import open_labels
from crowdcore.data.settings import need_classes
from crowdcore.learning import RatingsResult, train_ratings
from crowdcore.runs import (
    Run,
    RunSpec,
    Workspace,
    curves,
    estimation,
    get_run,
    learnt,
    predictions,
    result,
    store,
)
from crowdcore.runs.locks import Ending
from tests.rated_crowd import rated_folder

FAILED, FINISHED = Ending.FAILED.code, Ending.FINISHED.code

FAST = {"epochs": 4, "backbone_settings": {"hidden": 8}, "connection": "b"}
Train = Callable[[Run], int]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return rated_folder(tmp_path / "rated")


def asked(folder: Path, workspace: Workspace, method: str = "crowd-layer", **settings: object) -> Run:
    spec = RunSpec(dataset=str(folder), method=method, settings=settings or FAST, seeds=(0, 2), device="cpu")
    return store.create(spec, workspace=workspace)


def test_a_run_comes_to_what_training_comes_to(folder: Path, workspace: Workspace, train: Train) -> None:
    run = asked(folder, workspace)
    assert train(run) == FINISHED
    expected = train_ratings(read_ratings(folder), "crowd-layer", seeds=(0, 2), device="cpu", **FAST)
    record, kept = get_run(run.id), learnt(run.id)
    assert isinstance(kept, RatingsResult)
    np.testing.assert_array_equal(kept.predictions["selected"], expected.predictions["selected"])
    for at in ("selected", "last", "best"):
        for measure in ("mae", "rmse", "r2"):
            reached = expected.score(measure, at=at)
            assert record.scores[f"test_{measure}_{at}"] == pytest.approx(reached.mean())
            assert record.scores[f"test_{measure}_{at}_std"] == pytest.approx(reached.std(ddof=1))
    assert "test_accuracy_selected" not in record.scores
    assert record.parameters["connection"] == "b" and record.validated_on == expected.validated_on
    np.testing.assert_allclose(curves(run.id, ["test_rmse"])["mean"], expected.curves["test_rmse"].mean(1))
    table = predictions(run.id)
    test = table["split"] == "test"
    mean = expected.predictions["selected"][:, expected.split == 2].mean(0)
    np.testing.assert_allclose(table.loc[test, "rating"], mean)
    assert kept.versions["crowdcore"] and kept.annotations_per_second > 0


def test_what_is_about_classes_refuses_in_a_sentence(folder: Path, workspace: Workspace, train: Train) -> None:
    run = asked(folder, workspace, "dl-mean", epochs=1)
    assert train(run) == FINISHED
    with pytest.raises(DataError, match="learnt from ratings"):
        result(run.id)
    with pytest.raises(DataError, match="numbers"):
        need_classes(open_labels(str(folder), accept=True, home=workspace.folder))
    wrong = asked(folder, workspace, "conal", epochs=1)
    assert train(wrong) == FAILED
    assert "crowd-layer" in get_run(wrong.id).message


def test_a_trial_tells_how_long_a_run_takes(folder: Path) -> None:
    cost = estimation.measure(read_ratings(folder), "crowd-layer", FAST, 2, "cpu")
    assert cost["seconds_per_epoch"] > 0 and cost["bytes"] > 0 and cost["share"] == 1
