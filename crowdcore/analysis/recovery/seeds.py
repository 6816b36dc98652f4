"""Combine what several seeds recovered: mean and standard deviation, or one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """A quantity over seeds.

    Args:
        mean: (...) mean over the seeds, NaN where any of them has none.
        spread: (...) standard deviation over the seeds (n - 1), NaN for a single seed.
    """

    mean: FloatArray
    spread: FloatArray


def over_seeds(values: FloatArray) -> OverSeeds:
    """(S, ...) -> mean and standard deviation over the first axis."""
    values = np.asarray(values, np.float64)
    mean = values.mean(0)
    spread = values.std(0, ddof=1) if len(values) > 1 else np.full(mean.shape, np.nan)
    return OverSeeds(mean, spread)


def seed_rows(seeds: Sequence[int], seed: int | None) -> slice:
    """Rows of the (S, ...) arrays that belong to ``seed``, or all of them for None.

    Raises:
        SettingError: no such seed.
    """
    if seed is None:
        return slice(None)
    if seed not in seeds:
        raise SettingError("seed", f"be one of {', '.join(map(str, seeds))}, or None for all of them", seed)
    at = list(seeds).index(seed)
    return slice(at, at + 1)


def seed_words(seeds: Sequence[int]) -> str:
    """How seeds are combined, as figures say it: ``mean of 5 seeds`` or ``seed 3``."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"mean of {len(seeds)} seeds"


class FromSeeds:
    """Mixin of results that combine ``seeds``."""

    seeds: tuple[int, ...]

    @property
    def combined(self) -> str:
        """How the seeds are combined, in words."""
        return seed_words(self.seeds)
