"""Pairs of workers who agree with each other more than either agrees with the rest: no reference is needed.

Workers who copy each other and outvote the rest become the truth of any model, and are then right alike. What still
gives them away is that the others agree with them no more than before.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_FEWEST = 10  # shared tasks of a pair that is tested
_SCATTER = 0.01  # variance beyond noise that a pair is granted in the fit, so that no pair outweighs many others
_OUTLYING = 2.5  # standardised residual from which a pair does not tell of its workers
MARGIN = 3.0
"""Standard deviations of the prediction granted to every pair."""
_STEPS = 10


def agreement_beyond(found: PairMistakes, dataset: CrowdDataset, *margins: float) -> FloatArray:
    """Chance of so many equal labels, were the two workers as far from each other as from the others.

    Labels by chance are equal with c, the sum of squared label shares. The share of equal labels of r and s is taken to
    be ``a_rs = c + (1 - c) u_r u_s`` (workers who know or guess; Ghosh, Kale, McAfee 2011), where hard tasks lower all
    u alike. The u are fitted by least squares to all pairs; pairs that agree far too much are left out in turn, and
    a pair is predicted without itself. The p-value is the binomial tail at the prediction plus a margin of some of its
    standard deviations: the error of u_r and u_s, and how far pairs scatter beyond their noise. Two workers who both
    favour a class agree for that alone: where their own label shares make equal labels more likely than c, the
    prediction takes ``c_rs = Σ_b p_r(b) p_s(b)`` instead.

    Args:
        found: the pairs.
        dataset: what they labelled.
        margins: standard deviations of the prediction that are granted; default: `MARGIN`.

    Returns:
        (n_margins, n_pairs) p-values, NaN for pairs that are not tested.
    """
    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    given = np.bincount(dataset.worker.astype(np.int64) * n_classes + dataset.label, minlength=n_workers * n_classes)
    given = given.reshape(n_workers, n_classes)
    chance = float(((given.sum(0) / max(given.sum(), 1)) ** 2).sum())
    shares = given / np.maximum(given.sum(1, keepdims=True), 1)
    tested = found.both_labelled >= _FEWEST
    granted = np.array(margins or (MARGIN,))[:, None]
    out = np.full((len(granted), len(tested)), np.nan)
    if not tested.any() or chance > 1 - 1e-6:
        return out
    n, agreed = found.both_labelled.astype(np.float64), found.agreed.astype(np.float64)
    one, other = found.worker_a, found.worker_b
    own = sum((shares[one, b] * shares[other, b] for b in range(n_classes)), np.zeros(len(n)))
    predicted, doubt = _prediction(one, other, n, agreed / n, chance, np.maximum(own, chance), tested, n_workers)
    limit = np.minimum(predicted + granted * doubt, 1 - 1e-3)
    out[:, tested] = 1.0
    more = tested & (agreed > limit * n)
    pair = np.nonzero(more)[1]
    out[more] = betainc(agreed[pair], n[pair] - agreed[pair] + 1, limit[more])
    return out


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
