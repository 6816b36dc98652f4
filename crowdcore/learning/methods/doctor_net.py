"""Networks with a head per worker: Doctor Net and its weighted variant."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, EpochContext, Network, Recovered
from crowdcore.learning.method_settings import WdnSettings
from crowdcore.learning.networks.noise_layers import WorkerHeads
from crowdcore.learning.networks.ops import at_label, softmax, take_rows
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


class Wdn(DoctorNet):
    """``-mean log p_i^r(y_i^r)``, then, with the network frozen, ``-mean log m_i(y_i^r)`` for the weights w.

    The prediction is ``Σ_r w_r p_i^r`` with w = softmax of a number per worker with training labels. In the loss of
    the weights a task's own workers are left out: ``m_i = Σ_{s∉R_i} w_s p_i^s / Σ_{s∉R_i} w_s``, so that no weight is
    learnt on labels that its head has seen; tasks that all workers labelled do not count. The weights already learn
    while the network does, which gets no gradient from them.
    """

    name: ClassVar[str] = "wdn"
    title: ClassVar[str] = "Weighted Doctor Net"
    paper: ClassVar[str] = "Guan, Gulshan, Dai, Hinton: Who Said What, AAAI 2018"
    recovers: ClassVar[tuple[str, ...]] = ("worker_weight",)
    Settings: ClassVar[type[Settings]] = WdnSettings

    frozen: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.first = _first_frozen(settings, problem.training.epochs)
        self.state("frozen", torch.zeros(()))

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """One network with a head per worker, and their weights."""
        return WorkerHeads(network, n_classes, n_workers, weighted=True)

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """The mixing weights have a learning rate of their own."""
        return float(settings.noise_lr) if parameter == "classifier.weight" else 1.0

    @classmethod
    def begins_phase(cls, settings: Any, epoch: int, epochs: int) -> bool:
        """Return True where the epochs of the weights alone begin."""
        return epoch == _first_frozen(settings, epochs)

    def start_epoch(self, context: EpochContext) -> None:
        """Freeze the network in the last epochs."""
        self.frozen.fill_(float(context.epoch >= self.first))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of every label with its worker's head, until frozen; and with the mixture of other workers."""
        logits = self.classifier.logits(batch.features)
        n, n_workers = logits.shape[:2]
        labelled = torch.zeros(n * n_workers, dtype=logits.dtype, device=logits.device)
        labelled = labelled.index_add(0, batch.row * n_workers + batch.worker, batch.weight)
        others = self.classifier.log_weight.exp() * (labelled.view(n, n_workers) == 0)
        mixture = torch.einsum("br,brc->bc", others, softmax(logits.detach()))
        given = at_label(take_rows(mixture, batch.row), batch.label)
        share = take_rows(others.sum(-1, keepdim=True), batch.row).squeeze(-1)
        log_m = torch.where(share > 0, given, 1).log() - torch.where(share > 0, share, 1).log()
        return {
            "cross_entropy": (1 - self.frozen) * self.classifier.own_loss(logits, batch),
            "mixing": -batch.mean(log_m),
        }

    def recovered(self) -> Recovered:
        """The mixing weights, which sum to 1."""
        return {"worker_weight": self.classifier.log_weight.exp()}


def _first_frozen(settings: Any, epochs: int) -> int:
    """Epoch, from 0, at which the network is frozen."""
    return epochs - max(1, round(float(settings.mixing_epochs) * epochs))
