"""Initial worker matrices: identity, an aggregator's estimates, or the result of a first stage."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from crowdcore.core.types import FloatArray
from crowdcore.learning.training.problem import Problem

_POOLED = 1.0  # annotations per row that the pooled confusion counts for
_SMALLEST = 1e-3  # entries of a start are at least this, so that gradients reach them


def counted_confusion(problem: Problem, aggregator: str) -> FloatArray:
    """(R, C, C) confusions under an aggregator's posterior of the training tasks, each drawn to the pooled one.

    ``π^r[c, l] ∝ n^r_cl + κ π̄[c, l]`` with expected counts n and κ = 1, so that workers with few labels start like
    the crowd; entries are at least 0.001 before rows are scaled to sum 1.
    """
    n, (n_workers, n_classes) = problem.n_train_annotations, (problem.n_workers, problem.n_classes)
    q = problem.votes(aggregator)[problem.task[:n]]
    given = np.zeros((n_workers * n_classes, n_classes))
    np.add.at(given, problem.worker[:n] * n_classes + problem.label[:n], q)
    counts = given.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)
    pooled = counts.sum(0) + np.eye(n_classes) / n_classes
    pooled /= pooled.sum(1, keepdims=True)
    confusion = np.maximum((counts + _POOLED * pooled) / (counts.sum(2, keepdims=True) + _POOLED), _SMALLEST)
    return np.asarray(confusion / confusion.sum(2, keepdims=True))


def split_confusion(confusion: Tensor) -> tuple[Tensor, Tensor]:
    """Common (C, C) and individual (R, C, C) confusions whose equal mixture comes nearest to ``confusion`` (R, C, C).

    The common one is the mean over workers; what it already explains is taken from each worker's own.
    """
    common = confusion.mean(0)
    own = (2 * confusion - common).clamp_min(_SMALLEST)
    return common, own / own.sum(-1, keepdim=True)
