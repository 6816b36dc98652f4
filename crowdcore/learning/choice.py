"""Choice of a mean of candidates, by gold or by the labels of tasks that they were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from crowdcore.core.spelling import Part
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.networks.ops import log_softmax, softmax

_BY_GOLD = "is more than two standard errors less accurate on the validation tasks with gold"
_BY_LABELS = "makes the labels less likely by more than two standard errors"
_BY_AGREEMENT = "predicts far fewer labels and does not make them clearly more likely: its clusters are not the classes"
_OTHER_NAMES = "gives the classes other names"
_BY_WEIGHT = "would hardly change the mean"
_POWERS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0)
_ROUNDS = 10  # of posterior and confusions
_SMOOTHING, _POOLING = 0.1, 2.0  # of the confusions
_SMALLEST = 1e-12
_TRUSTED, _STEEP = 0.9, 10.0  # largest weight of gaussian-em beforehand, and how it grows with shared mistakes

_RESAMPLES = 500
_FEW = 0.8  # times the highest agreement with the labels: less is that of clusters that are no classes
_FEWER = 0.9  # the same, below which nothing is believed beforehand
_CLEAR = 2.0  # standard errors of a paired difference that exclude a candidate
_STEPS = 500  # towards the likeliest weights
_MANY = 0.1  # of the training tasks: candidates that name more of them differently are not alike
_LIGHT = 0.05  # weight below which a candidate is not worth its training


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one candidate, task by task, out of fold.

    Args:
        candidate: method and settings, in one line.
        right: (n_gold,) True where it predicts the true class of a validation task with gold.
        gold: (n_gold,) log-probability of that class.
        likelihood: (n_train,) log-likelihood of the labels of each training task.
        predicted: (n_train,) class that it predicts for each training task.
        agreement: share of labels that equal its prediction, under the names that make it largest.
        prior: part of the weight that it has beforehand where no gold is known.
        power: power of its probabilities, in all these scores and in a mean.
    """

    candidate: str
    right: BoolArray
    gold: FloatArray
    likelihood: FloatArray
    predicted: IntArray
    agreement: float = 1.0
    prior: float = 0.0
    power: float = 1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """Weights of candidates.

    Args:
        scores: scores of all candidates.
        weight: (n_candidates,) weight in the mean of probabilities, sum 1; 0 = excluded.
        left_aside: (n_candidates,) reason of the exclusion, "" if not excluded.
        share: (n_candidates,) share of resamples of the tasks in which each is the likeliest of those not excluded.
    """

    scores: tuple[Scores, ...]
    weight: FloatArray
    left_aside: tuple[str, ...]
    share: FloatArray

    @property
    def chosen(self) -> int:
        """Number of the candidate with the highest weight."""
        return int(self.weight.argmax())

    @property
    def parts(self) -> list[Part]:
        """Candidates with a weight, the highest first."""
        order = [k for k in np.argsort(-self.weight, kind="stable") if self.weight[k] > 0]
        return [Part(float(self.weight[k]), self.scores[k].candidate, self.scores[k].power) for k in order]

    @property
    def table(self) -> list[dict[str, str | float | None]]:
        """One row per candidate: candidate, accuracy (None without gold), likelihood, weight, chosen_in."""
        return [
            {
                "candidate": s.candidate,
                "accuracy": float(s.right.mean()) if len(s.right) else None,
                "likelihood": float(s.likelihood.mean()),
                "weight": float(weight),
                "chosen_in": float(share),
            }
            for s, weight, share in zip(self.scores, self.weight, self.share, strict=True)
        ]

    @property
    def verdict(self) -> str:
        """The chosen candidates, how sure the choice is, and why the others were excluded."""
        (_, name, _), *others = self.parts
        listed = " and ".join(f"{line} (weight {weight:.2f})" for weight, line, _ in self.parts)
        chosen = f"the mean of {listed}" if others else name
        leads = f"{name} is the likeliest in {100 * self.share[self.chosen]:.0f} % of resamples of the tasks"
        excluded = [f"{s.candidate} {why}." for s, why in zip(self.scores, self.left_aside, strict=True) if why]
        return " ".join([f"Chosen: {chosen}; {leads}.", *excluded])

    @property
    def doubt(self) -> str | None:
        """The question that only gold can decide, with the remedy; None without doubt."""
        lead, agreement = self.scores[self.chosen], [s.agreement for s in self.scores]
        other = self.scores[int(np.argmax(agreement))]
        if len(lead.right):
            return None
        remedy = "Without gold this cannot be decided: add gold for 20 validation tasks."
        if lead.agreement < _FEW * other.agreement:
            return (
                f"{other.candidate} predicts {100 * other.agreement:.0f} % of the labels and {lead.candidate} only "
                f"{100 * lead.agreement:.0f} %, but the labels are more likely under the latter: most labels may be "
                f"one shared mistake, or its classes may differ from yours. {remedy}"
            )
        unlike = [s.candidate for s, why in zip(self.scores, self.left_aside, strict=True) if why == _OTHER_NAMES]
        if unlike:
            return f"{' and '.join(unlike)} could match {lead.candidate}, but would exchange classes. {remedy}"
        alike = [s for s, why in zip(self.scores, self.left_aside, strict=True) if why in ("", _BY_WEIGHT)]
        differ = float(np.any([s.predicted != lead.predicted for s in alike], 0).mean())
        if differ > _MANY:
            return (
                f"{' and '.join(s.candidate for s in alike)} disagree on {100 * differ:.0f} % of the training tasks, "
                "and the labels do not show which is right: the choice may not be the best. Gold for validation tasks "
                "would decide; the more, the better."
            )
        return None

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
    """Choose the weight of each candidate in the mean of their probabilities.

    Excluded are, in this order, candidates with clearly lower validation accuracy than the best; under which the labels
    are clearly less likely; that agree with the labels less than 0.8 times as often as another one; that name classes
    otherwise than the likeliest (without gold: than the one with the highest prior). Clearly means by two standard
    errors of the difference paired over tasks. The weights of the others maximise the probability of all out-of-fold
    evidence, labels of training tasks and gold of validation tasks (stacking). Without gold, part of the weight is the
    prior, as labels reward shared mistakes, and every candidate gets one more task; a candidate that predicts less than
    0.9 times as many labels as another one has no prior.

    Args:
        scores: scores of every candidate on the same tasks.
        seed: seed of the bootstrap over validation and training tasks.
    """
    right = np.stack([s.right for s in scores]).astype(np.float64)
    gold, likelihood = (np.stack([getattr(s, part) for s in scores]) for part in ("gold", "likelihood"))
    agreement = np.array([s.agreement for s in scores])
    rng, count = np.random.default_rng(seed), np.zeros(len(scores))
    for _ in range(_RESAMPLES):
        of_gold, of_labels = (rng.integers(rows.shape[1], size=rows.shape[1]) for rows in (right, likelihood))
        possible = [not why for why in _reasons(right[:, of_gold], likelihood[:, of_labels], agreement)]
        evidence = gold[:, of_gold].sum(1) + likelihood[:, of_labels].sum(1)
        count[np.where(possible, evidence, -np.inf).argmax()] += 1
    reasons = _reasons(right, likelihood, agreement)
    believed = (not gold.shape[1]) & (agreement >= _FEWER * agreement.max())
    scores = [replace(s, prior=s.prior * one) for s, one in zip(scores, believed, strict=True)]
    prior = np.array([s.prior for s in scores])
    log_likelihood = np.concatenate([likelihood, gold], 1)
    lead = max((k for k, why in enumerate(reasons) if not why), key=lambda k: (prior[k], log_likelihood[k].sum()))
    for k, other in enumerate(scores):
        if not reasons[k] and not same_names(other.predicted, scores[lead].predicted):
            reasons[k] = _OTHER_NAMES
    kept = np.flatnonzero([not why for why in reasons])
    weight = np.zeros(len(scores))
    fitted = stacked(log_likelihood[kept], equal=0 if gold.shape[1] else len(kept))
    weight[kept] = prior[kept] + (1 - prior[kept].sum()) * fitted
    for k in kept[weight[kept] < _LIGHT]:
        reasons[k] = _BY_WEIGHT
    weight[weight < _LIGHT] = 0
    return Choice(tuple(scores), weight / weight.sum(), tuple(reasons), count / _RESAMPLES)


