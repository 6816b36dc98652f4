"""Gaussian classes in a fixed feature space, then a network on their posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.gaussian.fit import Chosen, fit_alternating, notes_on, without_last_layer
from crowdcore.learning.gaussian.space import Space
from crowdcore.learning.method_settings import GaussianEmSettings, GaussianSettings
from crowdcore.learning.networks.ops import cross_entropy, log_softmax, softmax
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem

_SMALLEST = 1e-9  # probability, before both are mixed
_EDGE = 1e-6  # ω stays as far from 0 and 1
_RECOVERED = ("common_confusion", "worker_confusion", "q", "worker_counts")


class WithGaussians(nn.Module):
    """A network beside Gaussian classes: the mean of their probabilities.

    A network that learnt smoothed targets ``(1 - ε) q + ε / C`` predicts such; its probabilities are sharpened back.

    Args:
        network: the trained network.
        features: makes the Gaussians' features from inputs.
        spread: ε.
    """

    def __init__(self, network: nn.Module, features: nn.Module, spread: float) -> None:
        super().__init__()
        self.network, self.features, self.gaussians, self.spread = network, features, Space(), spread

    def forward(self, x: Tensor) -> Tensor:
        """log of the mean probability, (B, *input shape) -> (B, C)."""
        return self.beside(x, self.of_gaussians(x))

    def of_gaussians(self, x: Tensor) -> Tensor:
        """The Gaussians' probabilities, (B, *input shape) -> (B, C)."""
        return softmax(self.gaussians(self.features(x)))

    def beside(self, x: Tensor, of_gaussians: Tensor) -> Tensor:
        """log of the mean of the network's probabilities and these."""
        smoothed = softmax(self.network(x))
        p = ((smoothed - self.spread / smoothed.shape[1]) / (1 - self.spread)).clamp_min(_SMALLEST)
        both: Tensor = p / p.sum(1, keepdim=True) + of_gaussians
        return (both / 2).log()


class GaussianEm(CrowdMethod):
    """``-mean_i Σ_c q_i(c) log p_i(c)`` with q from EM over Gaussian classes and workers' confusions.

    Classes are Gaussians with one covariance in a space of kernel principal components; scores of a task are by
    classes fitted without its fold, and its workers' confusions leave the task out. Predictions are the mean of the
    network's and the Gaussians' probabilities. The counts of EM's end are split into a common confusion, the workers'
    own and ω as `ConalEM` does. Every replica has an EM of its own, whose folds its seed draws.
    """

    name: ClassVar[str] = "gaussian-em"
    title: ClassVar[str] = "Gaussian classes by EM, then train"
    paper: ClassVar[str] = "crowdcore"
    recovers: ClassVar[tuple[str, ...]] = ("common_confusion", "worker_confusion", "q", "omega")
    Settings: ClassVar[type[Settings]] = GaussianEmSettings
    learns_confusions: ClassVar[bool] = False

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        refuse_words(problem.dataset, self.name)
        chosen = _fit_once(problem, settings, torch.initial_seed())
        fit, spread = chosen.fit, settings.label_smoothing
        weights, offsets = fit.temperature * fit.classes.weights, fit.temperature * fit.classes.offsets - fit.bias
        if chosen.network is not None:
            self.classifier.features = chosen.network
        self.classifier.gaussians = chosen.space.then(weights.float(), offsets.float())
        self.register_buffer("worker_confusion", torch.from_numpy(chosen.split.own).float(), persistent=False)
        self.register_buffer("common_confusion", torch.from_numpy(chosen.split.common[0]).float(), persistent=False)
        self.register_buffer("share", torch.from_numpy(chosen.split.omega).float(), persistent=False)
        self.register_buffer("q", chosen.posterior.float(), persistent=False)
        target = (1 - spread) * fit.posterior + spread / problem.n_classes
        self.register_buffer("target", target.float(), persistent=False)
        self.register_buffer("worker_counts", chosen.counts.float(), persistent=False)

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """Make a network, and room for Gaussian classes."""
        features = without_last_layer(network(n_classes)) if settings.alternate else nn.Identity()
        return WithGaussians(network(n_classes), features, settings.label_smoothing)

    @classmethod
    def notes(cls, problem: Problem, settings: Any, seeds: Sequence[int]) -> tuple[str, ...]:
        """Notes on the choice of the fits, and on how often features decided against every vote."""
        fits, votes = [_fit_once(problem, settings, seed) for seed in seeds], problem.votes()
        q = np.mean([one.fit.posterior.numpy() for one in fits], 0)
        n = (votes[np.arange(len(votes)), q.argmax(1)] == 0).sum()
        decided = f"On {n:,} of {len(votes):,} training tasks the features chose a label that no worker gave."
        return (*notes_on(fits), decided)

    def fixed(self, features: Tensor) -> Tensor:
        """The Gaussians' probabilities."""
        return self.classifier.of_gaussians(features)  # type: ignore[operator,no-any-return]

    def log_probs_beside(self, features: Tensor, fixed: Tensor) -> Tensor:
        """log of the mean probability."""
        return log_softmax(self.classifier.beside(features, fixed))  # type: ignore[operator]

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the targets."""
        network: Any = self.classifier.network
        target = self.get_buffer("target").index_select(0, batch.task)
        return {"cross_entropy": cross_entropy(log_softmax(network(batch.features)), target)}

    def recovered(self) -> Recovered:
        """Confusions, as a common one and the workers' own; the posterior of training tasks, and counts against it."""
        return {name: self.get_buffer(name) for name in _RECOVERED}

    def omega(self, batch: Batch) -> Tensor:
        """(A,) ``Σ_c p_i(c | labels) ω_rc π^g[c, y] / (ω_rc π^g[c, y] + (1 - ω_rc) π^r[c, y])``."""
        share, common, own = (self.get_buffer(name) for name in ("share", "common_confusion", "worker_confusion"))
        from_common = share[batch.worker] * common.T[batch.label]  # (A, C)
        given = from_common + (1 - share[batch.worker]) * own.transpose(1, 2)[batch.worker, batch.label]
        log_p = self.log_probs(batch.features)
        evidence = (batch.weight.unsqueeze(1) * given.log()).to(log_p.dtype)
        p = softmax(log_p.index_add(0, batch.row, evidence))
        return (p[batch.row] * from_common / given).sum(1).clamp(_EDGE, 1 - _EDGE)


def _fit_once(problem: Problem, settings: GaussianSettings, seed: int) -> Chosen:
    """Fit once for all replicas of a problem with this seed."""
    key = f"gaussian {seed} {settings.model_dump_json(include=set(GaussianSettings.model_fields))}"
    if settings.alternate:
        key += problem.training.model_dump_json()  # its networks are trained with these settings
    return problem.once(key, lambda: fit_alternating(problem, settings, seed))
