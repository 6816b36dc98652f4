"""What the labels of a task say of its class, where labels of one task depend on each other."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from crowdcore.aggregation._dependence import beyond_independent
from crowdcore.analysis.workers.confusion import row_shares
from crowdcore.core.kernels import soft_confusion_counts, softmax_rows
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

_CELLS = 1 << 21  # shares of confusions that agreement is expected from at once
_LIKELY = 6  # classes of a task that the expected agreement looks at
_ENOUGH, _LEAST = 0.5, 1e-9  # labels of other tasks below which the crowd's row stands for the worker's
_MOST = 0.95  # η
_ROUNDS, _CLOSE = 10, 2e-3  # steps towards η, and the change at which they end


class Evidence:
    """The likelihood of each task's labels under each class, if every task has confusions of its own.

    Rows of a task's confusion are drawn around the workers', ``θ_ic ~ Dirichlet((1 - η) / η · π_c)``, so that labels of
    one task repeat each other: two labels on a task of class c agree with probability ``η + (1 - η) Σ_l π_cl²``. With θ
    summed out (Pólya's urn), a label after k equal ones of its task counts ``(1 - η) g + η k``, and the product over
    the labels, but for a constant, is their likelihood. g is the geometric mean of ``π^r[c, l]`` over the workers who
    gave the task this label, so that the order of labels does not matter. η = 0 is Dawid & Skene's ``Π_r π^r[c, y^r]``.

    Args:
        dataset: the annotations, no repeats.
        log_confusion: (n_annotations, C) log of ``π^r[c, y_i^r]`` for each class c.
    """

    def __init__(self, dataset: CrowdDataset, log_confusion: FloatArray) -> None:
        from crowdcore.core import kernels_beliefs_numba as loops  # compiled loops are loaded when needed

        self._loops, self._dataset, self._log_confusion = loops, dataset, log_confusion
        self._independent = np.full((dataset.n_tasks, log_confusion.shape[1]), np.nan)
        loops.add_up(dataset.task_start, log_confusion, self._independent)

    def log(self, dependence: float) -> FloatArray:
        """(n_tasks, C) log-likelihoods but for a constant of each task; NaN without labels."""
        if dependence == 0:
            return self._independent
        out = np.full_like(self._independent, np.nan)
        self._loops.log_urns(self._dataset.task_start, *self._equal_labels, dependence, out)
        return out

    def beliefs(self, dependence: float, log_prior: FloatArray) -> FloatArray:
        """(n_tasks, C) probabilities of the classes, with the log class shares (C,) or (n_tasks, C)."""
        scores = self.log(dependence) + log_prior
        softmax_rows(scores)
        return scores

    @cached_property
    def _equal_labels(self) -> tuple[FloatArray, FloatArray]:
        of = self._dataset
        return self._loops.equal_labels(of.task_start, of.label, self._log_confusion, of.n_classes)


def agreement_beyond(dataset: CrowdDataset, posterior: FloatArray) -> float:
    """η of a posterior: the share of pairs of labels of one task that agree beyond what independent mistakes explain.

    ``η̂ = Σ_i (agreeing_i - e_i) / (1 + Σ_i (pairs_i - e_i))`` with
    ``e_i = Σ_c q_i(c) Σ_{r<s} Σ_l π^r[c, l] π^s[c, l]``; π are shares of counts without task i, so that under a right
    posterior the sums are 0 on average whatever the number of labels. As noise can only seem to be dependence,
    ``η = (η̂² - s²)₊ / η̂``, with s² the variance of η̂ over tasks.

    Pairs of evenly spaced tasks are enough; counts take all.

    Args:
        dataset: the annotations, no repeats.
        posterior: (n_tasks, C) of all annotated tasks.
    """
    n_classes, task = dataset.n_classes, dataset.task
    counts = soft_confusion_counts(task, dataset.worker, dataset.label, posterior, dataset.n_workers)
    crowd = row_shares(counts.sum(0) + _LEAST)
    likely = min(_LIKELY, n_classes)
    step = -(-dataset.n_annotations * likely * n_classes // _CELLS)
    several = (dataset.labels_per_task > 1) & (np.arange(dataset.n_tasks) % max(step, 1) == 0)
    rows = np.flatnonzero(several[task])
    if not len(rows):
        return 0.0
    q = posterior[task[rows]]
    top = np.argsort(-q, axis=1, kind="stable")[:, :likely]  # e_i takes the likeliest classes alone
    weight = np.take_along_axis(q, top, 1)
    shares = counts[dataset.worker[rows, None], top]  # (annotations, likely, C)
    shares[np.arange(len(rows)), :, dataset.label[rows]] -= weight
    total = shares.sum(2)
    few = total <= _ENOUGH
    shares /= np.maximum(total, _ENOUGH)[:, :, None]
    shares[few] = crowd[top[few]]
    number, likeliest = (np.cumsum(several) - 1)[task[rows]], np.flatnonzero(np.diff(task[rows], prepend=-1))
    beyond, room = beyond_independent(number, dataset.label[rows], shares, weight[likeliest], n_classes)
    all_room = 1 + room.sum()  # one pair more, for crowds without any mistake
    eta = beyond.sum() / all_room
    noise = ((beyond - eta * room) ** 2).sum() / all_room**2
    return float(np.clip(eta - noise / eta, 0, _MOST)) if eta > 0 else 0.0


def dependence_left(dataset: CrowdDataset, evidence: Evidence, log_prior: FloatArray) -> float:
    """η that the beliefs under η leave: the fixed point of ``η = agreement_beyond(q(η))``, reached from 0.

    Where labels agree beyond what q explains, q is less sure; and as q then explains less of the agreement, η grows a
    little more.

    Args:
        dataset: the annotations, no repeats.
        evidence: by confusions that are counted on the other tasks.
        log_prior: (C,) or (n_tasks, C) log class shares but for a constant of each task.
    """
    eta = 0.0
    for _ in range(_ROUNDS):
        before, eta = eta, agreement_beyond(dataset, evidence.beliefs(eta, log_prior))
        if abs(eta - before) < _CLOSE:
            break
    return eta
