"""Results: what they say, and that a saved one says the same."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.learning import load_result, train
from crowdcore.learning.training.metrics import accuracy
from tests.learning.helpers import featured_crowd, same_results


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(n_tasks=90)


@pytest.fixture(scope="module")
def result(crowd):
    return train(crowd, "conal", seeds=3, epochs=6, batch_size=16, lr=0.01)


def test_accuracies_are_of_the_epochs_they_name(result, crowd):
    test = result.curves["test_accuracy"]
    s = np.arange(3)
    np.testing.assert_allclose(result.accuracy("test"), test[result.selected_epoch - 1, s], atol=1e-6)
    np.testing.assert_allclose(result.accuracy("test", at="last"), test[-1], atol=1e-6)
    np.testing.assert_allclose(result.accuracy("test", at="best"), test.max(0))
    accuracy_first_then_nll = result.curves["valid_accuracy"] - 1e-6 * result.curves["valid_nll"]
    assert np.array_equal(result.selected_epoch - 1, accuracy_first_then_nll.argmax(0))
    gold = crowd.gold[crowd.split == 2]
    np.testing.assert_allclose(accuracy(result.posterior("test"), gold), result.accuracy("test"))
    assert result.accuracy("train").shape == (3,)
    assert result.scores().accuracy.to_list() == result.accuracy().tolist()
    with pytest.raises(SettingError, match="split"):
        result.accuracy("dev")
    with pytest.raises(SettingError, match="at"):
        result.accuracy("train", at="best")


def test_nothing_selects_when_that_is_asked_for(crowd):
    result = train(crowd, "vanilla", seeds=2, epochs=7, lr=0.05, select_on="none")
    assert result.validated_on == ""
    assert result.selected_epoch.tolist() == result.last_epoch.tolist() == [7, 7]
    assert np.array_equal(result.probabilities["selected"], result.probabilities["last"])
    assert "valid_accuracy" in result.curves


def test_history_is_long(result):
    history = result.history
    assert list(history.columns) == ["seed", "epoch", "split", "metric", "value"]
    loss = history[(history.metric == "loss") & (history.seed == 1)]
    np.testing.assert_allclose(loss.value, result.curves["loss"][:, 1])
    assert set(history.split) == {"train", "valid", "test"}
    assert {"cross_entropy", "distance", "accuracy", "nll"} <= set(history.metric)


def test_omega_is_aligned_with_the_dataset(result, crowd):
    assert result.omega.shape == (3, crowd.n_annotations)
    assert not np.isnan(result.omega).any()


def test_predictions_on_other_tasks(result, crowd):
    features = np.asarray(crowd.features)
    predicted = result.predict_proba(features)
    np.testing.assert_allclose(predicted[:, result.task], result.probabilities["selected"], atol=1e-5)
    np.testing.assert_allclose(
        result.mean_posterior(crowd.n_tasks), predicted.mean(0) / predicted.mean(0).sum(1, keepdims=True), atol=1e-5
    )
    with pytest.raises(SettingError, match="features"):
        result.predict_proba(features[:, :3])
    with pytest.raises(DataError, match="NaN"):
        result.predict_proba(np.full_like(features, np.nan))


def test_save_and_load(tmp_path, crowd):
    """Every method's result is saved in its contract, too."""
    result = train(crowd, "auto", seeds=2, epochs=2, holdout=0.2, select_on="holdout", chosen="dl-em")
    loaded = load_result(result.save(tmp_path / "run"))
    same_results(loaded, result, np.asarray(crowd.features)[:5])
    for path in (tmp_path / "run").iterdir():
        assert path.suffix in {".json", ".parquet", ".safetensors"}
        with pytest.raises(Exception):  # noqa: B017 - whatever it is, it is no pickle
            pickle.loads(path.read_bytes())


def test_loading_what_is_no_result(tmp_path):
    with pytest.raises(DataError, match="no training result"):
        load_result(tmp_path)


def test_no_gold_no_accuracy(crowd):

    blind = train(replace(crowd, gold=None), "vanilla", seeds=1, epochs=1, select_on="none")
    with pytest.raises(DataError, match="no gold labels"):
        blind.accuracy("test")
    assert blind.selected_epoch.tolist() == [1]
