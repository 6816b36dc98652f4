"""CROWDLAB-style: out-of-fold predictions and labels, averaged by how well they agree, then train on the average."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from crowdcore.core.settings import Settings
from crowdcore.learning.base import EpochContext, Network, Recovered
from crowdcore.learning.method_settings import CrowdlabSettings
from crowdcore.learning.networks.targets import PosteriorTrained
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem

_LEAST = 1e-6  # weight of the worst worker, and of the worst network


class Crowdlab(PosteriorTrained):
    """``-mean_i Σ_c q_i(c) log p_i(c)`` with ``q_i = (w₀ p_i + Σ_r w_r g_i^r) / (w₀ + Σ_r w_r)``, once an epoch.

    ``g_i^r(c)`` is P where c is the label and ``(1 - P) / (C - 1)`` elsewhere; P is the mean share of a task's labels
    that agree with its consensus (the vote, ties broken by the network). ``w_r = 1 - (1 - s_r) / (1 - a)`` with s_r the
    agreement of worker r with others, ``w₀ = (1 - (1 - s₀) / (1 - a)) √(labels per task)`` with s₀ that of the network
    with the consensus, and a that of the commonest class; all over tasks with several labels. p_i is out of fold. The
    paper trains once on the consensus; here the network goes on on q.
    """

    name: ClassVar[str] = "crowdlab"
    title: ClassVar[str] = "CROWDLAB-style ensemble"
    paper: ClassVar[str] = "Goh, Tkachenko, Mueller: CROWDLAB, NeurIPS 2022 workshop on human in the loop learning"
    recovers: ClassVar[tuple[str, ...]] = ("worker_weight", "q")
    Settings: ClassVar[type[Settings]] = CrowdlabSettings
    learns_confusions: ClassVar[bool] = False

    worker_weight: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.register_buffer("worker_weight", torch.ones(self.n_workers))

    @classmethod
    def notes(cls, problem: Problem, settings: Any) -> tuple[str, ...]:
        """That nothing tells good workers from bad ones, where it is so."""
        if np.bincount(problem.task[: problem.n_train_annotations]).max() > 1:
            return ()
        return ("No training task has two labels: CROWDLAB cannot see who agrees, and follows its network alone.",)

    def start_epoch(self, context: EpochContext) -> None:
        """The ensemble, except before the network has learnt anything."""
        if context.epoch == 0:
            return
        task, worker, label = context.task, context.worker, context.label
        p = context.log_probs.exp()
        n_classes = self.n_classes
        given = one_hot(label, n_classes).to(p.dtype)
        votes = torch.zeros_like(p).index_add(0, task, given)
        size = votes.sum(-1)
        several = (size > 1).to(p.dtype)
        several = torch.where(several.sum() > 0, several, 1.0)
        consensus = torch.where(votes == votes.amax(-1, keepdim=True), p, -1.0).argmax(-1)

        def share(right: Tensor) -> Tensor:
            return (several * right).sum() / several.sum()

        agreed = votes.gather(-1, consensus.unsqueeze(-1)).squeeze(-1) / size
        most_likely = share(agreed).clamp(1 / n_classes, 1 - _LEAST)
        commonest = one_hot(consensus, n_classes).sum(0).argmax()
        chance = (1 - share((consensus == commonest).to(p.dtype))).clamp_min(_LEAST)
        others = size.index_select(0, task) - 1
        agreeing = votes.index_select(0, task).gather(-1, label.unsqueeze(-1)).squeeze(-1) - 1
        sums = torch.zeros(self.n_workers, 2, dtype=p.dtype, device=p.device)
        agreement, compared = sums.index_add(0, worker, torch.stack([agreeing, others], -1)).unbind(-1)
        mean = agreeing.sum() / others.sum().clamp_min(1)
        skill = torch.where(compared > 0, agreement / compared.clamp_min(1), mean)
        weight = (1 - (1 - skill) / chance).clamp_min(_LEAST)
        own = 1 - (1 - share((p.argmax(-1) == consensus).to(p.dtype))) / chance
        network = own.clamp_min(_LEAST) * size.mean().sqrt()
        wrong = (1 - most_likely) / (n_classes - 1)
        of_labels = weight.index_select(0, worker).unsqueeze(-1) * (wrong + (most_likely - wrong) * given)
        q = (network * p).index_add(0, task, of_labels)
        self.q.copy_(q / q.sum(-1, keepdim=True))
        self.worker_weight.copy_(weight)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the ensemble."""
        q = self.q.index_select(0, batch.task)
        return {"cross_entropy": self.target_loss(batch, lambda log_p: -(q * log_p).sum(-1))}

    def recovered(self) -> Recovered:
        """w_r, and the ensemble of the training tasks."""
        return {"worker_weight": self.worker_weight, "q": self.q}
