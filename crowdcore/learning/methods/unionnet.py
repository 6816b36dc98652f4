"""UnionNet: the labels of all workers as one stacked target, explained by one transition."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import UnionNetSettings
from crowdcore.learning.networks.ops import gather_rows, given_label
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class UnionNet(CrowdMethod):
    """``-mean_i Σ_r log u_i[r, y_i^r]``, where ``u_i`` (R, C) are probabilities that sum to 1 over all its entries.

    ``variant="a"``: ``u_i = softmax(p_i W)``, ``variant="b"``: ``u_i = p_i softmax(W)``; W is (C, R·C), kept as
    ``W[r, c, l]``, and softmax is over r and l together. The confusion of worker r is its block of the transition with
    rows scaled to 1, ``softmax(W[r, c])``.
    """

    name: ClassVar[str] = "unionnet"
    title: ClassVar[str] = "UnionNet"
    paper: ClassVar[str] = (
        "Wei, Xie, Feng, Han, An: Deep Learning From Multiple Noisy Annotators as A Union, IEEE TNNLS 2022"
    )
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = UnionNetSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.variant = settings.variant
        self.weight = nn.Parameter(torch.eye(self.n_classes).repeat(self.n_workers, 1, 1))

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Set blocks with these confusions, all workers alike in weight."""
        self.weight.copy_(confusion.log())

    def log_likelihood(self, batch: Batch) -> Tensor:
        """(A,) log u_i[r, y_i^r]."""
        p = self.log_probs(batch.features).exp()
        logits = given_label(self.weight, batch.worker, batch.label)
        if self.variant == "a":
            whole = torch.logsumexp(torch.einsum("bc,rcl->brl", p, self.weight), (-2, -1))
            p, whole = gather_rows(batch.row, p, whole.unsqueeze(-1))
            return (p * logits).sum(-1) - whole.squeeze(-1)
        (p,) = gather_rows(batch.row, p)
        return (p * (logits - torch.logsumexp(self.weight, (0, 2))).exp()).sum(-1).clamp_min(1e-30).log()

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the stacked labels."""
        return {"cross_entropy": -(batch.weight * self.log_likelihood(batch)).sum() / len(batch.features)}

    def recovered(self) -> Recovered:
        """Each worker's block, rows scaled to 1."""
        return {"worker_confusion": torch.softmax(self.weight, -1)}
