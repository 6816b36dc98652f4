"""On an imagined GPU: every method trains there as on the CPU, and no tensors of two devices meet."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from crowdcore.learning import fit_rating_topics, fit_topics, methods, train_ratings
from crowdcore.learning.methods import RATINGS as METHODS
from testkit.training import train_as
from tests.learning import test_rating_topics, test_topics
from tests.learning.backbones.test_backbones import with_images
from tests.learning.elsewhere import Elsewhere, ImaginedGraph, imagined_gpu
from tests.learning.helpers import featured_crowd
from tests.learning.ratings.crowd import rated_crowd
from tests.learning.test_tags import CROWD as WORDED, SMALL

RUN: dict[str, Any] = {"epochs": 1, "batch_size": 18, "select_on": "gold", "lr": 0.01, "seeds": [1, 3]}

ONE_FIT = {"rounds": 2, "balance": 0.3, "sharpening": 1.0}  # every operation of a fit takes its time there
FEW: dict[str, dict[str, Any]] = {
    "gaussian-em": ONE_FIT,
    "auto": {"chosen": "0.7 gaussian-em rounds=2 balance=0.3 sharpening=1 + 0.3 dl-em"},
}


def test_it_refuses_what_a_gpu_refuses() -> None:
    with imagined_gpu() as device:
        there = torch.arange(3.0, device=device).requires_grad_()
        for met in (lambda: there + torch.ones(3), lambda: torch.ones(3, 3) @ there):
            with pytest.raises(RuntimeError, match="two devices"):
                met()
        with pytest.raises((TypeError, RuntimeError)):
            there.detach().numpy()
        mapped = torch.func.vmap(lambda row: (row + torch.ones(3, device=row.device)).exp().sum())(there.expand(2, 3))
        (slope,) = torch.autograd.grad(mapped.sum(), there)
        assert isinstance(slope, Elsewhere)
        np.testing.assert_allclose(slope.cpu().numpy(), 2 * np.exp([1, 2, 3]), rtol=1e-6)
        assert (there[torch.tensor([0, 2])] * 2).tolist() == [0, 4]


@pytest.mark.parametrize(("method", "feed"), [*((name, "device") for name in methods.names()), ("conal", "stream")])
def test_every_method_trains_there_as_here(method: str, feed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    crowd = featured_crowd()
    settings = {**RUN, "feed": feed, **FEW.get(method, {})}
    here = train_as(crowd, method, device="cpu", record=False, **settings)
    with imagined_gpu():
        there = train_as(crowd, method, device="cuda", **settings)
    np.testing.assert_allclose(there.curves["loss"], here.curves["loss"], rtol=1e-5)
    np.testing.assert_allclose(there.probabilities["last"], here.probabilities["last"], rtol=0, atol=1e-3)


def test_it_refuses_what_a_cuda_graph_refuses() -> None:
    with imagined_gpu() as device:
        there = torch.arange(3.0, device=device)
        for step in (lambda: there[there > 1], there.cpu, lambda: there * float(there.sum())):
            with pytest.raises(RuntimeError, match="graph"):
                ImaginedGraph(step, (), ())
        assert ImaginedGraph(lambda: there * 2, (), ())(()).tolist() == [0, 2, 4]


@pytest.mark.parametrize("backbone", ["cnn", "tagger"])
def test_images_and_sentences_do(backbone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    crowd = with_images() if backbone == "cnn" else WORDED
    settings: dict[str, Any] = {"backbone": backbone, "epochs": 1, "batch_size": 15, "seeds": 2}
    small = {"width": 8, "hidden": 16} if backbone == "cnn" else SMALL
    settings |= {"backbone_settings": small, "augment": "crop+flip" if backbone == "cnn" else "no"}
    here = train_as(crowd, "crowd-layer", device="cpu", record=False, **settings)
    with imagined_gpu():
        there = train_as(crowd, "crowd-layer", device="cuda", **settings)
    np.testing.assert_allclose(there.curves["loss"], here.curves["loss"], rtol=1e-5)


@pytest.mark.parametrize(("fit", "crowd"), [(fit_topics, test_topics), (fit_rating_topics, test_rating_topics)])
def test_topics_do(fit: Callable[..., Any], crowd: ModuleType) -> None:
    corpus = crowd.Corpus()
    settings = {"counts": corpus.counts, "n_topics": 4, "iterations": 5}
    here = fit(corpus.dataset(), device="cpu", **settings)
    with imagined_gpu():
        there = fit(corpus.dataset(), device="cuda", **settings)
    np.testing.assert_allclose(there.bound, here.bound, rtol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_ratings_does(name: str) -> None:
    crowd, _ = rated_crowd(n_tasks=60)
    settings = {"epochs": 2, "seeds": 2, "backbone": "linear"}
    here = train_ratings(crowd, name, device="cpu", **settings)
    with imagined_gpu():
        there = train_ratings(crowd, name, device="cuda", **settings)
    np.testing.assert_allclose(there.curves["test_rmse"], here.curves["test_rmse"], rtol=1e-5)
