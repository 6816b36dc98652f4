"""Bootstrap over tasks of the mean difference between two methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray

RESAMPLES = 10_000
_EXACT = 12  # decimals to which two gaps are the same number


@dataclass(frozen=True)
class PairedBootstrap:
    """A mean difference with its interval and p-value, all in the unit of the differences.

    Attributes:
        difference: mean over the tasks.
        low, high: symmetric 95 % interval (Hall 1988): ``difference`` ± the 95 % quantile of |resampled - difference|.
        p_value: two-sided: how often a resampled mean lies as far from ``difference`` as ``difference`` from 0, so
            that it is below 5 % where the interval leaves 0 out; at least 1 / (resamples + 1).
        n_differ: tasks with a difference other than 0, which is all that the test rests on.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n_differ: int


def paired_bootstrap(
    gap: FloatArray, resamples: int = RESAMPLES, level: float = 0.95, seed: int = 0
) -> PairedBootstrap:
    """Resample the tasks with replacement; tasks with the same gap are one kind, so time does not grow with them.

    Args:
        gap: (n,) a task's difference between two methods, from -1 to 1, e.g. in the share of seeds that have it right.
        resamples: how many.
        level: of the interval.
        seed: of the draws; the same gaps in any order give the same numbers.

    Raises:
        SettingError: no task.

    >>> result = paired_bootstrap(np.repeat([1.0, 0.0, -1.0], [30, 950, 20]))
    >>> round(result.difference, 3), result.n_differ, result.low < 0 < result.high
    (0.01, 50, True)
    """
    if not len(gap):
        raise SettingError("gap", "hold at least one task", [])
    values, counts = np.unique(np.round(np.asarray(gap, np.float64), _EXACT), return_counts=True)
    n, mean = counts.sum(), float(values @ counts / counts.sum())
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=resamples) @ values / n
    moved = np.abs(drawn - mean)
    reach = float(np.quantile(moved, level))
    as_far = int((moved >= abs(mean) - 10.0**-_EXACT).sum())
    return PairedBootstrap(
        mean,
        round(max(mean - reach, -1.0), _EXACT),
        round(min(mean + reach, 1.0), _EXACT),
        (1 + as_far) / (1 + resamples),
        int(counts[values != 0].sum()),
    )
