"""What the labels of training tasks say of candidates that predict these tasks without having seen them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.networks.rows import log_softmax, softmax

_POWERS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0)
_ROUNDS = 10  # of posterior and confusions
_SMOOTHING, _POOLING = 0.1, 2.0  # of the confusions
_SMALLEST = 1e-12
_TRUSTED, _STEEP = 0.7, 3.0  # weight of gaussian-em beforehand, and how it grows with shared mistakes


class LabelEvidence(NamedTuple):
    """What the labels say.

    Attributes:
        likelihood: (K, n) log-likelihood of the labels of each task under each candidate.
        powers: of each candidate's probabilities, under which the labels are most likely.
        shared: η, the share of pairs of labels of one task that agree beyond what independent mistakes explain.
    """

    likelihood: FloatArray
    powers: list[float]
    shared: float


def label_agreement(predicted: IntArray, label: IntArray, n_classes: int) -> float:
    """Share of labels that are what is predicted, under the names of the predicted classes that make it largest.

    Args:
        predicted: (A,) class predicted for the task of each label.
        label: (A,).
        n_classes: C.
    """
    together = np.bincount(predicted * n_classes + label, minlength=n_classes**2).reshape(n_classes, n_classes)
    return float(together[linear_sum_assignment(together, maximize=True)].sum() / len(label))


def label_likelihood(
    probabilities: FloatArray, task: IntArray, worker: IntArray, label: IntArray, n_workers: int
) -> LabelEvidence:
    """``log Σ_c p_i(c) Π_r π^{r,-i}[c, y_i^r]`` of each task under each candidate.

    The confusions leave the task out, and are the same for all candidates: they follow from the mean of the candidates'
    posteriors, and those from them, in rounds from vote shares. Every candidate's probabilities are raised to the power
    under which the labels are most likely: what says nothing of the labels counts as equal probabilities. What a
    candidate calls its classes does not matter: they are matched to those of the votes.

    Args:
        probabilities: (K, n, C) of K candidates for tasks that they were not fitted on, rows sum to 1.
        task: (A,) 0 … n - 1.
        worker: (A,).
        label: (A,).
        n_workers: R.
    """
    tasks, workers, labels = (torch.from_numpy(np.array(part, np.int64)) for part in (task, worker, label))
    n_tasks, n_classes = probabilities.shape[1:]
    annotations = Annotations(tasks, workers, labels, n_tasks, n_workers, n_classes)
    q = annotations.votes()
    matched = [p[:, linear_sum_assignment(p.T @ q.numpy(), maximize=True)[1].argsort()] for p in probabilities]
    each = [torch.from_numpy(np.log(np.maximum(p, _SMALLEST))) for p in matched]
    for _ in range(_ROUNDS):
        evidence = annotations.log_evidence(q, annotations.counts(q), _SMOOTHING, _POOLING)
        powers = [_likeliest_power(log_p, evidence) for log_p in each]
        features = torch.stack([log_softmax(power * log_p) for power, log_p in zip(powers, each, strict=True)])
        q = softmax(features + evidence).mean(0)
    confusion = annotations.confusion(annotations.counts(q), _SMOOTHING, _POOLING)
    shared = annotations.shared_mistakes(softmax(features).mean(0), confusion)
    return LabelEvidence(torch.logsumexp(features + evidence, 2).numpy(), powers, shared)


def _likeliest_power(log_p: Tensor, evidence: Tensor) -> float:
    """The power of p under which the labels are most likely, (n, C)."""
    return max(_POWERS, key=lambda power: float(torch.logsumexp(log_softmax(power * log_p) + evidence, 1).mean()))


def trusted(shared: float) -> float:
    """Weight of `gaussian-em` beforehand, ``min(1, 0.7 + 3 η)``, where no gold is known.

    Networks learn more easily to foretell mistakes that workers share, and labels reward it.

    Args:
        shared: η, the share of pairs of labels of one task that agree beyond what independent mistakes explain.
    """
    return min(1.0, _TRUSTED + _STEEP * shared)
