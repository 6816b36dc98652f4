"""Common and individual parts of workers' confusions (CoNAL without features), their groups, and names of classes.

Everything here works on expected counts (n_workers, C, C), row = true class, column = given label, so that its cost
does not depend on the number of annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from crowdcore.core.types import BoolArray, FloatArray, IntArray

_BATCH = 10  # closed-form steps between two updates of the mean own accuracies
_TRIAL = 40  # steps for a worker in another group before the groups are compared
_GROUPINGS, _ROUNDS = 10, 5  # starts of the groups, and improvements of each before they are compared
_STRENGTHS = (1.0, 100.0)  # bounds of the concentration of own accuracies when it is estimated from the data
_PULL = 10.0  # pseudo-annotations that draw a worker's row to the crowd's, as few labels are remote by chance
_SERIOUS = 0.3  # a label can name a class from this frequency on, relative to the most frequent label of the class
_IMPOSSIBLE = -1e9
_CONCENTRATIONS = np.logspace(-1, 5, 49)  # from nearly one label per worker to the same rates for all


class Priors(NamedTuple):
    """Priors that make the split identifiable.

    Attributes:
        common: pseudo-annotations of the common confusion for each worker and class (Beta(1 + x, 1)).
        accuracy: pseudo-annotations that draw own accuracies on a class to their mean over workers; None: as many as
            the spread of the workers' rates of the true label allows.
        tie: pseudo-annotations per worker that draw the common accuracy on a class to the mean own one.
        smoothing: Dirichlet pseudo-counts of the common confusion and of own mistakes.
    """

    common: float
    accuracy: float | None
    tie: float
    smoothing: float


class Decomposition(NamedTuple):
    """``confusion of worker r on class c = ω_rc π^g(r)_c + (1 - ω_rc) π^r_c``.

    Attributes:
        common: (n_groups, C, C).
        own: (n_workers, C, C), positive.
        omega: (n_workers, C) share of the common confusion.
        accuracy: (C,) mean own accuracy μ on each class.
        strength: (C,) pseudo-annotations κ that draw own accuracies to μ.
        tie: pseudo-annotations K that draw the accuracy of a common confusion to μ.
        group: (n_workers,) group whose common confusion a worker shares.
        active: (n_workers,) workers with labels; the others have no part in priors and means.
    """

    common: FloatArray
    own: FloatArray
    omega: FloatArray
    accuracy: FloatArray
    strength: FloatArray
    tie: float
    group: IntArray
    active: BoolArray


def first_split(counts: FloatArray, n_groups: int, priors: Priors) -> Decomposition:
    """Initial split: the median worker of each group is common, and the common share is large.

    Several groups start around workers far from each other; of as many such starts as there are workers (at most
    `_GROUPINGS`), each improved and regrouped a little, the one that fits best is kept.
    """
    if n_groups == 1:
        return _split(counts, np.zeros(len(counts), np.int64), 1, priors)
    best, best_value = None, -np.inf
    for group in first_groups(counts, n_groups, _GROUPINGS):
        d = _split(counts, group, n_groups, priors)
        for _ in range(_ROUNDS):
            d = regroup(improve(d, counts, priors, _TRIAL), counts, priors)
        value = _fit_value(d, counts, priors)
        if value > best_value + 1e-6 * abs(value):
            best, best_value = d, value
    assert best is not None
    return best


def _split(counts: FloatArray, group: IntArray, n_groups: int, priors: Priors) -> Decomposition:
    rate = _rates(counts, priors)
    active = np.asarray(counts.any((1, 2)))
    members = [active & (group == g) for g in range(n_groups)]
    common = np.stack([np.median(rate[m] if m.any() else rate, axis=0) for m in members]) + 0.01
    common /= common.sum(2, keepdims=True)
    pooled = counts.sum(0)
    accuracy = (pooled.diagonal() + 1) / (pooled.sum(1) + 2)
    strength = _strength(counts) if priors.accuracy is None else np.full(len(pooled), priors.accuracy)
    tie = priors.tie * active.sum() / n_groups
    return Decomposition(common, rate, np.full(rate.shape[:2], 0.9), accuracy, strength, tie, group, active)


def _strength(counts: FloatArray) -> FloatArray:
    """(C,) concentration of own accuracies, if half of the labels are own and explain the spread of the true label's
    rates."""
    right = counts.diagonal(axis1=1, axis2=2)
    pairs = np.stack([right, counts.sum(2) - right], 2)
    spread = np.array([dirichlet_multinomial(pairs[:, c])[1] for c in range(pairs.shape[1])])
    return np.clip((spread + 1) / 4 - 1, *_STRENGTHS)


def _rates(counts: FloatArray, priors: Priors) -> FloatArray:
    rate = counts + priors.smoothing + 0.1
    return np.asarray(rate / rate.sum(2, keepdims=True))


def mixed(d: Decomposition) -> FloatArray:
    """(n_workers, C, C) confusion of each worker, common and own together."""
    omega = d.omega[:, :, None]
    return np.asarray(omega * d.common[d.group] + (1 - omega) * d.own)


def common_share(d: Decomposition) -> FloatArray:
    """(n_workers, C, C) probability that an annotation came from the common confusion, given truth and label."""
    return np.asarray(d.omega[:, :, None] * d.common[d.group] / mixed(d))


def improve(d: Decomposition, counts: FloatArray, priors: Priors, steps: int) -> Decomposition:
    """Raise ``Σ counts · log mixed + log_prior`` by EM over the source of each annotation; groups stay.

    With ``a`` = counts · `common_share` and ``b`` = counts - a: ``ω_rc = (x + Σ_l a_rcl) / (x + Σ_l counts_rcl)``,
    ``π^r_cc = (κ_c μ_c + b_rcc) / (κ_c + Σ_l b_rcl)``, own mistakes ``∝ ε + b_rcl``; the same for the common
    confusion with ``Σ_r a`` and K for b and κ; μ_c is where the derivative of the log prior in it vanishes.
    """
    n_groups, each = len(d.common), np.arange(counts.shape[2])
    total = counts.sum(2)
    for step in range(1, steps + 1):
        from_common = counts * common_share(d)
        by_group = np.stack([from_common[d.group == g].sum(0) for g in range(n_groups)])
        common = _row_split(by_group, d.tie * d.accuracy, d.tie, priors)
        omega, own = _worker_step(d, counts, total, from_common, priors)
        accuracy = d.accuracy
        if step % _BATCH == 0 or step == steps:
            accuracy = _mean_accuracy(d, own[d.active][:, each, each], common[:, each, each])
        d = d._replace(common=common, own=own, omega=omega, accuracy=accuracy)
    return d


def regroup(d: Decomposition, counts: FloatArray, priors: Priors) -> Decomposition:
    """Move each worker to the group whose common confusion explains it best; never lowers the objective."""
    total = counts.sum(2)
    best, best_value = d, _worker_values(d, counts, priors)
    fresh = d._replace(own=_rates(counts, priors), omega=np.full_like(d.omega, 0.9))
    for g in range(len(d.common)):
        trial = fresh._replace(group=np.full_like(d.group, g))
        for _ in range(_TRIAL):
            omega, own = _worker_step(trial, counts, total, counts * common_share(trial), priors)
            trial = trial._replace(omega=omega, own=own)
        value = _worker_values(trial, counts, priors)
        better = value > best_value
        best_value = np.where(better, value, best_value)
        best = best._replace(
            own=np.where(better[:, None, None], trial.own, best.own),
            omega=np.where(better[:, None], trial.omega, best.omega),
            group=np.where(better, g, best.group),
        )
    return best


def _fit_value(d: Decomposition, counts: FloatArray, priors: Priors) -> float:
    """``Σ counts · log mixed + log_prior``, the objective of `improve` and `regroup`."""
    return float((counts * np.log(mixed(d))).sum()) + log_prior(d, priors)


def log_prior(d: Decomposition, priors: Priors) -> float:
    """Log density of a decomposition under its priors, accuracies on the logit scale, up to a constant."""
    return float(_worker_priors(d, priors).sum() + _row_priors(d.common, d.accuracy, d.tie, priors).sum())


def _worker_step(
    d: Decomposition, counts: FloatArray, total: FloatArray, from_common: FloatArray, priors: Priors
) -> tuple[FloatArray, FloatArray]:
    """New (omega, own) of all workers, from the counts that the common confusion takes."""
    omega = (from_common.sum(2) + priors.common) / np.maximum(total + priors.common, 1e-12)
    return omega, _row_split(counts - from_common, d.strength * d.accuracy, d.strength, priors)


def _row_split(counts: FloatArray, right: FloatArray, total: FloatArray | float, priors: Priors) -> FloatArray:
    """Confusions (…, C, C) from counts: accuracies with ``right`` of ``total`` pseudo-counts, smoothed mistakes."""
    each = np.arange(counts.shape[-1])
    accuracy = (counts[..., each, each] + right) / (counts.sum(-1) + total)
    rows = counts + priors.smoothing
    rows[..., each, each] = 0.0
    rows *= ((1 - accuracy) / rows.sum(-1))[..., None]
    rows[..., each, each] = accuracy
    return rows


def _worker_values(d: Decomposition, counts: FloatArray, priors: Priors) -> FloatArray:
    return np.asarray((counts * np.log(mixed(d))).sum((1, 2)) + _worker_priors(d, priors))


def _worker_priors(d: Decomposition, priors: Priors) -> FloatArray:
    """(n_workers,) log prior density of each worker's own part."""
    value = _row_priors(d.own, d.accuracy, d.strength, priors).sum(1) + priors.common * np.log(d.omega).sum(1)
    return np.where(d.active, value, 0.0)


