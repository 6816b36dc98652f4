"""Networks that learn ratings from crowds, as in Rodrigues, Pereira: Deep Learning from Crowds, AAAI 2018.

``μ_i`` is the network's output for task i, ``y_i^r`` worker r's rating of it, both from 0 to 1.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.core.errors import DataError
from crowdcore.core.settings import Settings
from crowdcore.core.types import FloatArray
from crowdcore.learning.base import CrowdMethod, EpochContext, Network, Recovered
from crowdcore.learning.networks.ops import gather_rows, softmax
from crowdcore.learning.settings import RatingCrowdLayerSettings, RatingDlEmSettings, RatingWdnSettings
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem, RatingProblem


class RatingMethod(CrowdMethod):
    """Base of every method: ``μ_i = ȳ + network(x_i)`` with ȳ the mean of the training ratings.

    From 0, the workers' biases would learn a part of ȳ while the network does. `recovered` may give ``scale`` with
    ``bias``, ``precision`` and ``weight`` of the workers, (R,) each.
    """

    learns_confusions: ClassVar[bool] = False

    def __init__(self, problem: RatingProblem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        n = problem.n_train_annotations
        self.register_buffer("given", torch.from_numpy(problem.labels_per_worker.astype(np.float32)))
        self.register_buffer("centre", torch.tensor(problem.label[:n].mean()))

    given: Tensor
    centre: Tensor

    def predicted(self, features: Tensor) -> Tensor:
        """``μ``, (B, *input shape) -> (B,)."""
        return self.outputs(features).squeeze(-1)

    def outputs(self, features: Tensor) -> Tensor:
        """The network's outputs, (B, *input shape) -> (B, 1), or (B, R)."""
        outputs: Tensor = self.centre + self.classifier(features)
        return outputs


class DoctorNet(RatingMethod):
    """``mean (μ_i^r - y_i^r)²`` with an output ``μ_i^r`` per worker; the prediction is their mean.

    Workers without training ratings do not count.
    """

    name: ClassVar[str] = "doctor-net"
    title: ClassVar[str] = "Doctor Net"
    paper: ClassVar[str] = "Guan, Gulshan, Dai, Hinton: Who Said What, AAAI 2018"

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """One network with an output per worker."""
        return network(n_workers)

    def predicted(self, features: Tensor) -> Tensor:
        """Mean of the workers' outputs."""
        return self.mixed(self.outputs(features), (self.given > 0).to(features.dtype))

    def mixed(self, outputs: Tensor, present: Tensor) -> Tensor:
        """Mean of outputs (B, R) over the workers who are present, (R,) or (B, R)."""
        return (outputs * present).sum(-1) / present.sum(-1).clamp_min(1e-12)

    def own_loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """``mean (μ_i^r - y_i^r)²``, from (B, R)."""
        (own,) = gather_rows(batch.row * self.n_workers + batch.worker, outputs.reshape(-1, 1))
        return batch.mean((own.squeeze(-1) - batch.label).square())

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Squared error of every rating with its worker's output."""
        return {"squared_error": self.own_loss(self.outputs(batch.features), batch)}


