"""Several seeds of a run: whether their results can be averaged, and mean and standard deviation over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """Mean of a quantity over seeds, and its standard deviation (n - 1), NaN for a single seed."""

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


def check_omega(dataset: CrowdDataset, omega: FloatArray, n_seeds: int, rows: slice = slice(None)) -> FloatArray:
    """(n_rows, n_annotations) float64 ω of some seeds of a run on this dataset.

    Raises:
        SettingError: ω of another shape.
    """
    if np.shape(omega) != (n_seeds, dataset.n_annotations):
        raise SettingError("omega", f"have the shape {(n_seeds, dataset.n_annotations)}", np.shape(omega))
    return np.asarray(omega[rows], np.float64)


class FromSeeds:
    """Mixin of results that combine ``seeds``."""

    seeds: tuple[int, ...]

    @property
    def combined(self) -> str:
        """How the seeds are combined: ``mean of 5 seeds`` or ``seed 3``."""
        return f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"mean of {len(self.seeds)} seeds"


FACTOR = 3  # between the epochs of two seeds
LEAST_GAIN = 0.02  # of the squared distance of a row, from which on another order of the classes fits better


@dataclass(frozen=True)
class SeedsComparable:
    """Whether seeds can be averaged.

    Args:
        comparable: whether they can.
        reason: why not, as the end of a sentence; empty if they can.
    """

    comparable: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.comparable


def seeds_comparable(
    confusion: FloatArray,
    epoch: Sequence[int] | IntArray,
    *,
    seeds: Sequence[int],
    classes: Sequence[str],
    at_last: bool = False,
) -> SeedsComparable:
    """Judge whether the confusions that several seeds recovered can be averaged.

    They can if no other order of a seed's classes fits the first seed's confusions clearly better (in the mean over
    workers of the squared distance of the rows that would move), and if their epochs differ by a factor of 3 at most.

    Args:
        confusion: (S, R, C, C) of the workers, or (S, 1, C, C) of all; rows sum to 1.
        epoch: (S,) epoch that each seed's confusions are from.
        seeds: (S,) what the replicas are called.
        classes: (C,) names.
        at_last: whether these are the last epochs, which count as equally old.

    Examples:
        >>> own = np.eye(2)[None, None].repeat(2, 0)
        >>> bool(seeds_comparable(own, [9, 10], seeds=(0, 1), classes=("cat", "dog")))
        True
        >>> seeds_comparable(own, [2, 10], seeds=(0, 1), classes=("cat", "dog")).reason
        'their epochs lie far apart (2 and 10)'
    """
    epochs = np.asarray(epoch)
    if not at_last and len(epochs) > 1 and epochs.max() > FACTOR * max(int(epochs.min()), 1):
        listed = [str(e) for e in epochs]
        return SeedsComparable(False, f"their epochs lie far apart ({', '.join(listed[:-1])} and {listed[-1]})")
    n_seeds, _, n_classes, _ = np.shape(confusion)
    rows = np.nan_to_num(np.asarray(confusion, np.float64)).transpose(0, 2, 1, 3).reshape(n_seeds, n_classes, -1)
    for seed, other in zip(seeds[1:], rows[1:], strict=True):
        order = _better_order(rows[0], other, np.shape(confusion)[1])
        if order is not None:
            a = int(np.flatnonzero(order != np.arange(n_classes))[0])
            renamed = f"what seed {seeds[0]} calls {classes[a]}, it calls {classes[order[a]]}"
            return SeedsComparable(False, f"seed {seed} has its classes in another order ({renamed})")
    return SeedsComparable(True)


def _better_order(first: FloatArray, other: FloatArray, n_workers: int) -> IntArray | None:
    """Rows of ``other`` in the order that fits ``first`` clearly better than their own order, if there is one."""
    squared = ((first**2).sum(1)[:, None] + (other**2).sum(1) - 2 * first @ other.T) / n_workers
    _, order = linear_sum_assignment(squared)
    moved = np.flatnonzero(order != np.arange(len(order)))
    gain = squared[moved, moved] - squared[moved, order[moved]]
    return np.asarray(order) if len(moved) and gain.mean() > LEAST_GAIN else None
