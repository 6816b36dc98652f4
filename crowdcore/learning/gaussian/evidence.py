"""Evidence of the labels about a task: confusions without the task itself, partly pooled over workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from crowdcore.learning.networks.ops import expected_counts, log_softmax, softmax

_LIKELY = 16  # classes of a task that the expected agreement looks at
_CELLS = 1 << 21  # cells of confusions that it holds at once
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

    def one_of_each_task(self, draw: int) -> Tensor:
        """(A,) True for a random annotation of each task with several; draws 0 and 1 take different ones."""
        shuffled = torch.randperm(len(self.task), generator=torch.Generator().manual_seed(0)).to(self.task.device)
        by_task = shuffled[torch.argsort(self.task[shuffled], stable=True)]
        of_task = torch.bincount(self.task, minlength=self.n_tasks)
        first = (of_task.cumsum(0) - of_task)[self.task[by_task]]
        rank = torch.empty_like(by_task)
        rank[by_task] = torch.arange(len(by_task)).to(first) - first
        return (rank == draw) & (of_task[self.task] > 1)

    def where(self, keep: Tensor) -> Annotations:
        """Select annotations, (A,) bool; all tasks remain."""
        return replace(self, task=self.task[keep], worker=self.worker[keep], label=self.label[keep])

    def counts(self, q: Tensor) -> Tensor:
        """(R, C, C) expected number of labels, row = true class."""
        parts = (expected_counts(q[task], worker, label, self.n_workers) for task, worker, label in self._chunks())
        return sum(parts, q.new_zeros(()))

    def prior(self, counts: Tensor, smoothing: float, pooling: float) -> Tensor:
        """(C, C) pseudo-counts of every worker: ``a = α + κ · confusion of all workers together``."""
        pooled = counts.sum(0) + 0.5
        return smoothing + pooling * pooled / pooled.sum(1, keepdim=True)

    def confusion(self, counts: Tensor, smoothing: float, pooling: float) -> Tensor:
        """(R, C, C) of all tasks by their `counts`, rows sum to 1."""
        smoothed = counts + self.prior(counts, smoothing, pooling)
        return smoothed / smoothed.sum(2, keepdim=True)

    def shared_mistakes(self, p: Tensor, confusion: Tensor) -> float:
        """η: the share of pairs of labels of one task that agree beyond what independent mistakes explain, 0 to 1.

        ``Σ_i (agreeing_i - e_i) / Σ_i (pairs_i - e_i)`` with ``e_i = Σ_c p_i(c) Σ_{r<s} Σ_l π^r[c, l] π^s[c, l]``, over
        as many tasks as a bounded memory takes, and the 16 most probable classes of each.

        Args:
            p: (n, C) of the features alone, calibrated, by classes that have not seen the task.
            confusion: (R, C, C).
        """
        step, task, worker, agreeing, pairs = self._paired
        top, classes = p[::step].topk(min(_LIKELY, self.n_classes), 1)
        rows = confusion[worker.unsqueeze(1), classes[task]]
        empty = rows.new_zeros(len(top), *rows.shape[1:])
        together, alone = empty.index_add(0, task, rows), empty.index_add(0, task, rows * rows)
        expected = (top / top.sum(1, keepdim=True) * (together * together - alone).sum(2)).sum() / 2
        return float(((agreeing - expected) / (pairs - expected)).nan_to_num(0).clamp(0, 1))

    @cached_property
    def _paired(self) -> tuple[int, Tensor, Tensor, Tensor, Tensor]:
        """Step between tasks whose labels are paired; task (over step) and worker of these labels; number of agreeing
        pairs, and of all pairs."""
        cells = len(self.task) * min(_LIKELY, self.n_classes) * self.n_classes
        step = max(1, -(-cells // _CELLS))  # evenly spaced tasks are enough
        paired = self.task % step == 0
        task, worker, label = self.task[paired] // step, self.worker[paired], self.label[paired]
        counts = torch.bincount(task * self.n_classes + label).double()
        labels = torch.bincount(task).double()
        return step, task, worker, (counts * (counts - 1)).sum() / 2, (labels * (labels - 1)).sum() / 2

    @cached_property
    def _n_other_labels(self) -> Tensor:
        """(n,) labels of every task beside one."""
        return torch.bincount(self.task, minlength=self.n_tasks).double() - 1

    def weight(self, shared: float, without: int = 0) -> Tensor:
        """(n, 1) weight of a label where mistakes are shared: ``1 / (1 + (m_i - 1) η)`` with m_i labels of a task.

        Args:
            shared: η.
            without: number of labels left out of every task.
        """
        return (1 / (1 + (self._n_other_labels - without).clamp_min(0) * shared)).unsqueeze(1)

    def log_evidence(self, q: Tensor, counts: Tensor, prior: Tensor) -> Tensor:
        """``Σ_r log π^{r,-i}[c, y_i^r]``, (n, C), with the `counts` of q; the task's own q is left out of them."""
        evidence = torch.zeros_like(q)
        for task, terms in self.log_terms(q, counts, prior):
            evidence.index_add_(0, task, terms)
        return evidence

    def log_terms(self, q: Tensor, counts: Tensor, prior: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Task and ``log π^{r,-i}[c, y_i^r]``, (a,) and (a, C), of some annotations at a time.

        Args:
            q: (n, C).
            counts: (R, C, C) of q.
            prior: pseudo-counts, (C, C) for every worker or (R, C, C).
        """
        given, all_given = (counts + prior).transpose(1, 2), counts.sum(2) + prior.sum(-1)
        for task, worker, label in self._chunks():
            own = q[task]
            terms = (given[worker, label] - own).clamp_min(1e-6).log_()
            yield task, terms.sub_((all_given[worker] - own).clamp_min(1e-6).log_())

    def without_each(
        self, q: Tensor, features: Tensor, prior: Tensor, shared: float
    ) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]]:
        """Task, worker, label, terms as of `log_terms`, and the log posterior without the label, up to a constant.

        That is ``f_i + w_i Σ_{s≠r} log π^{s,-i}[·, y_i^s]``, of some annotations at a time.

        Args:
            q: (n, C) posterior of all labels.
            features: (n, C) f, log evidence of the features.
            prior: see `log_terms`.
            shared: η of the weights w_i.
        """
        counts = self.counts(q)
        evidence, weight = self.log_evidence(q, counts, prior), self.weight(shared, without=1)
        chunks = zip(self._chunks(), self.log_terms(q, counts, prior), strict=True)
        for (task, worker, label), (_, terms) in chunks:
            yield task, worker, label, terms, features[task] + weight[task] * (evidence[task] - terms)

    def left_out(self, q: Tensor, features: Tensor, prior: Tensor, shared: float) -> tuple[Tensor, float]:
        """Count every label against the posterior of its task without it; arguments of `without_each`.

        A task's only label takes part in its own posterior: features alone would blur the confusions.

        Returns:
            (R, C, C) expected counts, and the mean log-likelihood of the labels, each left out.
        """
        only = (self._n_other_labels == 0).to(q.dtype).unsqueeze(1)
        counts, likelihood = q.new_zeros(self.n_workers, self.n_classes, self.n_classes), 0.0
        for task, worker, label, terms, rest in self.without_each(q, features, prior, shared):
            likelihood += float(torch.logsumexp(log_softmax(rest) + terms, 1).sum())
            counts += expected_counts(softmax(rest + only[task] * terms), worker, label, self.n_workers)
        return counts, likelihood / len(self.task)

    def _chunks(self) -> Iterator[tuple[Tensor, ...]]:
        """Task, worker and label of some annotations at a time."""
        return zip(*(torch.split(c, _CHUNK) for c in (self.task, self.worker, self.label)), strict=True)
