"""Each loss for ratings, and EM's steps, beside the equations written out in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from crowdcore.core.types import FloatArray
from crowdcore.learning.api import split_settings
from crowdcore.learning.base import EpochContext
from crowdcore.learning.ratings import methods
from crowdcore.learning.ratings.methods import RatingMethod
from crowdcore.learning.ratings.problem import RatingProblem, rating_problem
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.loop import Replica, make_replicas
from tests.learning.ratings.crowd import rated_crowd

CROWD, _ = rated_crowd(n_tasks=40, n_workers=5, per_task=2)


def built(name: str, **settings: Any) -> tuple[Any, RatingProblem, Batch, dict[str, FloatArray]]:
    """A method in float64, away from its start, with all training tasks and its state as NumPy arrays."""
    training, own = split_settings(methods.find(name), {"backbone": "linear", **settings})
    problem = rating_problem(CROWD, training)
    (method,) = make_replicas(problem, methods.find(name), [Replica(own, 0)], training)
    assert isinstance(method, RatingMethod)
    method.double().eval()
    with torch.no_grad():
        for p in method.parameters():
            if p.requires_grad:
                p.add_(0.3 * torch.randn(p.shape, generator=torch.Generator().manual_seed(1), dtype=p.dtype))
    data = Data(problem, torch.device("cpu"), targets=methods.find(name).targets(problem, None))
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
    for name in methods.METHODS:
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
