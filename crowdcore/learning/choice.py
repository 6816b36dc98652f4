"""Which candidate predicts best, judged on tasks that it was not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.networks.likelihood import log_softmax, softmax

__all__ = ["Choice", "Scores", "choose", "label_agreement", "label_likelihood"]

_TEMPERATURES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0)
_ROUNDS = 10  # of posterior and confusions
_SMOOTHING, _POOLING = 0.1, 2.0  # of the confusions
_RESAMPLES = 500
_FEW = 0.8  # times the highest agreement with the labels: less is that of clusters that are no classes
_CLEAR = 2.0  # standard errors of a paired difference in accuracy that exclude a candidate
_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one candidate, task by task, out of fold.

    Args:
        candidate: method and settings, in one line.
        right: (n_gold,) whether it names the true class of each validation task with gold.
        likelihood: (n_train,) log-likelihood of the labels of each training task.
        agreement: share of labels that are what it predicts, under the names that make it largest.
    """

    candidate: str
    right: BoolArray
    likelihood: FloatArray
    agreement: float = 1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidate that was chosen.

    Args:
        scores: of all candidates.
        chosen: number of the one that was chosen.
        share: (n_candidates,) share of resamples of the tasks in which each is chosen.
        tied: which candidates are within two standard errors of the highest validation accuracy, or all without gold.
    """

    scores: tuple[Scores, ...]
    chosen: int
    share: FloatArray
    tied: BoolArray

    @property
    def table(self) -> list[dict[str, str | float | None]]:
        """One row per candidate: ``candidate``, ``accuracy`` (None without gold), ``likelihood``, ``chosen_in``."""
        return [
            {
                "candidate": s.candidate,
                "accuracy": float(s.right.mean()) if len(s.right) else None,
                "likelihood": float(s.likelihood.mean()),
                "chosen_in": float(share),
            }
            for s, share in zip(self.scores, self.share, strict=True)
        ]

    @property
    def verdict(self) -> str:
        """What was chosen, how surely, and why."""
        name, share = self.scores[self.chosen].candidate, self.share[self.chosen]
        tied = [s.candidate for s, near in zip(self.scores, self.tied, strict=True) if near]
        if not len(self.scores[0].right):
            why = "Without gold for validation, the likelihood of the labels decided."
        elif len(tied) == 1:
            why = "No other candidate is within two standard errors of its validation accuracy."
        else:
            listed = f"{', '.join(tied[:-1])} and {tied[-1]}"
            why = f"Accuracies of {listed} are within two standard errors, and the likelihood of the labels decided."
        return f"Chosen: {name}, in {100 * share:.0f} % of resamples of the tasks. {why}"

    @property
    def evidence(self) -> str:
        """The scores of all candidates."""
        n_gold, n_train = len(self.scores[0].right), len(self.scores[0].likelihood)
        rows = [
            f"{s.candidate} {100 * s.right.mean():.1f} % and {s.likelihood.mean():.3f}"
            if n_gold
            else f"{s.candidate} {s.likelihood.mean():.3f}"
            for s in self.scores
        ]
        accuracy = f"accuracy on {n_gold:,} validation tasks and " if n_gold else ""
        return f"Out of fold, {accuracy}log-likelihood of the labels of {n_train:,} training tasks: {', '.join(rows)}."


def choose(scores: Sequence[Scores], seed: int = 0) -> Choice:
    """The candidate with the highest validation accuracy; within two standard errors, with the likeliest labels.

    A candidate that agrees with the labels less than 0.8 times as often as another is left aside: its clusters are not
    the classes. Differences are paired over tasks; the bootstrap resamples validation and training tasks.

    Args:
        scores: of every candidate on the same tasks.
        seed: of the bootstrap.
    """
    right = np.stack([s.right for s in scores]).astype(np.float64)
    likelihood = np.stack([s.likelihood for s in scores])
    agreement = np.array([s.agreement for s in scores])
    allowed = agreement >= _FEW * agreement.max()
    rng, count = np.random.default_rng(seed), np.zeros(len(scores))
    for _ in range(_RESAMPLES):
        gold, labels = (rows[:, rng.integers(rows.shape[1], size=rows.shape[1])] for rows in (right, likelihood))
        count[_decide(gold, labels, allowed)[0]] += 1
    chosen, tied = _decide(right, likelihood, allowed)
    return Choice(tuple(scores), chosen, count / _RESAMPLES, tied)


def _decide(right: FloatArray, likelihood: FloatArray, allowed: BoolArray) -> tuple[int, BoolArray]:
    """Number of the best candidate, and which ones the likelihood decides among; (K, n_gold), (K, n_train), (K,)."""
    n = right.shape[1]
    tied = allowed
    if n:
        behind = right[np.where(allowed, right.mean(1), -1.0).argmax()] - right
        tied = allowed & (behind.mean(1) <= _CLEAR * behind.std(1) / np.sqrt(n))
    return int(np.where(tied, likelihood.mean(1), -np.inf).argmax()), tied


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
) -> FloatArray:
    """``log Σ_c p_i(c) Π_r π^{r,-i}[c, y_i^r]`` of each task under each candidate.

    The confusions leave the task out, and are the same for all candidates: they follow from the mean of the candidates'
    posteriors, and those from them, in rounds from vote shares. Every candidate's probabilities are sharpened or
    flattened to the temperature under which the labels are most likely: what says nothing of the labels counts as equal
    probabilities. What a candidate calls its classes does not matter: they are matched to those of the votes.

    Args:
        probabilities: (K, n, C) of K candidates for tasks that they were not fitted on, rows sum to 1.
        task: (A,) 0 … n - 1.
        worker: (A,).
        label: (A,).
        n_workers: R.

    Returns:
        (K, n) float64.
    """
    tasks, workers, labels = (torch.from_numpy(np.array(part, np.int64)) for part in (task, worker, label))
    n_tasks, n_classes = probabilities.shape[1:]
    annotations = Annotations(tasks, workers, labels, n_tasks, n_workers, n_classes)
    q = annotations.votes()
    matched = [p[:, linear_sum_assignment(p.T @ q.numpy(), maximize=True)[1].argsort()] for p in probabilities]
    each = [torch.from_numpy(np.log(np.maximum(p, _SMALLEST))) for p in matched]
    for _ in range(_ROUNDS):
        evidence = annotations.log_evidence(q, _SMOOTHING, _POOLING)
        joint = torch.stack([_at_best_temperature(log_p, evidence) for log_p in each])
        q = softmax(joint).mean(0)
    found: FloatArray = torch.logsumexp(joint, 2).numpy()
    return found


def _at_best_temperature(log_p: Tensor, evidence: Tensor) -> Tensor:
    """log of the joint probability of class and labels, (n, C)."""
    tried = [log_softmax(t * log_p) + evidence for t in _TEMPERATURES]
    return max(tried, key=lambda joint: float(torch.logsumexp(joint, 1).mean()))
