"""Groups of coordinated workers: who agree too much, and who push the same mistake."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import betainc, gammaln, ndtri

from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.beliefs import expected_labels
from crowdcore.core.counts import vote_counts
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

_FLOOR = 0.05  # rate of a mistake that needs no explanation
_FEWEST = 5.0  # labels on a class from which a worker's rate says how rates vary
_KEPT = 0.6  # of the workers, by rate: those above may be the ones who push
_Z = float(ndtri(_KEPT))
# A normal variable below z has mean -_RATIO and variance 1 - z _RATIO - _RATIO².
_RATIO = float(np.exp(-(_Z**2) / 2) / np.sqrt(2 * np.pi)) / _KEPT
_FENCE = 2.0  # standard deviations above the mean up to which workers are taken to vary


@dataclass(frozen=True, eq=False)
class Pushes:
    """Mistakes (worker, a, b) beyond the limit, arrays aligned, by worker.

    Attributes:
        worker, true, given: numbers of the worker, class a and class b.
        times, of: (expected) labels b on tasks of class a, and all labels on these tasks.
        limit: rate that skill, tasks and the other workers explain.
        q_value: after Benjamini-Hochberg over all mistakes that could be tested.
        alike: chance that two workers' own mistakes are the same one.
    """

    worker: IntArray
    true: IntArray
    given: IntArray
    times: FloatArray
    of: FloatArray
    limit: FloatArray
    q_value: FloatArray
    alike: float


def pushes(peers: Peers, n_workers: int, level: float = 0.05) -> Pushes:
    """Test every mistake (a, b) of every worker: is it more frequent than skill, tasks and the other workers explain?

    With n_ab of n_a labels, ``p = P(Bin(n_a, p_0) >= n_ab)``, where p_0 is the largest of

    - how far workers vary: their rates as angles, ``θ = arcsin √((n_ab + 3/8) / (n_a + 3/4))`` (Anscombe 1948), have
      noise ``1 / (4 n_a + 2)``; from the lower 60 % of the workers, as if θ were normal, follow its mean
      and the deviation beyond that noise, and two deviations above the mean is the limit, so that two in five workers
      may push without moving it;
    - the worker's skill: the rate of mistakes on other classes divided by C - 1, and the rate of b on classes other
      than a and b;
    - the tasks: how often the other workers give b on the tasks of class a that the worker did;
    - 0.05.

    ``level`` is the share of mistakes within the limit among those named, on average.
    """
    n_classes = peers.judge.shape[1]
    votes = vote_counts(peers.task, peers.label, len(peers.crowd), n_classes)
    task, worker, label = (numbers.astype(np.int64) for numbers in (peers.task, peers.worker, peers.label))
    counts, by_others = expected_labels(task, worker, label, peers.judge, votes, n_workers)
    rows = counts.sum(2, keepdims=True)
    wrong = ~np.eye(n_classes, dtype=bool) if n_classes > 2 else np.zeros((n_classes, n_classes), bool)
    mistakes = counts * wrong
    limit = np.maximum(np.maximum(_fence(counts, rows), by_others), _FLOOR)
    limit = np.clip(np.maximum(limit, _own_habit(mistakes, rows)), 0, 1 - 1e-9)
    tested = wrong & (limit**rows <= level) & (rows > 0)
    p_value = np.where(tested, 1.0, np.nan)
    some = np.nonzero(tested & (counts > limit * rows))
    k, n = counts[some], np.broadcast_to(rows, counts.shape)[some]
    p_value[some] = betainc(k, np.maximum(n - k, 0) + 1, limit[some])
    q_value = benjamini_hochberg(p_value)
    worker, true, given = result = np.nonzero(tested & (q_value <= level))
    rest = mistakes.copy()
    rest[result] = 0.0
    return Pushes(
        worker,
        true,
        given,
        counts[result],
        rows[worker, true, 0],
        limit[result],
        q_value[result],
        _alike(rest.sum(0), tested.sum(0)),
    )


def _fence(counts: FloatArray, rows: FloatArray) -> FloatArray:
    """(C, C) the highest rate that is taken for a worker's own way."""
    angle = np.where(rows >= _FEWEST, np.arcsin(np.sqrt((counts + 0.375) / (rows + 0.75))), np.nan)
    angle = np.sort(angle, axis=0)  # NaN last
    there = (~np.isnan(angle)).sum(0)
    kept = np.arange(len(angle))[:, None, None] < np.ceil(_KEPT * there)
    angle = np.where(kept, angle, 0.0)
    n = np.maximum(kept.sum(0), 1)
    mean = angle.sum(0) / n
    variance = np.where(kept, (angle - mean) ** 2, 0.0).sum(0) / np.maximum(n - 1, 1)
    deviation = np.sqrt(variance / (1 - _Z * _RATIO - _RATIO**2))
    noise = np.where(rows >= _FEWEST, 1 / (4 * rows + 2), 0.0).sum(0) / np.maximum(there, 1)
    beyond = np.sqrt(np.maximum(deviation**2 - noise, 0.0))
    top = np.minimum(mean + _RATIO * deviation + _FENCE * beyond, np.pi / 2)
    return np.asarray(np.where(there >= 2, np.sin(top) ** 2, 1.0))