def _row_priors(rows: FloatArray, mean: FloatArray, strength: FloatArray | float, priors: Priors) -> FloatArray:
    """(…, C) log prior density of the rows of confusions (…, C, C)."""
    right = rows.diagonal(axis1=-2, axis2=-1)
    yes, no = strength * mean, strength * (1 - mean)
    value = yes * np.log(right) + no * np.log1p(-right) - betaln(yes, no)
    mistakes = np.log(rows).sum(-1) - np.log(right) - (rows.shape[-1] - 1) * np.log1p(-right)
    return np.asarray(value + priors.smoothing * mistakes)


def _mean_accuracy(d: Decomposition, own: FloatArray, common: FloatArray) -> FloatArray:
    """(C,) the μ under which own (n_workers, C) and common (n_groups, C) accuracies are most probable, by bisection."""
    pull = d.strength * _logit(own).sum(0) + d.tie * _logit(common).sum(0)
    low, high = np.zeros_like(pull), np.ones_like(pull)
    strength = np.stack([d.strength, np.full_like(d.strength, d.tie)])
    own_weight, common_weight = len(own) * d.strength, len(common) * d.tie
    for _ in range(50):
        mu = (low + high) / 2
        of_own, of_common = _expected_logit(mu, strength)
        below = own_weight * of_own + common_weight * of_common < pull
        low, high = np.where(below, mu, low), np.where(below, high, mu)
    return np.asarray((low + high) / 2)


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(np.log(p) - np.log1p(-p))