def stacked(log_likelihood: FloatArray, equal: float = 0.0) -> FloatArray:
    """(K,) weights w ≥ 0 with sum 1 that maximise ``Σ_i log Σ_k w_k L_ik + m Σ_k log(w_k) / K``, by EM from equal ones.

    Args:
        log_likelihood: (K, n) log L.
        equal: m, tasks that would have equal weights.
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max(0))
    weight = np.full(len(likelihood), 1 / len(likelihood))
    for _ in range(_STEPS):
        part = weight[:, None] * likelihood
        weight = ((part / part.sum(0)).sum(1) + equal / len(weight)) / (likelihood.shape[1] + equal)
    return weight


def _reasons(right: FloatArray, likelihood: FloatArray, agreement: FloatArray) -> list[str]:
    """Reason to exclude each candidate, "" without; (K, n_gold), (K, n_train), (K,)."""
    reasons = [""] * len(agreement)

    def exclude(out: BoolArray, why: str) -> BoolArray:
        for k in np.flatnonzero(out):
            reasons[k] = reasons[k] or why
        return np.array([not reason for reason in reasons])

    kept = np.ones(len(agreement), bool)
    for values, why in ((right, _BY_GOLD), (likelihood, _BY_LABELS)):
        if n := values.shape[1]:
            behind = values[np.where(kept, values.mean(1), -np.inf).argmax()] - values
            kept = exclude(behind.mean(1) > _CLEAR * behind.std(1) / np.sqrt(n), why)
    exclude(agreement < _FEW * agreement[kept].max(), _BY_AGREEMENT)
    return reasons


def same_names(predicted: IntArray, other: IntArray) -> bool:
    """Return True if no renaming of the classes makes two predictions agree more often.

    Args:
        predicted: (n,) classes.
        other: (n,) classes of the same tasks.
    """
    n_classes = int(max(predicted.max(), other.max())) + 1
    together = np.bincount(predicted * n_classes + other, minlength=n_classes**2).reshape(n_classes, n_classes)
    return bool(together.trace() >= together[linear_sum_assignment(together, maximize=True)].sum())


class LabelEvidence(NamedTuple):
    """Evidence of the labels of training tasks about K candidates.

    Attributes:
        likelihood: (K, n) log-likelihood of the labels of each task under each candidate.
        powers: power of each candidate's probabilities under which the labels are most likely.
        shared: η, the share of pairs of labels of one task that agree beyond what independent mistakes explain.
    """

    likelihood: FloatArray
    powers: list[float]
    shared: float


def label_agreement(predicted: IntArray, label: IntArray, n_classes: int) -> float:
    """Share of labels that equal the prediction, maximised over the names of the predicted classes.

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

    The confusions leave the task out and are shared by all candidates: they alternate with the mean of the candidates'
    posteriors, from vote shares. Every candidate's probabilities are raised to the power under which the labels are
    most likely, and its classes are matched with those of the votes.

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
        counts = annotations.counts(q)
        evidence = annotations.log_evidence(q, counts, annotations.prior(counts, _SMOOTHING, _POOLING))
        powers = [_likeliest_power(log_p, evidence) for log_p in each]
        features = torch.stack([log_softmax(power * log_p) for power, log_p in zip(powers, each, strict=True)])
        q = softmax(features + evidence).mean(0)
    confusion = annotations.confusion(annotations.counts(q), _SMOOTHING, _POOLING)
    shared = annotations.shared_mistakes(softmax(features).mean(0), confusion)
    return LabelEvidence(torch.logsumexp(features + evidence, 2).numpy(), powers, shared)


def _likeliest_power(log_p: Tensor, evidence: Tensor) -> float:
    """The power of p under which the labels are most likely, (n, C)."""
    return max(_POWERS, key=lambda power: float(torch.logsumexp(log_softmax(power * log_p) + evidence, 1).mean()))


def cluster_prior(shared: float) -> float:
    """Prior weight of `gaussian-em` without gold, ``min(0.9, 10 η)``: networks learn shared mistakes more easily.

    Args:
        shared: η, the share of pairs of labels of one task that agree beyond what independent mistakes explain.
    """
    return min(_TRUSTED, _STEEP * shared)
