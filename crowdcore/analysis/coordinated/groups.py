"""Groups of coordinated workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.core.types import BoolArray, IntArray

COPY = "agree beyond what the others' labels explain"


@dataclass(frozen=True, eq=False)
class Group:
    """Workers who act together.

    Attributes:
        members: (n_members,) worker numbers, ascending.
        found_by: tests that detected them, in words.
        p_value, adjusted: of the surest pair, before and after Holm over all pairs.
    """

    members: IntArray
    found_by: tuple[str, ...]
    p_value: float
    adjusted: float


def components(one: IntArray, other: IntArray, n_workers: int) -> IntArray:
    """(n_workers,) number of the workers whom links (one, other) join, directly or through others; -1 for the rest."""
    links = coo_array((np.ones(len(one)), (one, other)), shape=(n_workers, n_workers))
    _, number = connected_components(links, directed=False)
    return np.where(np.bincount(number)[number] >= 2, number, -1)


def group_of(groups: tuple[Group, ...], n_workers: int) -> IntArray:
    """(n_workers,) number of each worker's group, -1 for none."""
    result = np.full(n_workers, -1)
    for number, group in enumerate(groups):
        result[group.members] = number
    return result


def in_one_group(pairs: PairMistakes, groups: tuple[Group, ...]) -> BoolArray:
    """(n_pairs,) whether both workers are in one group: only these pairs are reported as copying."""
    group = group_of(groups, len(pairs.worker_ids))
    return np.asarray((group[pairs.worker_a] >= 0) & (group[pairs.worker_a] == group[pairs.worker_b]))
