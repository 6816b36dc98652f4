"""On a GPU: the same results as on the CPU, alone and stacked, recorded and eager."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from crowdcore.data.rows import Rows
from crowdcore.learning import TrainSettings, methods, train
from crowdcore.learning.gaussian.fit import choose_gaussians
from crowdcore.learning.method_settings import GaussianSettings
from crowdcore.learning.training.problem import make_problem
from testkit.training import train_as
from tests.learning.helpers import featured_crowd

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

RUN = {"epochs": 4, "batch_size": 13, "select_on": "gold", "lr": 0.01}


@pytest.mark.parametrize("method", methods.names())
def test_device_stack_recording_and_streaming_do_not_matter(method, monkeypatch):
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    crowd = featured_crowd()
    reference = train(crowd, method, seeds=[3], device="cpu", **RUN).curves["loss"][:, 0]
    for seeds, settings in [([3], {}), ([1, 3, 4], {}), ([1, 3], {"record": False}), ([1, 3], {"feed": "stream"})]:
        loss = train_as(crowd, method, seeds=seeds, device="cuda", **RUN, **settings).curves["loss"]
        np.testing.assert_allclose(loss[:, seeds.index(3)], reference, rtol=1e-3)


@pytest.mark.parametrize("backbone", ["cnn", "resnet18"])
def test_convolutions_are_as_exact_as_on_the_cpu(backbone):
    """TF32, which cuDNN takes for float32 unless told otherwise, is off by a part in a thousand."""
    crowd = featured_crowd()
    levels = (np.array(crowd.features)[:, :3] * 40 + 128).clip(0, 255).astype(np.uint8)
    crowd = replace(crowd, features=Rows.from_array(np.tile(levels[:, None, None], (1, 16, 16, 1))))
    run = {"seeds": 1, "epochs": 1, "batch_size": 32, "select_on": "none", "lr": 1e-4, "backbone": backbone}
    cpu, gpu = (train(crowd, "vanilla", device=device, **run).curves["loss"] for device in ("cpu", "cuda"))
    np.testing.assert_allclose(gpu, cpu, rtol=1e-5)


def test_deterministic_runs_repeat():
    crowd = featured_crowd()
    a, b = (train(crowd, "conal", seeds=2, device="cuda", deterministic=True, **RUN) for _ in range(2))
    assert np.array_equal(a.probabilities["last"], b.probabilities["last"])


@pytest.mark.parametrize("n_tasks", [600, 4000])  # kernel components are exact, or by landmarks
@pytest.mark.parametrize("gamma", [0.25, 0.0])
def test_gaussian_classes_are_the_same(n_tasks, gamma):
    crowd, settings = featured_crowd(n_tasks=n_tasks), GaussianSettings(gamma=gamma, unlabelled="all")
    fits = [choose_gaussians(make_problem(crowd, TrainSettings(), device=d), settings).fit for d in ("cpu", "cuda")]
    for name in ("posterior", "confusion", "log_likelihood"):
        torch.testing.assert_close(getattr(fits[1], name), getattr(fits[0], name), atol=1e-5, rtol=0)
