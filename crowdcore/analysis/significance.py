"""Is a mistake shared by more workers than workers who err each in their own way would share by chance?"""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import FloatArray, IntArray

__all__ = ["NULL", "benjamini_hochberg", "poisson_binomial_tail", "sharing_p_values"]

NULL = (
    "Null: given how many different wrong labels each worker gave to tasks of a true class, which wrong classes "
    "they are is uniform over the others and independent between workers (individual mistakes only)."
)
_EXACT = 10_000  # trials up to which the distribution is convolved exactly


def sharing_p_values(cell: IntArray, worker: IntArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Upper-tail probability, under `NULL`, of at least as many workers in each cell as there are.

    A worker who gave k different wrong labels to tasks of class a is in cell (a, b) with probability k / (C - 1),
    whatever their own favourite mistakes are and however many annotations they made; so the number of workers in a
    cell is Poisson-binomial. The p-values are exact (conditionally on the k) up to 10,000 workers a row and
    saddlepoint approximations above.

    Args:
        cell: (K,) int64 ``true * C + given`` of the distinct (true, given, worker) triples, ascending.
        worker: (K,) their workers.
        n_classes: C.

    Returns:
        ``p_value`` and ``expected`` number of workers, (C, C) each. NaN on the diagonal and in rows where nothing
        can be tested: fewer than two workers with at least one but not all wrong labels; always so if C = 2.
    """
    p_value = np.full((n_classes, n_classes), np.nan)
    expected = np.full((n_classes, n_classes), np.nan)
    true, given = np.divmod(cell, n_classes)
    wrong = true != given
    true, given, worker = true[wrong], given[wrong], worker[wrong]
    edges = np.searchsorted(true, np.arange(n_classes + 1))
    for a in np.flatnonzero(np.diff(edges)):
        row = slice(edges[a], edges[a + 1])
        k = np.unique(worker[row], return_counts=True)[1]
        trials = np.bincount(k, minlength=n_classes)[1:]  # workers with k = 1 … C - 1
        if trials[:-1].sum() < 2:
            continue
        others = np.delete(np.arange(n_classes), a)
        observed = np.bincount(given[row], minlength=n_classes)[others]
        chance = np.arange(1, n_classes) / (n_classes - 1)
        some = trials > 0
        p_value[a, others] = poisson_binomial_tail(trials[some], chance[some], observed)
        expected[a, others] = trials @ chance
    return p_value, expected


def poisson_binomial_tail(trials: IntArray, chance: FloatArray, at_least: IntArray) -> FloatArray:
    """P(N >= x) where N is a sum of independent binomials.

    Args:
        trials: (J,) number of trials of each binomial, at least 1.
        chance: (J,) their success probabilities in (0, 1].
        at_least: (n,) the x.

    Returns:
        (n,) with small relative error also far in the tail.
    """
    sure = chance >= 1.0
    x = np.asarray(at_least) - int(trials[sure].sum())
    trials, chance = trials[~sure], chance[~sure]
    total = int(trials.sum())
    if total > _EXACT:
        return _saddlepoint_tail(trials, chance, x)
    mass = np.ones(1)
    for n, p in zip(trials, chance, strict=True):
        mass = np.convolve(mass, _binomial(int(n), float(p)))  # sums of positive numbers: no cancellation
    tail = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    return np.asarray(np.minimum(tail[np.clip(x, 0, total + 1)], 1.0))


def _binomial(n: int, p: float) -> FloatArray:
    """(n + 1,) binomial probabilities."""
    from scipy.special import gammaln

    k = np.arange(n + 1)
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(log_choose + k * np.log(p) + (n - k) * np.log1p(-p)))


def _saddlepoint_tail(trials: IntArray, chance: FloatArray, x: IntArray) -> FloatArray:
    """Lugannani-Rice with Daniels' first continuity correction (Butler 2007, eq. 1.27); relative error ~1/total."""
    from scipy.special import ndtr

    total = int(trials.sum())
    mean = float(trials @ chance)
    inside = np.clip(x, 1, total - 1).astype(float)
    inside = np.where(np.abs(inside - mean) < 1e-3, mean + 1e-3, inside)  # removable singularity at the mean
    low, high = np.full(x.shape, -60.0), np.full(x.shape, 60.0)
    for _ in range(70):  # bisection for K'(s) = x
        s = (low + high) / 2
        odds = chance * np.exp(s)[:, None]
        above = (trials * odds / (1 - chance + odds)).sum(1) > inside
        low, high = np.where(above, low, s), np.where(above, s, high)
    share = odds / (1 - chance + odds)
    curvature = (trials * share * (1 - share)).sum(1)
    cumulant = (trials * np.log1p(chance * np.expm1(s)[:, None])).sum(1)
    w = np.sign(s) * np.sqrt(np.maximum(2 * (s * inside - cumulant), 0))
    u = -np.expm1(-s) * np.sqrt(curvature)
    tail = ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
    tail = np.where(x >= total, np.exp(trials @ np.log(chance)), tail)
    return np.asarray(np.where(x <= 0, 1.0, np.where(x > total, 0.0, np.clip(tail, 0.0, 1.0))))


def benjamini_hochberg(p_value: FloatArray) -> FloatArray:
    """Adjusted p-values (q-values) of Benjamini & Hochberg (1995) over all entries that are not NaN.

    Calling those with q <= 0.05 significant keeps the expected share of false ones among them at most 5 % for
    independent or positively dependent tests.
    """
    adjusted = np.full(p_value.shape, np.nan)
    tested = ~np.isnan(p_value)
    p = p_value[tested]
    order = np.argsort(p)[::-1]
    rank = np.arange(len(p), 0, -1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(np.minimum(p[order] * len(p) / rank, 1.0))
    adjusted[tested] = q
    return adjusted