class Wdn(DoctorNet):
    """``mean (μ_i^r - y_i^r)² + mean (m_i - y_i^r)²``, the second term for the mixture alone.

    ``m_i = Σ_s w_s (μ_i^s + β_s) / Σ_s w_s`` over the workers who did not rate task i, w = softmax of R numbers; tasks
    that all workers rated do not count. The prediction is the same over all workers.
    """

    name: ClassVar[str] = "wdn"
    title: ClassVar[str] = "Weighted Doctor Net"
    paper: ClassVar[str] = "Guan, Gulshan, Dai, Hinton: Who Said What, AAAI 2018"
    Settings: ClassVar[type[Settings]] = RatingWdnSettings

    def __init__(self, problem: RatingProblem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.weight = nn.Parameter(torch.zeros(self.n_workers), requires_grad="weight" in settings.combine)
        self.bias = nn.Parameter(torch.zeros(self.n_workers), requires_grad="bias" in settings.combine)

    def mixed(self, outputs: Tensor, present: Tensor) -> Tensor:
        """Weighted mean of biased outputs."""
        return super().mixed(outputs + self.bias, present * softmax(self.weight))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Squared error of every rating with its worker's output, and with the other workers' mixture."""
        outputs = self.outputs(batch.features)
        rated = torch.zeros(outputs.numel(), dtype=outputs.dtype, device=outputs.device)
        rated = rated.index_add(0, batch.row * self.n_workers + batch.worker, batch.weight).view(outputs.shape)
        others = ((rated == 0) & (self.given > 0)).to(outputs.dtype)
        mixture = torch.stack([self.mixed(outputs.detach(), others), others.sum(-1)], -1)
        (mixture,) = gather_rows(batch.row, mixture)
        counts = (mixture[..., 1] > 0).to(outputs.dtype)
        return {
            "squared_error": self.own_loss(outputs, batch),
            "mixing": batch.mean(counts * (mixture[..., 0] - batch.label).square()),
        }

    def recovered(self) -> Recovered:
        """The mixing weights, which sum to 1 over the workers with training ratings and are 0 for the others."""
        return {"weight": torch.softmax(self.weight + (self.given > 0).log(), -1)}


class RatingCrowdLayer(RatingMethod):
    """``mean (f^r(μ_i) - y_i^r)²`` with ``f^r(μ) = s^r μ`` (s), ``μ + b^r`` (b) or ``s^r μ + b^r`` (s+b); s=1, b=0."""

    name: ClassVar[str] = "crowd-layer"
    title: ClassVar[str] = "Crowd layer"
    paper: ClassVar[str] = "Rodrigues, Pereira: Deep Learning from Crowds, AAAI 2018"
    Settings: ClassVar[type[Settings]] = RatingCrowdLayerSettings

    def __init__(self, problem: RatingProblem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.scale = nn.Parameter(torch.ones(self.n_workers), requires_grad="s" in settings.connection)
        self.bias = nn.Parameter(torch.zeros(self.n_workers), requires_grad="b" in settings.connection)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Squared error of every worker's ratings."""
        mu = self.predicted(batch.features).unsqueeze(-1)
        workers = torch.stack([self.scale, self.bias], -1)
        ((mu,), (worker,)) = gather_rows(batch.row, mu), gather_rows(batch.worker, workers)
        error = worker[..., 0] * mu.squeeze(-1) + worker[..., 1] - batch.label
        return {"squared_error": batch.mean(error.square())}

    def recovered(self) -> Recovered:
        """Scale and bias."""
        return {"scale": self.scale, "bias": self.bias}


class TargetMethod(RatingMethod):
    """``mean (μ_i - t_i)²`` over the tasks that have a target."""

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Squared error of the targets."""
        assert batch.target is not None
        known = (~batch.target.isnan()).to(torch.float32)
        error = self.predicted(batch.features) - batch.target.nan_to_num()
        return {"squared_error": (known * error.square()).sum() / known.sum().clamp_min(1)}


class DlMean(TargetMethod):
    """``mean_i (μ_i - mean_r y_i^r)²``."""

    name: ClassVar[str] = "dl-mean"
    title: ClassVar[str] = "Mean rating, then train"
    paper: ClassVar[str] = "-"

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> FloatArray:
        """Mean ratings."""
        assert isinstance(problem, RatingProblem)
        return problem.consensus[: problem.n_train]


class DlTrue(TargetMethod):
    """``mean_i (μ_i - z_i)²`` with the true ratings."""

    name: ClassVar[str] = "dl-true"
    title: ClassVar[str] = "Trained on gold (oracle)"
    paper: ClassVar[str] = "-"

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> FloatArray:
        """The training tasks' gold.

        Raises:
            DataError: none of them has any.
        """
        assert isinstance(problem, RatingProblem)
        gold = problem.gold[: problem.n_train]
        if np.isnan(gold).all():
            raise DataError(f"No training task of {problem.dataset.name} has gold", "`dl-true` needs it.")
        return gold


class DlEm(RatingMethod):
    """``mean_i (μ_i - m_i)²`` with the posterior mean ``m_i`` of ``z_i ~ N(μ_i, 1/γ)``, ``y_i^r ~ N(z_i, 1/λ^r)``.

    E-step: ``v_i = 1 / (γ + Σ_r λ^r)``, ``m_i = v_i (γ μ_i + Σ_r λ^r y_i^r)``. M-step:
    ``1/γ = mean ((m_i - μ_i)² + v_i)`` and ``1/λ^r = mean ((y_i^r - m_i)² + v_i)``, in which the mean over all
    workers counts for ``strength`` ratings. One iteration an epoch; at first ``m_i`` is the mean rating, and all
    precisions are equal.
    """

    name: ClassVar[str] = "dl-em"
    title: ClassVar[str] = "Expectation-maximisation"
    paper: ClassVar[str] = "Raykar et al.: Learning From Crowds, JMLR 2010; Rodrigues, Pereira, AAAI 2018"
    Settings: ClassVar[type[Settings]] = RatingDlEmSettings

    mean: Tensor
    gamma: Tensor
    precision: Tensor

    def __init__(self, problem: RatingProblem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.strength = settings.strength
        n, first = problem.n_train_annotations, problem.consensus[: problem.n_train]
        spread = float(np.mean((problem.label[:n] - first[problem.task[:n]]) ** 2))
        self.state("mean", torch.from_numpy(first.copy()))
        self.register_buffer("precision", torch.full((self.n_workers,), 1 / max(spread, 1e-6)))
        self.state("gamma", torch.tensor(1 / max(float(first.var()), 1e-6)))

    def start_epoch(self, context: EpochContext) -> None:
        """One E-step and one M-step, not before the first epoch."""
        epoch, mu, task, worker, label = context
        if epoch == 0:
            return
        rating = label.to(mu.dtype)
        own = self.precision.index_select(0, worker)
        total = torch.zeros_like(mu).index_add(0, task, own)
        weighted = torch.zeros_like(mu).index_add(0, task, own * rating)
        v = 1 / (self.gamma + total)
        mean = v * (self.gamma * mu + weighted)
        square = (rating - mean.index_select(0, task)).square() + v.index_select(0, task)
        of_worker = torch.zeros_like(self.given).index_add(0, worker, square)
        variance = (of_worker + self.strength * square.mean()) / (self.given + self.strength)
        self.mean.copy_(mean)
        self.precision.copy_(1 / variance)
        self.gamma.copy_(1 / ((mean - mu).square() + v).mean())

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Squared error of the posterior mean."""
        mean = self.mean.index_select(0, batch.task)
        return {"squared_error": (self.predicted(batch.features) - mean).square().mean()}

    def recovered(self) -> Recovered:
        """Precisions."""
        return {"precision": self.precision}
