"""Which candidate predicts best, judged on tasks that it was not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from crowdcore.core.spelling import Part
from crowdcore.core.types import BoolArray, FloatArray, IntArray

_RESAMPLES = 500
_FEW = 0.8  # times the highest agreement with the labels: less is that of clusters that are no classes
_CLEAR = 2.0  # standard errors of a paired difference that exclude a candidate
_SURE, _FEWEST = 3.0, 100  # the same, and tasks with gold, that end its trials early
_STEPS = 500  # towards the likeliest weights
_MANY = 0.1  # of the training tasks: candidates that name more of them differently are not alike
_LIGHT = 0.05  # weight below which a candidate is not worth its training


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one candidate, task by task, out of fold.

    Args:
        candidate: method and settings, in one line.
        right: (n_gold,) whether it names the true class of each validation task with gold.
        gold: (n_gold,) log-probability of that class.
        likelihood: (n_train,) log-likelihood of the labels of each training task.
        predicted: (n_train,) class that it predicts for each training task.
        agreement: share of labels that are what it predicts, under the names that make it largest.
        prior: part of the weight that it has beforehand where no gold is known.
        power: of its probabilities, in all these scores and in a mean.
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
    """What each candidate weighs.

    Args:
        scores: of all candidates.
        weight: (n_candidates,) in the mean of probabilities that is the best predictor, sum 1; 0 = left aside.
        left_aside: (n_candidates,) why, "" for those that are not.
        share: (n_candidates,) share of resamples of the tasks in which each is the likeliest that is not left aside.
    """

    scores: tuple[Scores, ...]
    weight: FloatArray
    left_aside: tuple[str, ...]
    share: FloatArray

    @property
    def chosen(self) -> int:
        """Number of the candidate that weighs most."""
        return int(self.weight.argmax())

    @property
    def parts(self) -> list[Part]:
        """Each candidate that weighs anything, the heaviest first."""
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
        """What was chosen, how surely, and why the others were not."""
        (_, name, _), *others = self.parts
        listed = " and ".join(f"{line} (weight {weight:.2f})" for weight, line, _ in self.parts)
        what = f"the mean of {listed}" if others else name
        leads = f"{name} is the likeliest in {100 * self.share[self.chosen]:.0f} % of resamples of the tasks"
        why = [f"{s.candidate} {reason}." for s, reason in zip(self.scores, self.left_aside, strict=True) if reason]
        return " ".join([f"Chosen: {what}; {leads}.", *why])

    @property
    def doubt(self) -> str | None:
        """What cannot be known without gold, and what to do about it; None where nothing is in doubt."""
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
            return f"{' and '.join(unlike)} could be as good as {lead.candidate}, but would exchange classes. {remedy}"
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


_BY_GOLD = "is more than two standard errors less accurate on the validation tasks with gold"
_BY_LABELS = "makes the labels less likely by more than two standard errors"
_BY_AGREEMENT = "predicts far fewer labels and does not make them clearly more likely: its clusters are not the classes"
_OTHER_NAMES = "gives the classes other names"
_BY_WEIGHT = "would hardly change the mean"


def choose(scores: Sequence[Scores], seed: int = 0) -> Choice:
    """What each candidate should weigh in the mean of their probabilities.

    Left aside are, one after the other, a candidate with clearly lower validation accuracy than the best; one under
    which the labels are clearly less likely; one that agrees with the labels less than 0.8 times as often as another of
    those that remain; one that names classes otherwise than the likeliest, without gold than the one with the highest
    prior. Clearly is by two standard errors of a difference that is paired over tasks. The others weigh what makes all
    that is known out of fold most probable: labels of training tasks, gold of validation tasks (stacking). Without gold
    these make up what priors do not, since labels reward shared mistakes too, and every candidate gets one task more.

    Args:
        scores: of every candidate on the same tasks.
        seed: of the bootstrap, which resamples validation and training tasks.
    """
    right = np.stack([s.right for s in scores]).astype(np.float64)
    gold, likelihood = (np.stack([getattr(s, part) for s in scores]) for part in ("gold", "likelihood"))
    agreement = np.array([s.agreement for s in scores])
    rng, count = np.random.default_rng(seed), np.zeros(len(scores))
    for _ in range(_RESAMPLES):
        of_gold, of_labels = (rng.integers(rows.shape[1], size=rows.shape[1]) for rows in (right, likelihood))
        some = right[:, of_gold], gold[:, of_gold], likelihood[:, of_labels]
        count[_likeliest(*some[1:], _reasons(some[0], some[2], agreement))] += 1
    reasons = _reasons(right, likelihood, agreement)
    prior = np.array([s.prior for s in scores]) * (not gold.shape[1])
    known = np.concatenate([likelihood, gold], 1)
    lead = max((k for k, why in enumerate(reasons) if not why), key=lambda k: (prior[k], known[k].sum()))
    for k, other in enumerate(scores):
        if not reasons[k] and not same_names(other.predicted, scores[lead].predicted):
            reasons[k] = _OTHER_NAMES
    kept = np.flatnonzero([not why for why in reasons])
    weight = np.zeros(len(scores))
    weight[kept] = (1 - prior[kept].sum()) * stacked(known[kept], 0 if gold.shape[1] else len(kept)) + prior[kept]
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


def hopeless(scores: Sequence[Scores]) -> list[bool]:
    """Whether gold of 100 tasks or more shows by three standard errors that a candidate is worse than another one."""
    right = np.stack([s.right for s in scores]).astype(np.float64)
    behind = right[right.mean(1).argmax()] - right if right.size else right
    margin = _SURE * behind.std(1) / np.sqrt(right.shape[1]) if right.shape[1] >= _FEWEST else np.inf
    return (behind.sum(1) / max(right.shape[1], 1) > margin).tolist()  # type: ignore[no-any-return]


def _reasons(right: FloatArray, likelihood: FloatArray, agreement: FloatArray) -> list[str]:
    """Why each candidate is left aside, "" for those that are not; (K, n_gold), (K, n_train), (K,)."""
    reasons = [""] * len(agreement)

    def leave(out: BoolArray, why: str) -> BoolArray:
        for k in np.flatnonzero(out):
            reasons[k] = reasons[k] or why
        return np.array([not reason for reason in reasons])

    kept = np.ones(len(agreement), bool)
    for values, why in ((right, _BY_GOLD), (likelihood, _BY_LABELS)):
        if n := values.shape[1]:
            behind = values[np.where(kept, values.mean(1), -np.inf).argmax()] - values
            kept = leave(behind.mean(1) > _CLEAR * behind.std(1) / np.sqrt(n), why)
    leave(agreement < _FEW * agreement[kept].max(), _BY_AGREEMENT)
    return reasons


def _likeliest(gold: FloatArray, likelihood: FloatArray, reasons: Sequence[str]) -> int:
    """Number of the candidate under which gold and labels are most likely, of those that are not left aside."""
    return int(np.where([not why for why in reasons], gold.sum(1) + likelihood.sum(1), -np.inf).argmax())


def same_names(predicted: IntArray, other: IntArray) -> bool:
    """Whether most agree if every class of one is that class of the other, whatever the names.

    Args:
        predicted: (n,) classes.
        other: (n,) classes of the same tasks.
    """
    n_classes = int(max(predicted.max(), other.max())) + 1
    together = np.bincount(predicted * n_classes + other, minlength=n_classes**2).reshape(n_classes, n_classes)
    return bool(together.trace() >= together[linear_sum_assignment(together, maximize=True)].sum())
