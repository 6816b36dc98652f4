"""Annot-Mix: mixup of tasks, workers and labels together."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import TaskConfusionSettings
from crowdcore.learning.networks.layers import Random
from crowdcore.learning.networks.omega import TaskConfusion
from crowdcore.learning.networks.ops import gather_rows
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class AnnotMix(CrowdMethod):
    """``-mean [λ log u[y_a] + (1 - λ) log u[y_b]]`` over annotations a, each with a random partner b of its batch.

    ``u = Σ_c p(c) π[c]`` of the mixed input ``λ x_a + (1 - λ) x_b`` and the mixed worker embedding ``λ e_a + (1 - λ)
    e_b``; confusions as `TaskConfusion` has them, whose task embedding is a linear map of the input. λ is uniform
    in [0, 1], the paper's Beta(α, α) at its default α = 1, drawn for each pair. Losses in evaluation mode are without
    mixing (λ = 1).
    """

    name: ClassVar[str] = "annot-mix"
    title: ClassVar[str] = "Annot-Mix"
    paper: ClassVar[str] = "Herde, Lührs, Huseljic, Sick: Annot-Mix, ECAI 2024"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = TaskConfusionSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.confusion = TaskConfusion(problem, settings.embedding, settings.right)
        self.random = Random()

    def log_labels(self, x: Tensor, e: Tensor) -> Tensor:
        """log u from inputs (A, *input shape) and worker embeddings (A, size) -> (A, C)."""
        log_p = self.log_probs(x)
        return torch.logsumexp(log_p.unsqueeze(-1) + self.confusion(e, self.confusion.task_embedding(x)), -2)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, mixed while training."""
        (e,) = gather_rows(batch.worker, self.confusion.worker)
        x = batch.features.index_select(0, batch.row)
        if not self.training:
            return {"cross_entropy": -batch.mean(_picked(self.log_labels(x, e), batch.label))}
        order, share = self.random.uniform_rows(len(batch.row), 2).to(e.dtype).unbind(-1)
        partner = (order + 2 * (1 - batch.weight)).argsort()  # padding, which is last, has padding for partners
        mixed = share.view(-1, *[1] * (x.dim() - 1))
        x = mixed * x + (1 - mixed) * x.index_select(0, partner)
        e = share.unsqueeze(-1) * e + (1 - share.unsqueeze(-1)) * e.index_select(0, partner)
        log_u = self.log_labels(x, e)
        of_both = _picked(log_u, batch.label), _picked(log_u, batch.label.index_select(0, partner))
        return {"cross_entropy": -batch.mean(share * of_both[0] + (1 - share) * of_both[1])}

    def recovered(self) -> Recovered:
        """Confusions on a task with mean features."""
        return {"worker_confusion": self.confusion.typical()}


def _picked(log_u: Tensor, label: Tensor) -> Tensor:
    return log_u.gather(-1, label.unsqueeze(-1)).squeeze(-1)
