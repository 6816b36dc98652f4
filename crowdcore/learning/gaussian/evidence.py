"""What the workers' labels say of a task: confusions without the task itself, partly pooled over workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from crowdcore.learning.networks.likelihood import expected_counts

__all__ = ["Annotations"]

_CHUNK = 2**18  # annotations at a time


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

    def counts(self, q: Tensor) -> Tensor:
        """(R, C, C) expected number of labels, row = true class."""
        parts = (expected_counts(q[task], worker, label, self.n_workers) for task, worker, label in self._chunks())
        return sum(parts, q.new_zeros(()))

    def prior(self, counts: Tensor, smoothing: float, pooling: float) -> Tensor:
        """(C, C) pseudo-counts of every worker: ``a = α + κ · confusion of all workers together``."""
        pooled = counts.sum(0) + 0.5
        return smoothing + pooling * pooled / pooled.sum(1, keepdim=True)

    def confusion(self, q: Tensor, smoothing: float, pooling: float) -> Tensor:
        """(R, C, C) of all tasks, rows sum to 1."""
        counts = self.counts(q)
        smoothed = counts + self.prior(counts, smoothing, pooling)
        return smoothed / smoothed.sum(2, keepdim=True)

    def log_evidence(self, q: Tensor, smoothing: float, pooling: float) -> Tensor:
        """``Σ_r log π^{r,-i}[c, y_i^r]``, (n, C): the task's own q is left out of its workers' confusions."""
        counts = self.counts(q)
        prior = self.prior(counts, smoothing, pooling)
        given, all_given = (counts + prior).transpose(1, 2), counts.sum(2) + prior.sum(1)
        evidence = torch.zeros_like(q)
        for task, worker, label in self._chunks():
            own = q[task]
            terms = (given[worker, label] - own).clamp_min(1e-6).log_()
            evidence.index_add_(0, task, terms.sub_((all_given[worker] - own).clamp_min(1e-6).log_()))
        return evidence

    def _chunks(self) -> Iterator[tuple[Tensor, ...]]:
        """Task, worker and label of some annotations at a time."""
        return zip(*(torch.split(c, _CHUNK) for c in (self.task, self.worker, self.label)), strict=True)
