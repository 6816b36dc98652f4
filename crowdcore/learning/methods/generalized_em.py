"""Generalised EM: gradient steps on the marginal likelihood, confusions in closed form."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from crowdcore.learning.networks.targets import ExpectationMaximisation
from crowdcore.learning.training.data import Batch


class GeneralizedEm(ExpectationMaximisation):
    """``-mean_i log Σ_c p_i(c) Π_r π^r[c, y_i^r]``, the likelihood of all labels of a task together.

    Its gradient with respect to the network is that of ``-Σ_c q_i(c) log p_i(c)`` at the current posterior: the
    M-step of the network is a few gradient steps, each after a fresh E-step. The confusions are re-estimated once
    an epoch.
    """

    name: ClassVar[str] = "generalized-em"
    title: ClassVar[str] = "Generalised EM"
    paper: ClassVar[str] = "Raykar et al.: Learning From Crowds, JMLR 2010"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Negative marginal log-likelihood per task."""
        q = self.q.index_select(0, batch.task)
        evidence = self.evidence(q, batch.row, batch.worker, batch.label, batch.weight)
        return {"likelihood": self.target_loss(batch, lambda log_p: -torch.logsumexp(log_p + evidence, -1))}
