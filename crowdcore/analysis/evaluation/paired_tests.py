"""Wilcoxon's signed-rank test of two methods over the same seeds, with a caveat when seeds are few."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray

LEVEL = 0.05  # up to which a p-value counts as significant
_EXACT = 12  # decimals to which two differences tie


@dataclass(frozen=True, eq=False)
class PairedTests:
    """Every pair of methods, compared seed by seed.

    Args:
        first: (P,) names.
        second: (P,) names.
        difference: (P,) mean over seeds of the first's accuracy minus the second's.
        p_value: (P,) two-sided Wilcoxon signed-rank test, exact (ties and all) up to 13 seeds; NaN where all
            differences are 0.
        adjusted: (P,) after Holm's correction over the pairs.
        n_seeds: how many seeds the tests rest on.
        caveat: what so many seeds can show, in words.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    difference: FloatArray
    p_value: FloatArray
    adjusted: FloatArray
    n_seeds: int
    caveat: str

    def frame(self) -> pd.DataFrame:
        """One row per pair."""
        return pd.DataFrame(
            {
                "first": self.first,
                "second": self.second,
                "difference": self.difference,
                "p_value": self.p_value,
                "adjusted": self.adjusted,
                "seeds": self.n_seeds,
            }
        )


def paired_tests(accuracies: Mapping[str, FloatArray]) -> PairedTests:
    """Compare methods whose runs shared their seeds.

    Args:
        accuracies: method -> (S,) accuracy per seed, the same seeds in the same order.

    Raises:
        SettingError: fewer than two methods, or different numbers of seeds.
    """
    if len(accuracies) < 2:
        raise SettingError("accuracies", "hold at least two methods", len(accuracies))
    lengths = {len(a) for a in accuracies.values()}
    if len(lengths) > 1:
        raise SettingError("accuracies", "have the same seeds for every method", sorted(lengths))
    n = lengths.pop()
    pairs = list(itertools.combinations(accuracies, 2))
    gaps = [np.asarray(accuracies[a], np.float64) - accuracies[b] for a, b in pairs]
    p_value = np.array([signed_rank(gap) for gap in gaps])
    return PairedTests(
        tuple(a for a, _ in pairs),
        tuple(b for _, b in pairs),
        np.array([gap.mean() for gap in gaps]),
        p_value,
        holm(p_value),
        n,
        _caveat(n, max(int((~np.isnan(p_value)).sum()), 1)),
    )


def signed_rank(gap: FloatArray) -> float:
    """Wilcoxon's two-sided p-value that (S,) differences lie around 0: all 2^S signs up to 13 of them, ties and all.

    NaN where all are 0.
    """
    from scipy.stats import PermutationMethod, wilcoxon

    gap = np.round(gap, _EXACT)
    if not np.any(gap):
        return float("nan")
    signs = PermutationMethod(n_resamples=2**13, rng=np.random.default_rng(0))
    return float(wilcoxon(gap, method=signs).pvalue)


def _caveat(n: int, pairs: int) -> str:
    """Whether this number of seeds can show a difference after correction over all pairs."""
    smallest, corrected = 2.0 ** (1 - n), min(2.0 ** (1 - n) * pairs, 1.0)
    if smallest > LEVEL:
        sentence = f"With {n} seeds this test cannot reach significance (smallest possible p: {smallest:.3g})."
    elif corrected > LEVEL:
        sentence = (
            f"With {n} seeds this test cannot reach significance for {pairs} pairs at once (smallest possible p after "
            f"Holm's correction: {corrected:.3g})."
        )
    else:
        return f"Based on {n} seeds (smallest possible p: {smallest:.3g})."
    needed = math.ceil(1 - math.log2(LEVEL / pairs))
    fewer = ", or compare fewer runs" if pairs > 1 else ""
    return f"{sentence} Train at least {needed} seeds{fewer}."


def holm(p_value: FloatArray) -> FloatArray:
    """Holm's step-down adjusted p-values over the entries that are not NaN."""
    adjusted = np.full(p_value.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    steps = p_value[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
