"""The largest confusions that a model recovered, compared with the largest ones observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LargestConfusions:
    """Off-diagonal cells, the largest first.

    Args:
        recovered: (n, 2) true class and given label of the largest cells of the recovered confusion.
        observed: (n, 2) the same of the observed one.
        both: cells that are among both.
        recovered_share: (C, C) the recovered confusion.
        observed_share: (C, C) the observed one; NaN rows of classes without labels.
    """

    recovered: IntArray
    observed: IntArray
    both: int
    recovered_share: FloatArray
    observed_share: FloatArray
    classes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per recovered cell: true, given, recovered and observed share."""
        true, given = self.recovered.T
        names = np.array(self.classes, dtype=object)
        return pd.DataFrame(
            {
                "true": names[true],
                "given": names[given],
                "recovered": self.recovered_share[true, given],
                "observed": self.observed_share[true, given],
            }
        )


def largest_confusions(
    recovered: FloatArray, observed: FloatArray, classes: Sequence[str], n: int = 5
) -> LargestConfusions:
    """Find the ``n`` largest confusions of two matrices, and how many they have in common.

    Args:
        recovered: (C, C) what a model recovered, such as the common confusion; row = true class, rows sum to 1.
        observed: (C, C) what the labels show against a reference; NaN rows without labels.
        classes: (C,) names.
        n: how many, at most; cells of 0 do not count.

    Raises:
        SettingError: matrices of different shapes.

    Examples:
        >>> own = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7]])
        >>> largest_confusions(own, np.eye(3), ("cat", "dog", "fox"), n=2).recovered.tolist()
        [[2, 0], [0, 1]]
    """
    if np.shape(recovered) != np.shape(observed) or np.shape(recovered) != (len(classes), len(classes)):
        raise SettingError("recovered", f"have the shape {np.shape(observed)} of `observed`", np.shape(recovered))
    first, second = (np.asarray(m, np.float64) for m in (recovered, observed))
    learnt, seen = _largest(first, n), _largest(second, n)
    both = len(set(map(tuple, learnt.tolist())) & set(map(tuple, seen.tolist())))
    return LargestConfusions(learnt, seen, both, first, second, tuple(classes))


def _largest(matrix: FloatArray, n: int) -> IntArray:
    """(at most n, 2) off-diagonal cells above 0, the largest first, ties in reading order."""
    share = np.where(np.eye(len(matrix), dtype=bool), 0.0, np.nan_to_num(matrix))
    order = np.argsort(-share, axis=None, kind="stable")[:n]
    return np.stack(np.divmod(order[share.ravel()[order] > 0], len(matrix)), axis=1)


def confusion_error(matrices: FloatArray, truth: FloatArray) -> FloatArray:
    """Mean over the rows of the squared distance between confusions (Tanno et al.'s recovery error of one worker).

    Args:
        matrices: (..., C, C) rows sum to 1; NaN rows are unknown.
        truth: (..., C, C) what to compare with; rows that either lacks are left out.

    Returns:
        (...,) 0 to 2; NaN where no row can be compared.

    Examples:
        >>> confusion_error(np.array([[0.5, 0.5], [0.0, 1.0]]), np.eye(2)).item()
        0.25
    """
    rows = ((np.asarray(matrices, np.float64) - truth) ** 2).sum(-1)
    known = ~np.isnan(rows)
    n = known.sum(-1)
    total = np.where(known, rows, 0).sum(-1)
    return np.asarray(np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0))
