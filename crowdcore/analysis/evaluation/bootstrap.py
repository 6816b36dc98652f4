"""Bootstrap: resampling as a matrix of multinomial weights, and percentile intervals."""

from __future__ import annotations

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray

_MOST = 200_000_000  # weights held at once


def weights(sizes: IntArray, resamples: int, rng: np.random.Generator) -> FloatArray:
    """Bootstrap counts: how often each kind of unit is drawn, with replacement, as many draws as units.

    Args:
        sizes: (n_kinds,) how many units there are of each kind (ones: every unit is its own kind).
        resamples: number of resamples B.
        rng: where the draws come from.

    Returns:
        (n_kinds, B) float32; columns sum to the number of units.

    Raises:
        SettingError: more weights than memory should hold.
    """
    n = int(sizes.sum())
    if len(sizes) * resamples > _MOST:
        most = _MOST // len(sizes)
        raise SettingError("resamples", f"be at most {most} for {len(sizes)} units", resamples, "Ask for fewer.")
    drawn = rng.multinomial(n, sizes / n, size=resamples)
    return np.ascontiguousarray(drawn.T, np.float32)


def interval(samples: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Percentile interval over the last axis; NaN samples (resamples where nothing is defined) are left out.

    The interval is NaN where no resample is defined.
    """
    tail = 50 * (1 - level)
    undefined = np.isnan(samples)
    if not undefined.any():
        low, high = np.percentile(samples, [tail, 100 - tail], axis=-1)
        return low, high
    never = np.asarray(undefined.all(-1))
    filled = np.where(never[..., None], 0.0, samples)
    low, high = np.where(never, np.nan, np.nanpercentile(filled, [tail, 100 - tail], axis=-1))
    return low, high
