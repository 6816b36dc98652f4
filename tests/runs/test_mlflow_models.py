"""A trained classifier is a model of MLflow, and exhibits are artefacts of one's own run."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import exhibits

pytestmark = pytest.mark.filterwarnings("ignore")  # what MLflow says of itself


@pytest.fixture(scope="module")
def mlflow():
    return pytest.importorskip("mlflow", reason="MLflow is not installed")


@pytest.fixture(scope="module")
def trained():
    return cc.learning.train("demo", "dl-mv", seeds=2, epochs=1)


@pytest.fixture(scope="module")
def rows():
    return np.asarray(cc.load_dataset("demo").features[:20], np.float32)


def test_a_saved_model_predicts_as_the_result_does(mlflow, trained, rows, tmp_path) -> None:
    model = mlflow.pyfunc.load_model(str(cc.runs.save_mlflow_model(trained, tmp_path / "model")))
    expected = trained.predict_proba(rows).mean(0)
    for given in (rows, pd.DataFrame(rows)):
        predicted = model.predict(given)
        np.testing.assert_allclose(predicted.drop(columns="label"), expected, atol=1e-6)
        assert list(predicted["label"]) == [trained.classes[c] for c in expected.argmax(1)]
    assert model.metadata.signature.inputs.inputs[0].shape == (-1, rows.shape[1])
    assert not list((tmp_path / "model").rglob("*.pkl"))
    with pytest.raises(Exception, match="shape"):
        model.predict(rows[:, :5])


def test_model_tables_and_figures_go_into_ones_own_run(mlflow, trained, rows, tmp_path) -> None:
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'own.db'}")
    try:
        mlflow.create_experiment("own", artifact_location=(tmp_path / "own").as_uri())
        mlflow.set_experiment("own")
        with mlflow.start_run() as run:
            info = cc.runs.log_mlflow_model(trained)
            shown = exhibits.mistakes.shared_mistakes(exhibits.view(cc.load_dataset("demo"), "gold"))
            written = cc.runs.log_exhibits(shown)
        predicted = mlflow.pyfunc.load_model(info.model_uri).predict(rows)
        assert len(predicted) == len(rows)
        assert written == ["shared-mistakes.json", "shared-mistakes.html"]
        table = mlflow.load_table("shared-mistakes.json", run_ids=[run.info.run_id])
        assert {"true", "given", "percent"} <= set(table)
        figure = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/shared-mistakes.html")
        assert "plotly" in figure and json.dumps("seven") in figure
    finally:
        mlflow.set_tracking_uri(before)