def _expected_logit(mean: FloatArray, strength: FloatArray) -> FloatArray:
    """Expected logit of Beta variables."""
    psi = digamma(strength * np.stack([mean, 1 - mean])[:, None])
    return np.asarray(psi[0] - psi[1])


def first_groups(counts: FloatArray, n_groups: int, starts: int) -> Iterator[IntArray]:
    """Up to ``starts`` groupings (n_workers,) of workers by their counts (n_workers, C, C); deterministic.

    Each starts at another of the workers farthest from the crowd, adds the one farthest from those chosen until
    there are G, and assigns every worker to the nearest of them.
    """
    pooled = counts.sum(0) + 0.1
    rate = counts + _PULL * pooled / pooled.sum(1, keepdims=True)
    rate = (rate / rate.sum(2, keepdims=True)).reshape(len(counts), -1)
    remote = np.argsort(-_distance(rate, rate.mean(0)), kind="stable")
    for first in remote[:starts]:
        distance = [_distance(rate, rate[first])]
        while len(distance) < n_groups:
            distance.append(_distance(rate, rate[np.min(distance, axis=0).argmax()]))
        yield np.argmin(distance, axis=0)


def _distance(rate: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(((rate - other) ** 2).sum(1))


def name_by_votes(counts: FloatArray) -> IntArray:
    """(C,) label that names each latent class (row of ``counts``), so that most annotations are right."""
    return _assigned(counts.sum(0))


def is_named(counts: FloatArray) -> bool:
    """Return whether the crowd often gives every latent class its own label; false if EM has split a class in two."""
    pooled = counts.sum(0)
    return bool((pooled.diagonal() >= _SERIOUS * pooled.max(1)).all())


def name_by_evenness(counts: FloatArray, doubt: float) -> IntArray:
    """(C,) label that names each latent class, by the evidence of the workers' counts; see `evidence`.

    ``doubt``: nats per class that another name must gain.
    """
    n_classes = counts.shape[1]
    pooled = counts.sum(0)
    serious = pooled >= _SERIOUS * pooled.max(1, keepdims=True)
    np.fill_diagonal(serious, False)
    score = np.full((n_classes, n_classes), _IMPOSSIBLE)
    np.fill_diagonal(score, 0.0)
    for k in np.flatnonzero(serious.any(1)):
        present = evidence(counts[:, k], int(k))
        for named in np.flatnonzero(serious[k]):
            score[k, named] = evidence(counts[:, k], int(named)) - present - doubt
    return _assigned(score)


def _assigned(gain: FloatArray) -> IntArray:
    """(C,) column of each row with the largest total gain."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and not needed to list aggregators

    return np.asarray(linear_sum_assignment(gain, maximize=True)[1])


def new_names(classes: Sequence[str], name: IntArray) -> str:
    """Note on renamed classes."""
    moved = [f"{classes[old]} → {classes[new]}" for old, new in enumerate(name.tolist()) if old != new]
    return (
        f"The workers' counts are clearly more probable if classes are named otherwise than by the votes: "
        f"{', '.join(moved)}. Set rename to false, or give some true labels, to decide yourself."
    )


def evidence(counts: FloatArray, named: int) -> float:
    """Log-probability of the workers' label counts on one latent class if its true name is ``named``.

    Each worker's rate of the true label comes from one Beta distribution, the rates of the other labels among
    their mistakes from one Dirichlet distribution, both shared by the workers and fitted to them:
    ``Σ_r log BetaBinomial(n_r,named | n_r) + log DirichletMultinomial(other counts)``. The evidence depends on the name
    by the two concentrations; that of a single Dirichlet distribution would not.
    ``counts`` (n_workers, C) are those of the given labels.
    """
    right, wrong = counts[:, named], np.delete(counts, named, axis=1)
    return dirichlet_multinomial(np.stack([right, wrong.sum(1)], 1))[0] + dirichlet_multinomial(wrong)[0]


def dirichlet_multinomial(counts: FloatArray) -> tuple[float, float]:
    """Fit a Dirichlet-multinomial with the pooled mean to rows of counts (n, K).

    Returns:
        Its log-likelihood and its concentration, searched over `_CONCENTRATIONS` (the largest without any row).
    """
    total = counts.sum(1)
    counts, total = counts[total > 0], total[total > 0]
    if not len(counts):
        return 0.0, float(_CONCENTRATIONS[-1])
    mean = (counts.sum(0) + 0.5) / (total.sum() + 0.5 * counts.shape[1])

    def value(spread: float) -> float:
        alpha = spread * mean
        urns = (gammaln(counts + alpha) - gammaln(alpha)).sum()
        return float(urns + (gammaln(spread) - gammaln(total + spread)).sum())

    return max((value(float(spread)), float(spread)) for spread in _CONCENTRATIONS)
