"""Labels of each worker, counted by the class that a trained classifier and the other labels predict."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from crowdcore.analysis.workers.confusion import rows_of_crowd
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.networks.ops import softmax
from crowdcore.learning.training.problem import Problem

_SHARED = (1e6, 3.0, 1.0, 0.5, 0.2, 0.0)  # η, from labels that count as one of a task to labels that err independently
_ROUNDS = 2  # of posterior and confusions for each η, from the posterior of the one before
_POOLING = 4.0  # labels of the crowd, at the worker's skill, in confusions that judge a task
_RIDGE = 1e-3  # times tasks, in units of the inputs' mean square
_SURE = 1e-3  # probability below which the classifier's certainty is not learnt
_NUMBERS, _DIRECTIONS = 50_000_000, 1000  # in inputs that the classifier is fitted to; of inputs beyond, random ones


def counts_by_classifier(annotations: Annotations, log_p: Tensor) -> FloatArray:
    """(R, C, C) float32 expected labels by class, each counted against a posterior that leaves it out.

    Rounds of ``q_i ∝ p_i exp(w_i Σ_r log π^{r,-i}[·, y_i^r])``, ``w_i = 1 / (1 + (m_i - 1) η)``, with π counted from q;
    η makes every label likeliest under the q of the other ones.

    Args:
        annotations: of n tasks.
        log_p: (n, C) float64, of the classifier, preferably without having seen the task's labels.
    """
    q, best, best_counts = softmax(log_p), -np.inf, torch.zeros(())
    for k, shared in enumerate(_SHARED):
        weight = annotations.weight(shared)
        for _ in range(_ROUNDS + (k == 0)):
            counts = annotations.counts(q)
            q = softmax(log_p + weight * annotations.log_evidence(q, counts, _prior(counts)))
        counted, likelihood = annotations.left_out(q, log_p, _prior(annotations.counts(q)), shared)
        if likelihood < best:
            break
        best, best_counts = likelihood, counted
    return np.asarray(best_counts.float().numpy())


def _prior(counts: Tensor) -> Tensor:
    return _POOLING * torch.from_numpy(rows_of_crowd(counts.numpy()))


def without_task(inputs: AnyArray, probabilities: FloatArray) -> FloatArray:
    """(S, n, C) log p that a ridge regression of the classifier's log p on the inputs of the other tasks predicts.

    A network memorises the labels that it was trained on; a fit without a task judges its labels better.
    Leaving out a task is exact: ``f_i - (y_i - f_i) h_i / (1 - h_i)`` with h the leverages of the fit f.

    Args:
        inputs: (n, F).
        probabilities: (S, n, C) of the classifier of each seed.
    """
    x = torch.from_numpy(np.asarray(inputs, np.float64))
    n_seeds, n, n_classes = probabilities.shape
    y = torch.from_numpy(np.log(np.maximum(probabilities.astype(np.float64), _SURE)))
    y = (y - y.mean(2, keepdim=True)).transpose(0, 1).reshape(n, -1)
    if min(x.shape) > _DIRECTIONS:
        x = x @ torch.randn(x.shape[1], _DIRECTIONS, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    x = x - x.mean(0)
    x = x / x.square().sum(1).mean().sqrt().clamp_min(1e-12)
    if x.shape[1] > n:  # the same products between tasks, with as many coordinates as tasks
        x = torch.linalg.cholesky(x @ x.T + 1e-9 * torch.eye(n, dtype=x.dtype))
    mean = y.mean(0)
    root = torch.linalg.cholesky(x.T @ x + _RIDGE * n * torch.eye(x.shape[1], dtype=x.dtype))
    z = torch.linalg.solve_triangular(root, x.T, upper=False)  # (F, n)
    left = (z * z).sum(0).unsqueeze(1)
    fitted = z.T @ (z @ (y - mean))
    out = (fitted - left * (y - mean)) / (1 - left) + mean
    return np.asarray(torch.log_softmax(out.view(n, n_seeds, n_classes).transpose(0, 1), -1).numpy())


def counts_of_problem(problem: Problem, probabilities: FloatArray) -> FloatArray:
    """(S, R, C, C) float32 counts by the classifiers of S seeds, with the classes as these name them.

    Args:
        problem: the data they were trained on.
        probabilities: (S, n, C) of its tasks, the training tasks first.
    """
    n, a = problem.n_train, problem.n_train_annotations
    p, shape = probabilities[:, :n], problem.input_shape
    log_p = np.log(np.maximum(p.astype(np.float64), 1e-12))
    if len(shape) == 1 and problem.sentence_start is None and n * shape[0] <= _NUMBERS:
        rows = torch.from_numpy(np.ascontiguousarray(problem.rows[problem.order[:n]]))
        log_p = without_task(problem.preparation(rows).numpy(), p)
    columns = (problem.task[:a], problem.worker[:a], problem.label[:a])
    return counts_of_seeds(columns, log_p, problem.n_workers)


def counts_of_seeds(columns: tuple[IntArray, ...], log_p: FloatArray, n_workers: int) -> FloatArray:
    """(S, R, C, C) `counts_by_classifier` of each seed: task, worker, label (A,) each, and (S, n, C)."""
    task, worker, label = (torch.from_numpy(np.array(column, np.int64)) for column in columns)
    annotations = Annotations(task, worker, label, log_p.shape[1], n_workers, log_p.shape[2])
    return np.stack([counts_by_classifier(annotations, torch.from_numpy(one)) for one in log_p])