def _own_habit(mistakes: FloatArray, rows: FloatArray) -> FloatArray:
    """(n_workers, C, C) the larger of the worker's rates of any one mistake on other classes, and of b on them."""
    n_classes = mistakes.shape[1]
    made = mistakes.sum(2, keepdims=True)
    elsewhere, elsewhere_rows = made.sum(1, keepdims=True) - made, rows.sum(1, keepdims=True) - rows
    habit = elsewhere / np.maximum(elsewhere_rows, 1e-9) / max(n_classes - 1, 1)
    column = mistakes.sum(1, keepdims=True) - mistakes
    others = elsewhere_rows - rows.transpose(0, 2, 1)  # tasks of neither a nor b
    return np.asarray(np.maximum(habit, np.where(others > 1e-9, column / np.maximum(others, 1e-9), 0.0)))


def _alike(rest: FloatArray, tested: FloatArray) -> float:
    """Chance that two mistakes agree, drawn half from the tested ones and half as all but the named ones fall."""
    share = (rest / max(rest.sum(), 1e-9) + tested / max(tested.sum(), 1)) / 2
    return float((share**2).sum() / max(share.sum(), 1e-9) ** 2)


BEYOND = "agree beyond skill and tasks"
REST = "agree more than with the others"
PUSH = "push the same mistake"


@dataclass(frozen=True, eq=False)
class Group:
    """Workers who act together.

    Attributes:
        members: (n_members,) worker numbers, ascending.
        found_by: tests that detected them: `BEYOND`, `REST`, `PUSH`.
        p_value: of the surest pair, or that as many workers' own mistakes coincide; the smallest of the tests.
        adjusted: the same after correction within the test (Holm over pairs).
        cells: (n, 2) mistakes (true class, label) that `PUSH` named.
    """

    members: IntArray
    found_by: tuple[str, ...]
    p_value: float
    adjusted: float
    cells: IntArray


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


def linked_groups(
    pairs: PairMistakes, named: BoolArray, p_value: FloatArray, adjusted: FloatArray, by: str
) -> list[Group]:
    """Groups of workers linked by the pairs named by a test, with its p-values before and after correction."""
    groups = []
    for members in _linked(pairs.worker_a[named], pairs.worker_b[named], len(pairs.worker_ids)):
        inside = named & np.isin(pairs.worker_a, members)
        surest = float(p_value[inside].min()), float(adjusted[inside].min())
        groups.append(Group(members, (by,), *surest, np.empty((0, 2), np.int64)))
    return groups


def pushing_groups(result: Pushes, n_classes: int, level: float) -> list[Group]:
    """Workers whose mistakes beyond the limit (`pushes`) are the same, more of them than own mistakes would coincide.

    Let R workers have such mistakes, worker r m_r of them. If each has mistakes of the own, r shares o_r or more of
    the m_1 of a first worker with chance ``h_r = P(Hyp(N, m_1, m_r) >= o_r)``, where 1 / N is the chance that two
    mistakes coincide (`Pushes.alike`). The k workers with one mistake are a group if ``(R - 1) binom(R, k) Π_r h_r`` is
    at most ``level``: that bounds the chance that any k of R workers coincide like that, for any k. The first worker is
    one with the most mistakes. Groups that share a worker are one.
    """
    pushing, row = np.unique(result.worker, return_inverse=True)
    cells, column = np.unique(result.true * n_classes + result.given, return_inverse=True)
    made = np.zeros((len(pushing), len(cells)), bool)
    made[row, column] = True
    chance = _chances(made, max(round(1 / max(result.alike, 1e-9)), 1))
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
