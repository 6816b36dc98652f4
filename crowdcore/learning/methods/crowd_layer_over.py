"""DL-CL_Over: the crowd layer with twice the layers, the control for over-parameterisation."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import StartSettings
from crowdcore.learning.networks.noise_layers import WorkerMatrices
from crowdcore.learning.networks.ops import gather_rows, log_label, softmax
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class CrowdLayerOver(CrowdMethod):
    """``-mean log softmax(softmax(p W₁^r) W₂^r)[y_i^r]``, both matrices the identity at the start."""

    name: ClassVar[str] = "crowd-layer-over"
    title: ClassVar[str] = "Over-parameterised crowd layer"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021, Table 3"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = StartSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.first = WorkerMatrices(self.n_workers, self.n_classes, 1.0)
        self.second = WorkerMatrices(self.n_workers, self.n_classes, 1.0)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """The second layer makes up for what the first, an identity, blurs."""
        hidden = torch.softmax(self.first.matrices(), -1)
        self.second.weight.copy_(torch.linalg.solve(hidden, confusion.log()))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy after two softmax layers per worker."""
        (p,) = gather_rows(batch.row, self.log_probs(batch.features).exp())
        hidden = softmax(self.first(p, batch.worker))
        return {"cross_entropy": -batch.mean(log_label(self.second(hidden, batch.worker), batch.label))}

    def recovered(self) -> Recovered:
        """What both layers say of a task that certainly is of class c."""
        hidden = torch.softmax(self.first.matrices(), -1)
        return {"worker_confusion": torch.softmax(hidden @ self.second.matrices(), -1)}
