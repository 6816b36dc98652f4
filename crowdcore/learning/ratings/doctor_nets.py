"""Doctor Nets for ratings: an output per worker, and the outputs combined (Guan et al. 2018)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.learning.base import Network, Recovered
from crowdcore.learning.method_settings import RatingWdnSettings
from crowdcore.learning.networks.ops import gather_rows, softmax
from crowdcore.learning.ratings.base import RatingMethod
from crowdcore.learning.ratings.problem import RatingProblem
from crowdcore.learning.training.data import Batch


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
    """``mean (μ_i^r - y_i^r)² + mean (m_i - y_i^r)²``, the second for what combines alone.

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
