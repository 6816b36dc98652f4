"""Workers who agree with each other more than either agrees with the rest, whatever the truth is."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from crowdcore.analysis.coordinated.groups import components
from crowdcore.core.types import BoolArray, FloatArray, IntArray

_FEWEST = 10  # shared tasks of a pair that is looked at
_SCATTER = 0.01  # variance beyond noise that a pair is granted in the fit, so that no pair outweighs many others
_OUTLYING = 2.5  # standardised residual from which a pair does not tell of its workers
_STEPS = 10
MARGINS = 0.5, 3.0
"""Standard deviations of the prediction granted to every pair: to support an accusation, and to link workers."""
SUPPORT = 0.001
"""p-value, at the smaller margin, up to which closeness supports an accusation."""


def closeness(one: IntArray, other: IntArray, both: IntArray, agreed: FloatArray, given: IntArray) -> FloatArray:
    """(2, n_pairs) chance of so many equal labels, were the two as far from each other as from the rest; for `MARGINS`.

    Labels by chance are equal with c, the sum of squared label shares. The share of equal labels of r and s is taken to
    be ``a_rs = c + (1 - c) u_r u_s`` (workers who know or guess; Ghosh, Kale, McAfee 2011), where hard tasks lower all
    u alike. The u are fitted by least squares to all pairs; pairs that agree far too much are left out in turn, and a
    pair is predicted without itself. The p-value is the binomial tail at the prediction plus a margin of some of its
    standard deviations. Two workers who both favour a class agree for that alone: where their own label shares make
    equal labels more likely than c, the prediction takes ``c_rs = Σ_b p_r(b) p_s(b)`` instead.

    Args:
        one, other: (n_pairs,) worker numbers.
        both, agreed: (n_pairs,) tasks of both, and those with equal labels.
        given: (n_workers, C) labels of each worker.

    Returns:
        NaN for pairs of few common tasks.
    """
    n_workers, n_classes = given.shape
    chance = float(((given.sum(0) / max(given.sum(), 1)) ** 2).sum())
    tested = both >= _FEWEST
    if not tested.any() or chance > 1 - 1e-6:
        return np.full((len(MARGINS), len(one)), np.nan)
    shares, n = given / np.maximum(given.sum(1, keepdims=True), 1), both.astype(np.float64)
    own = sum((shares[one, b] * shares[other, b] for b in range(n_classes)), np.zeros(len(n)))
    expected, doubt = _prediction(one, other, n, agreed / n, chance, np.maximum(own, chance), tested, n_workers)
    limit = np.minimum(expected + np.array(MARGINS)[:, None] * doubt, 1 - 1e-3)
    tail = np.where(agreed > limit * n, betainc(np.maximum(agreed, 1e-9), n - agreed + 1, limit), 1.0)
    return np.where(tested, tail, np.nan)


def linked(one: IntArray, other: IntArray, close: BoolArray, n_workers: int) -> IntArray:
    """(n_workers,) number of the group that close pairs link, -1 for none, or for more than half of all workers.

    This accuses nobody: it says who should not judge whom.
    """
    group = components(one[close], other[close], n_workers)
    size = np.bincount(group + 1)[group + 1]
    return np.where(2 * size <= n_workers, group, -1)


def _prediction(
    one: IntArray,
    other: IntArray,
    n: FloatArray,
    rate: FloatArray,
    chance: float,
    own_chance: FloatArray,
    tested: BoolArray,
    n_workers: int,
) -> tuple[FloatArray, FloatArray]:
    """(n_pairs,) the share of equal labels that the fit explains, and its standard deviation."""
    scale = 1 - chance
    excess = (rate - chance) / scale
    typical = float(np.sqrt(np.clip((n * excess).sum() / n.sum(), 0.01, 1)))
    u, scatter, used = np.full(n_workers, typical), 0.0, np.ones(len(n), bool)
    expected = np.full(len(n), chance + scale * typical**2)
    for _ in range(_STEPS):
        noise = expected * (1 - expected)
        weight = used * scale**2 / (noise / n + _SCATTER)
        above, below = (
            np.bincount(one, weight * to_other, n_workers) + np.bincount(other, weight * to_one, n_workers) + prior
            for to_other, to_one, prior in (
                (excess * u[other], excess * u[one], typical / _SCATTER),
                (u[other] ** 2, u[one] ** 2, 1 / _SCATTER),
            )
        )
        first, second = (
            np.clip((above[a] - weight * excess * u[b]) / (below[a] - weight * u[b] ** 2), 0.02, 1.0)
            for a, b in ((one, other), (other, one))
        )
        expected = np.clip(chance + scale * first * second, 1e-3, 1 - 1e-3)
        noise = expected * (1 - expected)
        unsure = scale**2 * (second**2 / below[one] + first**2 / below[other])
        gap = rate - expected
        scatter = max(float(np.median((gap**2 / 0.455 - noise / n - unsure)[tested])), 0.0)
        used = gap <= _OUTLYING * np.sqrt(noise / n + unsure + scatter)
        u = (u + np.clip(above / below, 0.02, 1.0)) / 2
    expected = own_chance + (1 - own_chance) * first * second
    return expected, np.asarray(np.sqrt(unsure + scatter))
