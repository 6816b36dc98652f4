"""Friedman's test and Nemenyi's critical difference between the mean ranks of methods (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class CriticalDifference:
    """Mean ranks of k methods over n blocks; rank 1 is the highest score, ties share their mean rank.

    Args:
        names: (k,) best mean rank first.
        rank: (k,) mean rank.
        difference: mean ranks further apart than this differ: q_α √(k (k + 1) / (6 n)).
        groups: (first, last) positions in ``names`` of the largest sets whose ranks do not differ, two methods or more.
        p_value: Friedman's test (with the correction for ties) that all methods rank alike; NaN if every block ties.
        level: α of the critical difference.
        n_blocks: n.
        caveat: what these blocks can show, in words.
    """

    names: tuple[str, ...]
    rank: FloatArray
    difference: float
    groups: tuple[tuple[int, int], ...]
    p_value: float
    level: float
    n_blocks: int
    caveat: str

    def frame(self) -> pd.DataFrame:
        """One row per method."""
        return pd.DataFrame({"run": self.names, "mean_rank": self.rank, "blocks": self.n_blocks})


def critical_difference(
    scores: Mapping[str, FloatArray], level: float = 0.05, blocks: str = "seeds"
) -> CriticalDifference:
    """Rank methods within every block, and say which mean ranks differ.

    Args:
        scores: method -> (n,) score per block, the higher the better, blocks in the same order.
        level: α of Nemenyi's test.
        blocks: what a block is, in the plural.

    Raises:
        SettingError: fewer than two methods, no block, or different numbers of blocks.
    """
    from scipy.stats import chi2, rankdata, studentized_range

    k, lengths = len(scores), {len(s) for s in scores.values()}
    if k < 2:
        raise SettingError("scores", "hold at least two methods", k)
    if len(lengths) > 1 or lengths == {0}:
        raise SettingError("scores", "have the same blocks for every method, at least one", sorted(lengths))
    n = lengths.pop()
    table = np.stack([np.asarray(s, np.float64) for s in scores.values()], 1)
    ranks = rankdata(-table, axis=1)
    mean = ranks.mean(0)
    spread = ((ranks - (k + 1) / 2) ** 2).sum()
    p_value = chi2.sf(n**2 * (k - 1) * ((mean - (k + 1) / 2) ** 2).sum() / spread, k - 1) if spread > 0 else np.nan
    difference = float(studentized_range.ppf(1 - level, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))
    order = np.argsort(mean, kind="stable")
    names = tuple(scores)
    return CriticalDifference(
        tuple(names[i] for i in order),
        mean[order],
        difference,
        _groups(mean[order], difference),
        float(p_value),
        level,
        n,
        _caveat(n, k, difference, blocks),
    )


def _caveat(n: int, k: int, difference: float, blocks: str) -> str:
    """What this number of blocks can show."""
    if difference >= k - 1:
        sentence = (
            f"{n} {blocks} are too few to tell these runs apart (mean ranks would have to differ by {difference:.2f}; "
            f"the most possible is {k - 1})."
        )
    else:
        sentence = f"Over {n} {blocks}, two runs differ if their mean ranks are more than {difference:.2f} apart."
    return sentence + (" Seeds vary only the training, not the data." if blocks == "seeds" else "")


def _groups(rank: FloatArray, difference: float) -> tuple[tuple[int, int], ...]:
    """Maximal runs of ascending ranks that reach no further than the critical difference."""
    ends = np.searchsorted(rank, rank + difference, side="right") - 1
    groups: list[tuple[int, int]] = []
    for first, last in enumerate(ends.tolist()):
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return tuple(groups)
