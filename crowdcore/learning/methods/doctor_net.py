"""Doctor Net: every worker is modelled by a head of a shared network, and the heads are averaged."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.learning.base import CrowdMethod, Network
from crowdcore.learning.networks.noise_layers import WorkerHeads
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class DoctorNet(CrowdMethod):
    """``-mean log p_i^r(y_i^r)`` with a softmax head ``p_i^r`` per worker; the prediction is their mean.

    Workers without training labels do not count.
    """

    name: ClassVar[str] = "doctor-net"
    title: ClassVar[str] = "Doctor Net"
    paper: ClassVar[str] = "Guan, Gulshan, Dai, Hinton: Who Said What, AAAI 2018"
    learns_confusions: ClassVar[bool] = False

    classifier: WorkerHeads

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.classifier.present.copy_(torch.from_numpy(problem.labels_per_worker > 0))

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """One network with a head per worker."""
        return WorkerHeads(network, n_classes, n_workers)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of every label with its worker's head."""
        return {"cross_entropy": self.classifier.own_loss(self.classifier.logits(batch.features), batch)}
