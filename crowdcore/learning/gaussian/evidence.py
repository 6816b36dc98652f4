"""What the workers' labels say of a task: confusions without the task itself, partly pooled over workers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from crowdcore.learning.networks.likelihood import expected_counts

__all__ = ["Annotations"]


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels of some tasks.

    Args:
        task: (A,) 0 … n_tasks - 1.
        worker: (A,).
        label: (A,).
        n_tasks: n.
        n_workers: R.
        n_classes: C.
    """

    task: Tensor
    worker: Tensor
    label: Tensor
    n_tasks: int
    n_workers: int
    n_classes: int

    def votes(self) -> Tensor:
        """(n, C) share of each label, float64."""
        counts = torch.bincount(self.task * self.n_classes + self.label, minlength=self.n_tasks * self.n_classes)
        counts = counts.view(self.n_tasks, self.n_classes).double()
        return counts / counts.sum(1, keepdim=True)

    def prior(self, counts: Tensor, smoothing: float, pooling: float) -> Tensor:
        """(C, C) pseudo-counts of every worker: ``a = α + κ · confusion of all workers together``."""
        pooled = counts.sum(0) + 0.5
        return smoothing + pooling * pooled / pooled.sum(1, keepdim=True)

    def confusion(self, q: Tensor, smoothing: float, pooling: float) -> Tensor:
        """(R, C, C) of all tasks, rows sum to 1."""
        counts = expected_counts(q[self.task], self.worker, self.label, self.n_workers)
        smoothed = counts + self.prior(counts, smoothing, pooling)
        return smoothed / smoothed.sum(2, keepdim=True)

    def log_evidence(self, q: Tensor, smoothing: float, pooling: float) -> Tensor:
        """``Σ_r log π^{r,-i}[c, y_i^r]``, (n, C): the task's own q is left out of its workers' confusions."""
        own = q[self.task]
        counts = expected_counts(own, self.worker, self.label, self.n_workers)
        prior = self.prior(counts, smoothing, pooling)
        given = counts.transpose(1, 2)[self.worker, self.label] + prior.T[self.label] - own
        all_given = counts.sum(2)[self.worker] + prior.sum(1) - own
        terms = (given.clamp_min(1e-6) / all_given.clamp_min(1e-6)).log()
        return torch.zeros_like(q).index_add_(0, self.task, terms)
