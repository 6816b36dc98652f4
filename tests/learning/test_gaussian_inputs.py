"""Gaussian classes on inputs that are no clusters, on many tasks, and on another device than the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning import TrainSettings, load_result, train
from crowdcore.learning.gaussian import fit as gaussian_fit
from crowdcore.learning.gaussian.fit import Chosen, choose_gaussians
from crowdcore.learning.method_settings import GaussianSettings
from crowdcore.learning.training.problem import make_problem
from tests.learning.elsewhere import Elsewhere, imagined_gpu
from tests.learning.helpers import featured_crowd


def features_of(crowd: CrowdDataset) -> np.ndarray:
    assert crowd.features is not None
    return np.array(crowd.features)


def with_features(crowd: CrowdDataset, features: np.ndarray) -> CrowdDataset:
    return replace(crowd, features=Rows.from_array(np.ascontiguousarray(features, np.float32)))


def chosen(crowd: CrowdDataset, device: str = "cpu", **settings: Any) -> Chosen:
    problem = make_problem(crowd, TrainSettings(select_on="none"), device=device)
    return choose_gaussians(problem, GaussianSettings(**{"rounds": 5, **settings}))


def log_probs(found: Chosen, crowd: CrowdDataset) -> Tensor:
    return found.fit.log_probs(found.space(torch.from_numpy(features_of(crowd))))


def wide(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.random.default_rng(0).standard_normal((len(x), 100))], 1)


CHANGES = {
    "as they are": lambda x: x,
    "one constant": lambda x: np.concatenate([x, np.full((len(x), 1), 7)], 1),
    "collinear": lambda x: np.concatenate([x, x, 2 * x, x[:, :1] + x[:, 1:2]], 1),
    "fewer tasks than dimensions": wide,
    "one feature": lambda x: x[:, :1],
    "two values": lambda x: (x > 0).astype(float),
    "far from zero": lambda x: x + 1e4,
    "tiny": lambda x: 1e-12 * x,
    "large": lambda x: 1e30 * x,
    "most of them the same": lambda x: np.where(np.arange(len(x))[:, None] % 3, 0, x),
}


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_any_features_that_differ_give_classes(change, linear):
    crowd = featured_crowd()
    crowd = with_features(crowd, CHANGES[change](features_of(crowd)))
    found = chosen(crowd, gamma=0.0 if linear else 0.25, shrinkage=0.0 if linear and change == "collinear" else 0.1)
    p = log_probs(found, crowd).exp()
    assert torch.isfinite(p).all()
    torch.testing.assert_close(p.sum(1), torch.ones(len(p), dtype=p.dtype))
    right = (found.fit.posterior.argmax(1).numpy() == crowd.gold[: len(found.fit.posterior)]).mean()
    assert right > 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: np.full_like(x, 3), "same features"),
        (lambda x: np.tile(x[:1], (len(x), 1)), "same features"),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x), "'t00001' hold NaN or infinite"),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.inf, x), "'t00001' hold NaN or infinite"),
        (lambda x: np.where(np.arange(len(x))[:, None] % 2, 3e38, np.abs(x)) ** 1.0, "too large"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_features_that_cannot_be_used_are_refused_in_one_sentence(change, said):
    crowd = featured_crowd()
    with pytest.raises(DataError, match=said):
        chosen(with_features(crowd, change(features_of(crowd))))


def test_a_label_that_nobody_gave_is_no_class():
    crowd = featured_crowd(n_tasks=120)
    found = chosen(crowd.where(crowd.label != 1), balance=0.3)
    assert float(found.fit.posterior[:, 1].max()) == 0
    assert float(log_probs(found, crowd)[:, 1].exp().max()) == 0


@pytest.mark.parametrize(
    "crowd",
    [
        featured_crowd(n_workers=1, per_task=1),
        featured_crowd(n_tasks=5),
        featured_crowd(n_tasks=10, per_task=1, n_workers=2),
    ],
    ids=["one worker", "a task per class", "a label per task"],
)
def test_the_smallest_crowds_have_a_posterior(crowd):
    for balance in (0.0, 0.5):
        q = chosen(crowd, balance=balance).fit.posterior
        torch.testing.assert_close(q.sum(1), torch.ones(len(q), dtype=q.dtype))


def test_chunks_and_samples_do_not_matter(monkeypatch):
    crowd = featured_crowd(n_tasks=200)
    whole = chosen(crowd, unlabelled="all")
    for module in ("fit", "space", "classes", "evidence"):
        monkeypatch.setattr(f"crowdcore.learning.gaussian.{module}._CHUNK", 7)
    pieces = chosen(crowd, unlabelled="all")
    torch.testing.assert_close(pieces.fit.posterior, whole.fit.posterior, atol=1e-6, rtol=0)
    monkeypatch.setattr(gaussian_fit, "_ENOUGH", 60)
    monkeypatch.setattr(gaussian_fit, "_FEWEST", 60)
    monkeypatch.setattr("crowdcore.learning.gaussian.space._EXACT", 40)
    sampled = chosen(crowd, unlabelled="all")
    assert len(sampled.space.landmarks) == 40
    agree = sampled.fit.posterior.argmax(1) == whole.fit.posterior.argmax(1)
    assert float(agree.double().mean()) > 0.95


def test_everything_of_the_fit_is_on_one_device():
    """On a GPU that is imagined, where tensors of two devices may not meet."""
    crowd = featured_crowd(n_tasks=120)
    expected = chosen(crowd, unlabelled="all")
    with imagined_gpu() as device:
        found = chosen(crowd, device.type, unlabelled="all")
    here = [found.fit.posterior, found.fit.confusion, found.fit.classes.weights, *found.space.buffers()]
    assert not any(isinstance(t, Elsewhere) for t in here)
    torch.testing.assert_close(found.fit.posterior, expected.fit.posterior)


@pytest.mark.parametrize("backbone", ["mlp", "cnn"])
def test_rounds_of_a_network_and_of_its_last_layer(backbone, tmp_path):
    crowd = featured_crowd()
    if backbone == "cnn":
        levels = features_of(crowd)[:, :3, None, None] * 40 + 128
        pictures = (levels.clip(0, 255) * np.ones((1, 1, 16, 16))).astype(np.uint8).transpose(0, 2, 3, 1)
        crowd = replace(crowd, features=Rows.from_array(pictures))
    settings = {"backbone": backbone, "backbone_settings": {"hidden": 9}, "rounds": 5}
    result = train(crowd, "gaussian-em", seeds=2, epochs=2, alternate=1, select_on="none", **settings)
    assert result.model["classifier.gaussians.landmarks"].shape[1:] == (36, 9)
    inside = [k for k in result.model if k.startswith("classifier.features")]
    assert inside and not any(k.endswith(("output.weight", "16.weight")) for k in inside)
    result.save(tmp_path / "result")
    p = load_result(tmp_path / "result").predict_proba(np.array(crowd.features))
    np.testing.assert_allclose(p[:, result.task], result.probabilities["last"], atol=1e-5)
