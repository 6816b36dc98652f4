"""Training on ratings: it learns, finds planted biases, keeps what it found, and refuses what cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdcore.analysis import rating_biases
from crowdcore.core.errors import DataError, SettingError
from crowdcore.exhibits.ratings import rating_biases as exhibit
from crowdcore.learning import RatingsResult, compare_ratings, load_ratings_result, train_ratings
from crowdcore.learning.ratings.methods import METHODS
from tests.learning.ratings.crowd import rated_crowd

CROWD, BIAS = rated_crowd()
FAST: dict[str, Any] = {"epochs": 40, "lr": 3e-3, "backbone": "linear"}


@pytest.fixture(scope="module")
def layer() -> RatingsResult:
    return train_ratings(CROWD, "crowd-layer", seeds=2, **FAST)


@pytest.mark.parametrize("name", METHODS)
def test_it_learns(name: str) -> None:
    result = train_ratings(CROWD, name, seeds=1, **FAST)
    curve = result.curves["test_rmse"][:, 0]
    assert curve[-1] < 0.6 * curve[0]
    assert result.score("r2")[0] > 0.5
    assert result.score("rmse", at="best")[0] == pytest.approx(curve.min())


def test_planted_biases_are_found(layer: RatingsResult) -> None:
    found = rating_biases(CROWD, layer.workers["selected"]["bias"])
    assert (found.correlation > 0.98).all()
    np.testing.assert_allclose(np.diff(layer.workers["last"]["bias"][0]), np.diff(BIAS), atol=0.5)
    both = train_ratings(CROWD, "crowd-layer", connection="s+b", seeds=1, **FAST)
    assert rating_biases(CROWD, both.workers["selected"]["bias"]).mean_correlation > 0.98


def test_noisy_workers_are_found() -> None:
    rng = np.random.default_rng(0)
    noise = np.where(CROWD.worker == 3, 4.0, 0.0) * rng.standard_normal(CROWD.n_annotations)
    honest = CROWD.rating - BIAS[CROWD.worker]
    noisy = replace(CROWD, rating=np.clip(honest + noise, -10, 30))
    result = train_ratings(noisy, "dl-em", seeds=1, **FAST)
    assert result.workers["selected"]["noise"][0].argmax() == 3


def test_scores_and_biases_are_those_of_numpy(layer: RatingsResult) -> None:
    rows = layer.split == 2
    z, mu = layer.gold[rows], layer.predictions["selected"][:, rows]
    np.testing.assert_allclose(layer.score("mae"), np.abs(mu - z).mean(1))
    np.testing.assert_allclose(layer.score("r2"), 1 - ((mu - z) ** 2).sum(1) / ((z - z.mean()) ** 2).sum())
    epoch = layer.selected_epoch[1] - 1
    np.testing.assert_allclose(layer.curves["test_rmse"][epoch, 1], layer.score("rmse")[1])
    assert layer.curves["valid_rmse"][epoch, 1] == layer.curves["valid_rmse"][:, 1].min()
    error = CROWD.rating - CROWD.gold[CROWD.task]
    table = rating_biases(CROWD, layer.workers["selected"]["bias"]).frame().set_index("worker")
    for r in range(CROWD.n_workers):
        assert table.loc[f"w{r}", "true"] == pytest.approx(error[CROWD.worker == r].mean())


def test_seeds_do_not_meet_and_selection_by_the_crowd(layer: RatingsResult) -> None:
    alone = train_ratings(CROWD, "crowd-layer", seeds=[1], **FAST)
    np.testing.assert_allclose(alone.predictions["last"][0], layer.predictions["last"][1], rtol=1e-4)
    unknown = replace(CROWD, gold=np.where(CROWD.split == 2, CROWD.gold, np.nan))
    result = train_ratings(unknown, "dl-mean", seeds=1, **FAST)
    assert result.validated_on == "mean ratings of 30 training tasks held out (seed 0)"
    with pytest.raises(DataError, match="dl-true"):
        train_ratings(unknown, "dl-true", **FAST)
    with pytest.raises(DataError, match="True biases"):
        rating_biases(unknown, layer.workers["last"]["bias"])


def test_a_result_is_kept(layer: RatingsResult, tmp_path) -> None:
    again = load_ratings_result(layer.save(tmp_path / "kept"))
    assert repr(again) == repr(layer)
    assert again.history.equals(layer.history)
    np.testing.assert_array_equal(again.workers["last"]["bias"], layer.workers["last"]["bias"])
    np.testing.assert_array_equal(again.score("mae", at="best"), layer.score("mae", at="best"))
    with pytest.raises(DataError, match="no training result"):
        load_ratings_result(tmp_path)


def test_comparison_and_exhibit(layer: RatingsResult) -> None:
    base = train_ratings(CROWD, "dl-mean", seeds=2, **FAST)
    table = compare_ratings({"DL-MEAN": base, "DL-CL (B)": layer}).set_index("method")
    gap = layer.score("rmse") - base.score("rmse")
    assert table.loc["DL-CL (B)", "rmse − DL-MEAN"] == pytest.approx(gap.mean())
    assert table.loc["DL-CL (B)", "p"] >= 0.5  # two seeds cannot say more
    with pytest.raises(SettingError, match="same seeds"):
        compare_ratings({"a": base, "b": train_ratings(CROWD, seeds=1, **{**FAST, "epochs": 1})})
    named = replace(CROWD, worker_ids=CROWD.worker_ids.where(CROWD.worker_ids != "w0", "<anna>"))
    of_named = replace(layer, fingerprint=named.fingerprint)
    shown = exhibit(named, of_named)
    assert shown.figure is not None
    assert "&lt;anna&gt;" in str(shown.figure.to_plotly_json())
    assert "<anna>" in set(shown.table["worker"])
    hidden = exhibit(named, of_named, hidden=True)
    assert "anna" not in str(hidden.figure) + hidden.table.to_csv()
    with pytest.raises(DataError, match="other data"):
        exhibit(CROWD, of_named)
    with pytest.raises(DataError, match="learns no biases"):
        exhibit(CROWD, base)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "conal"}, "crowd-layer"),
        ({"connection": "mw"}, "connection"),
        ({"names": "validation-gold"}, "labels are numbers"),
        ({"colour": 1}, "colour"),
    ],
)
def test_refusals(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        train_ratings(CROWD, **settings)


def test_what_cannot_be_learnt_from() -> None:
    with pytest.raises(DataError, match="no features"):
        train_ratings(replace(CROWD, features=None))
    with pytest.raises(DataError, match="no valid split"):
        train_ratings(CROWD, select_on="gold")
