"""Networks for ratings: losses and EM's steps against NumPy; planted biases are found, impossible settings refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from crowdcore.analysis import rating_biases
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import FloatArray
from crowdcore.exhibits.ratings import rating_biases as exhibit
from crowdcore.learning import RatingsResult, compare_ratings, load_ratings_result, train_ratings
from crowdcore.learning.api import split_settings
from crowdcore.learning.base import EpochContext
from crowdcore.learning.methods import RATINGS as METHODS
from crowdcore.learning.ratings.methods import RatingMethod
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import RatingProblem, make_problem
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
    biases = rating_biases(CROWD, layer.workers["selected"]["bias"])
    assert (biases.correlation > 0.98).all()
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
    with pytest.raises(DataError, match="no gold"):
        train_ratings(CROWD, select_on="gold")


FEW_RATINGS, _ = rated_crowd(n_tasks=40, n_workers=5, per_task=2)


def built(name: str, **settings: Any) -> tuple[Any, RatingProblem, Batch, dict[str, FloatArray]]:
    """A method in float64, away from its start, with all training tasks and its state as NumPy arrays."""
    training, own = split_settings(METHODS.find(name), {"backbone": "linear", **settings})
    problem = make_problem(FEW_RATINGS, training)
    (method,) = make_replicas(problem, METHODS.find(name), [Replica(own, 0)], training)
    assert isinstance(method, RatingMethod)
    method.double().eval()
    with torch.no_grad():
        for p in method.parameters():
            if p.requires_grad:
                p.add_(0.3 * torch.randn(p.shape, generator=torch.Generator().manual_seed(1), dtype=p.dtype))
    data = Data(problem, torch.device("cpu"), targets=METHODS.find(name).targets(problem, None))
    batch = data.stretch(slice(0, problem.n_train))
    batch = Batch(*(b.double() if b is not None and b.is_floating_point() else b for b in batch))  # type: ignore[arg-type]
    return method, problem, batch, {k: v.detach().numpy() for k, v in method.state_dict().items()}


def ratings(problem: RatingProblem) -> tuple[Any, Any, Any]:
    n = problem.n_train_annotations
    return problem.task[:n], problem.worker[:n], problem.label[:n].astype(np.float64)


def outputs(problem: RatingProblem, state: dict[str, FloatArray]) -> FloatArray:
    """``ȳ + network(x)``, (n_train, outputs)."""
    x = problem.preparation(torch.from_numpy(problem.rows[problem.order[: problem.n_train]])).double().numpy()
    weight, bias = (state[k] for k in state if k.startswith("classifier.") and k.endswith(("weight", "bias")))
    return state["centre"] + x @ weight + bias  # type: ignore[no-any-return]


@pytest.mark.parametrize("connection", ["s", "b", "s+b"])
def test_crowd_layer(connection):
    method, problem, batch, state = built("crowd-layer", connection=connection)
    task, worker, y = ratings(problem)
    mu = outputs(problem, state)[:, 0]
    error = state["scale"][worker] * mu[task] + state["bias"][worker] - y
    assert method.loss(batch)["squared_error"].item() == pytest.approx((error**2).mean())
    assert (state["scale"] == 1).all() == (connection == "b")
    assert (state["bias"] == 0).all() == (connection == "s")


def test_targets():
    for name, target in (("dl-mean", "consensus"), ("dl-true", "gold")):
        method, problem, batch, state = built(name)
        mu = outputs(problem, state)[:, 0]
        z = getattr(problem, target)[: problem.n_train].astype(np.float64)
        assert method.loss(batch)["squared_error"].item() == pytest.approx(((mu - z) ** 2).mean())
        z[3] = np.nan
        some = batch._replace(target=torch.from_numpy(z))
        assert method.loss(some)["squared_error"].item() == pytest.approx(np.nanmean((mu - z) ** 2))
    task, _, y = ratings(problem)
    np.testing.assert_allclose(problem.consensus[4], y[task == 4].mean(), rtol=1e-6)


def test_em():
    method, problem, batch, state = built("dl-em", strength=3.0)
    task, worker, y = ratings(problem)
    mu = outputs(problem, state)[:, 0]
    precision, gamma = state["precision"].copy(), method.gamma.item()
    before = method.mean.clone()
    for epoch in (0, 1):  # it waits for the network's first epoch
        assert torch.equal(method.mean, before)
        method.start_epoch(EpochContext(epoch, *map(torch.from_numpy, (mu, task, worker, y))))
    n = problem.n_train
    v = np.array([1 / (gamma + precision[worker[task == i]].sum()) for i in range(n)])
    m = np.array([v[i] * (gamma * mu[i] + (precision[worker] * y)[task == i].sum()) for i in range(n)])
    square = (y - m[task]) ** 2 + v[task]
    own = [(square[worker == r].sum() + 3 * square.mean()) / ((worker == r).sum() + 3) for r in range(5)]
    np.testing.assert_allclose(method.mean.numpy(), m)
    np.testing.assert_allclose(method.precision.numpy(), 1 / np.array(own))
    assert 1 / method.gamma.item() == pytest.approx(((m - mu) ** 2 + v).mean())
    assert method.loss(batch)["squared_error"].item() == pytest.approx(((mu - m) ** 2).mean())


def own_error(problem: RatingProblem, state: dict[str, FloatArray]) -> float:
    task, worker, y = ratings(problem)
    return float(((outputs(problem, state)[task, worker] - y) ** 2).mean())


def test_doctor_net():
    method, problem, batch, state = built("doctor-net")
    assert method.loss(batch)["squared_error"].item() == pytest.approx(own_error(problem, state))
    np.testing.assert_allclose(method.predicted(batch.features).detach(), outputs(problem, state).mean(1), rtol=1e-5)
    method.given[2] = 0  # without training ratings
    there = np.delete(outputs(problem, state), 2, axis=1)
    np.testing.assert_allclose(method.predicted(batch.features).detach(), there.mean(1), rtol=1e-5)


@pytest.mark.parametrize("combine", ["weight", "bias", "weight+bias"])
def test_weighted_doctor_net(combine):
    method, problem, batch, state = built("wdn", combine=combine)
    task, worker, y = ratings(problem)
    mu, w = outputs(problem, state), np.exp(state["weight"]) / np.exp(state["weight"]).sum()
    errors = []
    for i, given in zip(task, y, strict=True):
        others = np.setdiff1d(np.arange(5), worker[task == i])
        mixed = (w[others] * (mu[i, others] + state["bias"][others])).sum() / w[others].sum()
        errors.append((mixed - given) ** 2)
    loss = method.loss(batch)
    assert loss["squared_error"].item() == pytest.approx(own_error(problem, state))
    assert loss["mixing"].item() == pytest.approx(np.mean(errors))
    assert (state["bias"] == 0).all() == (combine == "weight")
    np.testing.assert_allclose(method.recovered()["weight"].detach(), w, rtol=1e-6)
    method.given[2] = 0  # without training ratings
    w[2] = 0
    np.testing.assert_allclose(method.recovered()["weight"].detach(), w / w.sum(), rtol=1e-6)
    method.given[2] = 1
    gradient = torch.autograd.grad(loss["mixing"], list(method.classifier.parameters()), allow_unused=True)
    assert all(g is None or not g.any() for g in gradient)


def test_padding_counts_for_nothing():
    for name in METHODS:
        method, _, batch, _ = built(name)
        loss: Callable[[Batch], Any] = method.loss
        whole = {k: v.item() for k, v in loss(batch).items()}
        zero, one = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.float64)
        padded = batch._replace(
            row=torch.cat([batch.row, zero]),
            worker=torch.cat([batch.worker, zero]),
            label=torch.cat([batch.label, one + 7]),
            weight=torch.cat([batch.weight, one]),
        )
        assert {k: v.item() for k, v in loss(padded).items()} == pytest.approx(whole)
