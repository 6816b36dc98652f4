"""Groups of coordinated workers: who agree too much, and who push the same mistake."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from crowdcore.analysis.coordinated.pushes import Pushes
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

BEYOND = "agree beyond skill and tasks"
REST = "agree more than with the others"
PUSH = "push the same mistake"


@dataclass(frozen=True, eq=False)
class Group:
    """Workers found together.

    Attributes:
        members: (n_members,) worker numbers, ascending.
        found_by: which tests found them: `BEYOND`, `REST`, `PUSH`.
        p_value: of the surest pair, or that as many workers' own mistakes coincide; the smallest of the tests.
        adjusted: the same after correction within the test (Holm over pairs).
        cells: (n, 2) mistakes (true class, label) that `PUSH` found.
    """

    members: IntArray
    found_by: tuple[str, ...]
    p_value: float
    adjusted: float
    cells: IntArray


def group_of(groups: tuple[Group, ...], n_workers: int) -> IntArray:
    """(n_workers,) number of each worker's group, -1 for none."""
    found = np.full(n_workers, -1)
    for number, group in enumerate(groups):
        found[group.members] = number
    return found


def in_one_group(pairs: PairMistakes, groups: tuple[Group, ...]) -> BoolArray:
    """(n_pairs,) which pairs are in one group: these are named, wherever pairs are told of."""
    group = group_of(groups, len(pairs.worker_ids))
    return np.asarray((group[pairs.worker_a] >= 0) & (group[pairs.worker_a] == group[pairs.worker_b]))


def linked_groups(
    pairs: PairMistakes, named: BoolArray, p_value: FloatArray, adjusted: FloatArray, by: str
) -> list[Group]:
    """Workers linked by the pairs that a test named; its p-values (n_pairs,) before and after correction."""
    groups = []
    for members in _linked(pairs.worker_a[named], pairs.worker_b[named], len(pairs.worker_ids)):
        inside = named & np.isin(pairs.worker_a, members)
        surest = float(p_value[inside].min()), float(adjusted[inside].min())
        groups.append(Group(members, (by,), *surest, np.empty((0, 2), np.int64)))
    return groups


def pushing_groups(found: Pushes, n_classes: int, level: float) -> list[Group]:
    """Workers whose mistakes beyond the limit (`pushes`) are the same, more of them than own mistakes would coincide.

    Let R workers have such mistakes, worker r m_r of them. If each has mistakes of the own, r shares o_r or more of
    the m_1 of a first worker with chance ``h_r = P(Hyp(N, m_1, m_r) >= o_r)``, where 1 / N is the chance that two
    mistakes coincide (`Pushes.alike`). The k workers with one mistake are a group if ``(R - 1) binom(R, k) Π_r h_r`` is
    at most ``level``: that bounds the chance that any k of R workers coincide like that, for any k. The first worker is
    one with the most mistakes. Groups that share a worker are one.
    """
    pushing, row = np.unique(found.worker, return_inverse=True)
    cells, column = np.unique(found.true * n_classes + found.given, return_inverse=True)
    made = np.zeros((len(pushing), len(cells)), bool)
    made[row, column] = True
    chance = _chances(made, max(round(1 / max(found.alike, 1e-9)), 1))
    named = np.flatnonzero(chance <= level)
    if not len(named):
        return []
    worker, which = np.nonzero(made[:, named])
    first = pushing[made[:, named].argmax(0)][which]
    groups = []
    for members in _linked(first, pushing[worker], int(pushing.max()) + 1):
        theirs = named[made[np.ix_(np.isin(pushing, members), named)].any(0)]
        least = float(chance[theirs].min())
        groups.append(Group(members, (PUSH,), least, least, np.stack(np.divmod(cells[theirs], n_classes), 1)))
    return groups


def _chances(made: BoolArray, n_mistakes: int) -> FloatArray:
    """(n_cells,) chance of a coincidence like that of the workers with each mistake; 1 for a mistake of one worker."""
    size, n = made.sum(1), len(made)
    chance = np.ones(made.shape[1])
    for c in np.flatnonzero(made.sum(0) >= 2):
        members = np.flatnonzero(made[:, c])
        first = members[size[members].argmax()]
        others = members[members != first]
        shared, k = (made[others] & made[first]).sum(1), len(members)
        among = max(n_mistakes, int(size[first]))
        common, drawn = np.arange(size[first] + 1), size[others][:, None]
        log_chance = _log_binom(size[first], common) + _log_binom(among - size[first], drawn - common)
        tails = (np.exp(log_chance - _log_binom(among, drawn)) * (common >= shared[:, None])).sum(1)
        ways = _log_binom(n, k)
        chance[c] = np.exp(min(ways + np.log(n - 1) + np.log(np.maximum(tails, 1e-300)).sum(), 0.0))
    return chance


def _log_binom(n: AnyArray | int, k: AnyArray | int) -> AnyArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def joined(groups: list[Group]) -> list[Group]:
    """Groups with a member in common as one, the surest first."""
    merged: list[Group] = []
    for group in groups:
        touching = [other for other in merged if np.isin(other.members, group.members).any()]
        merged = [other for other in merged if not np.isin(other.members, group.members).any()]
        every = [*touching, group]
        merged.append(
            Group(
                np.unique(np.concatenate([one.members for one in every])),
                tuple(dict.fromkeys(by for one in every for by in one.found_by)),
                min(one.p_value for one in every),
                min(one.adjusted for one in every),
                np.unique(np.concatenate([one.cells for one in every]), axis=0),
            )
        )
    return sorted(merged, key=lambda group: (group.p_value, group.members[0]))


def _linked(one: IntArray, other: IntArray, n_workers: int) -> list[IntArray]:
    """The connected components of two workers or more."""
    links = coo_array((np.ones(len(one)), (one, other)), shape=(n_workers, n_workers))
    _, of = connected_components(links, directed=False)
    return [np.flatnonzero(of == component) for component in np.flatnonzero(np.bincount(of) >= 2)]
