"""Match latent classes to labels: EM finds the classes, but not their names.

Renaming the classes of a Dawid–Skene solution changes no likelihood; EM keeps the names that the votes gave it.
Where most workers share a mistake, those names are wrong. What tells a truth from a shared mistake is how evenly
it is spread: every worker gives the true class at a similar rate, mistakes differ from worker to worker.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from crowdcore.core.types import FloatArray, IntArray

SERIOUS = 0.3
"""A label can name a class if the crowd gives it at least this often, relative to its most given label."""

IMPOSSIBLE = -1e9

CONCENTRATIONS = np.logspace(-1, 5, 49)
"""From nearly one label per worker to the same rates for all."""


def name_by_votes(counts: FloatArray) -> IntArray:
    """(C,) label that names each latent class, so that most annotations are right.

    Args:
        counts: (n_workers, C, C) expected counts, row = latent class, column = given label.
    """
    return np.asarray(linear_sum_assignment(counts.sum(0), maximize=True)[1])


def is_named(counts: FloatArray) -> bool:
    """Whether the crowd seriously gives every latent class its own label; false when EM has split a class in two."""
    pooled = counts.sum(0)
    return bool((pooled.diagonal() >= SERIOUS * pooled.max(1)).all())


def name_by_evenness(counts: FloatArray, doubt: float) -> IntArray:
    """(C,) label that names each latent class, by the evidence of the workers' counts; see `evidence`.

    Args:
        counts: (n_workers, C, C) expected counts, row = latent class under its present name, column = given label.
        doubt: nats per class that another name must gain, so that a name is only given up for good reasons.
    """
    n_classes = counts.shape[1]
    pooled = counts.sum(0)
    serious = pooled >= SERIOUS * pooled.max(1, keepdims=True)
    np.fill_diagonal(serious, False)
    score = np.full((n_classes, n_classes), IMPOSSIBLE)
    np.fill_diagonal(score, 0.0)
    for k in np.flatnonzero(serious.any(1)):
        present = evidence(counts[:, k], int(k))
        for named in np.flatnonzero(serious[k]):
            score[k, named] = evidence(counts[:, k], int(named)) - present - doubt
    return np.asarray(linear_sum_assignment(score, maximize=True)[1])


def new_names(classes: Sequence[str], name: IntArray) -> str:
    """Which classes were renamed, and what to do about it."""
    moved = [f"{classes[old]} → {classes[new]}" for old, new in enumerate(name.tolist()) if old != new]
    return (
        f"The workers' counts are clearly more probable if classes are named otherwise than by the votes: "
        f"{', '.join(moved)}. Set rename to false, or give some true labels, to decide yourself."
    )


def evidence(counts: FloatArray, named: int) -> float:
    """Log-probability of the workers' label counts on one latent class if its true name is ``named``.

    Each worker's rate of the true label comes from one Beta distribution, the rates of the other labels among
    their mistakes from one Dirichlet distribution, both shared by the workers and fitted to them:
    ``Σ_r log BetaBinomial(n_r,named | n_r) + log DirichletMultinomial(other counts)``. A plain Dirichlet would be
    blind to the name; the two concentrations make the name matter.

    Args:
        counts: (n_workers, C) expected counts of the given labels.
        named: the label that would be right.
    """
    right, wrong = counts[:, named], np.delete(counts, named, axis=1)
    return dirichlet_multinomial(np.stack([right, wrong.sum(1)], 1))[0] + dirichlet_multinomial(wrong)[0]


def dirichlet_multinomial(counts: FloatArray) -> tuple[float, float]:
    """The likeliest Dirichlet-multinomial with the pooled mean of rows of counts (n, K).

    Returns:
        Its log-likelihood and its concentration, searched over `CONCENTRATIONS` (the largest without any row).
    """
    total = counts.sum(1)
    counts, total = counts[total > 0], total[total > 0]
    if not len(counts):
        return 0.0, float(CONCENTRATIONS[-1])
    mean = (counts.sum(0) + 0.5) / (total.sum() + 0.5 * counts.shape[1])

    def value(spread: float) -> float:
        alpha = spread * mean
        urns = (gammaln(counts + alpha) - gammaln(alpha)).sum()
        return float(urns + (gammaln(spread) - gammaln(total + spread)).sum())

    return max((value(float(spread)), float(spread)) for spread in CONCENTRATIONS)
