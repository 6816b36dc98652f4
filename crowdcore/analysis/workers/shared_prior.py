"""What the rows of all workers' confusions have in common, as a Dirichlet prior drawn with them."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from crowdcore.core.types import FloatArray

_WEIGHTS = 2.0 ** np.arange(7)
_SHARES, _MOST = 9, 0.98


def drawn_prior(counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a prior of every worker's rows, given their counts; (C, C) parameters of Dirichlet distributions.

    Row c is ``Dirichlet(α (d [b = c] + (1 - d) / (C - 1) [b ≠ c]))``. The weight α (1 to 64) and the share d of right
    labels (1 / C to 0.98) are the crowd's, drawn from a grid by the probability of all counts given them, the rows left
    out by integration. That d is no less than chance holds the names of the classes in place.

    Args:
        counts: (n_workers, C, C) whole numbers of labels, row = true class.
        rng: of the draw.
    """
    n = counts.shape[1]
    if n == 1:
        return np.ones((1, 1))
    weight, share = (axis.ravel() for axis in np.meshgrid(_WEIGHTS, np.linspace(1 / n, _MOST, _SHARES)))
    wrong, right = weight * (1 - share) / (n - 1), weight * share
    diagonal = np.eye(n, dtype=bool)
    fit = _rising(counts[:, diagonal], right) + _rising(counts[:, ~diagonal], wrong) - _rising(counts.sum(2), weight)
    drawn = int((fit + rng.gumbel(size=len(fit))).argmax())
    return np.asarray(np.where(diagonal, right[drawn], wrong[drawn]))


def _rising(counts: FloatArray, start: FloatArray) -> FloatArray:
    """(n_start,) sum over all counts k of ``log start (start + 1) … (start + k - 1)``."""
    times = np.bincount(counts.ravel().astype(np.int64))
    times[0] = 0
    k = np.flatnonzero(times)
    return np.asarray((gammaln(k + start[:, None]) - gammaln(start)[:, None]) @ times[k])
