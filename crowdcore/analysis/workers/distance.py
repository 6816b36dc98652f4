"""Distances between workers' confusion matrices, and hierarchical clustering of workers by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import entr

from crowdcore.analysis.reference import ReferenceLike
from crowdcore.analysis.statistics import divide
from crowdcore.analysis.workers.confusion import WorkerConfusion, refuse_beyond, shrunken_confusion, worker_confusion
from crowdcore.core.errors import SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.report import plural

Distance = Literal["shrunken-mse", "mse", "shared-mse", "jensen-shannon"]
_BLOCK = 256  # workers compared with all others at a time


@dataclass(frozen=True, eq=False)
class WorkerDistance(Shown):
    """Distances between workers.

    Args:
        matrix: (n_workers, n_workers) float64, symmetric, zero diagonal; NaN where two workers share no evidenced
            row (never for "mse" and "shrunken-mse").
        overlap: (n_workers, n_workers) int, classes for which both workers have evidence.
        kind: of the distance.
    """

    matrix: FloatArray
    overlap: IntArray
    kind: Distance
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str

    def frame(self) -> pd.DataFrame:
        """One line per pair of workers: worker_a, worker_b, distance, shared_rows."""
        a, b = np.triu_indices(len(self.matrix), k=1)
        return pd.DataFrame(
            {
                "worker_a": self.worker_ids[a],
                "worker_b": self.worker_ids[b],
                "distance": self.matrix[a, b],
                "shared_rows": self.overlap[a, b],
            }
        )


@door
def worker_distance(dataset: CrowdDataset, reference: ReferenceLike = None, kind: Distance = "mse") -> WorkerDistance:
    """Distances between the true confusions of every two workers; see `confusion_distance` for the kinds.

    Raises:
        DataError: no usable reference, or matrices too large.
        SettingError: no such kind.

    Examples:
        >>> import crowdcore as cc
        >>> distance = cc.analysis.worker_distance(cc.load_dataset("demo"), reference="gold", kind="mse")
        >>> distance.matrix.shape
        (40, 40)
        >>> worker = distance.matrix.mean(axis=0).argmax()
        >>> distance.worker_ids[worker]
        'w24'
    """
    _check(kind)
    return confusion_distance(worker_confusion(dataset, reference), kind)


def confusion_distance(confusion: WorkerConfusion, kind: Distance = "mse") -> WorkerDistance:
    """Distances between confusion matrices, estimated from annotations or learnt by a model.

    - ``"mse"`` (CCC, Fig. 3): D[r, s] = mean over the C x C entries of (π^r - π^s)², rows without evidence set to 0.
    - ``"shrunken-mse"``: the same mean of confusions shrunken to the crowd's (`shrunken_confusion`): workers are far
      apart if their labels show different errors, not if they are few.
    - ``"shared-mse"``: the mean of the first kind over the rows for which both have evidence.
    - ``"jensen-shannon"``: Σ_a w_a JS(π^r[a], π^s[a]) / Σ_a w_a over those rows, with JS the Jensen-Shannon
      distance (root of the divergence in bits, so between 0 and 1) and w_a = n_a^r n_a^s / (n_a^r + n_a^s) from the
      annotations behind the two rows, the inverse of the variance of their difference.

    By all but ``"shrunken-mse"``, workers with few labels are far from everyone by chance alone: check their evidence.

    Raises:
        DataError: the distances alone would be too large.
        SettingError: no such kind.
    """
    _check(kind)
    n_workers = len(confusion.matrices)
    refuse_beyond(3 * 8 * n_workers**2, f"Distances between {n_workers:,} workers", "Look at fewer workers.")
    evidence = confusion.evidence
    known = (evidence > 0).astype(np.float64)
    overlap = known.astype(np.float32) @ known.astype(np.float32).T  # exact up to 16 million classes
    rows = shrunken_confusion(confusion) if kind == "shrunken-mse" else np.nan_to_num(confusion.matrices)
    if kind == "jensen-shannon":
        matrix = _jensen_shannon(rows, evidence)
    else:
        matrix = _mean_squared(rows, overlap if kind == "shared-mse" else None, known)
    return WorkerDistance(
        matrix, overlap.astype(np.int32), kind, confusion.worker_ids, confusion.classes, confusion.reference
    )


def _check(kind: str) -> None:
    if kind not in get_args(Distance):
        raise SettingError("kind", f"be one of {', '.join(get_args(Distance))}", kind)


def _mean_squared(rows: FloatArray, overlap: FloatArray | None, known: FloatArray) -> FloatArray:
    """Mean (x - y)² over the entries of the rows both know (all rows without ``overlap``): ‖x‖² + ‖y‖² - 2 x·y."""
    n_workers, n_classes, _ = rows.shape
    flat = rows.reshape(n_workers, -1)
    out: FloatArray = flat @ flat.T
    lengths = (rows**2).sum((1, 2))
    shared = (rows**2).sum(2) @ known.T if overlap is not None else None  # length of r in the rows that s knows
    for start in range(0, n_workers, _BLOCK):
        block = slice(start, start + _BLOCK)
        both = lengths[block, None] + lengths if shared is None else shared[block] + shared[:, block].T
        squared = out[block]
        squared *= -2
        squared += both
        squared[squared <= 1e-13 * both] = 0  # what rounding leaves where the two are equal, negatives included
        if overlap is None:
            squared /= n_classes**2
        else:
            out[block] = divide(squared, n_classes * overlap[block])
    np.fill_diagonal(out, 0)
    return out


def _jensen_shannon(rows: FloatArray, evidence: FloatArray) -> FloatArray:
    """Weighted mean of the rows' distances, block by block of workers and class by class."""
    n_workers, n_classes, _ = rows.shape
    total, weight = np.zeros((n_workers, n_workers)), np.zeros((n_workers, n_workers))
    for a in range(n_classes):
        with_evidence = np.flatnonzero(evidence[:, a])
        half, n = rows[with_evidence, a] / 2, evidence[with_evidence, a]
        own, halves = entr(rows[with_evidence, a]).sum(1), entr(half).sum(1)
        for start in range(0, len(with_evidence), _BLOCK):
            block = slice(start, start + _BLOCK)
            middle = halves[block, None] + halves[start:]  # the entropy of (p + q) / 2 if p and q never met
            for b in np.flatnonzero(half[block].any(0)):
                left, right = np.flatnonzero(half[block, b]), np.flatnonzero(half[start:, b])
                p, q = half[block, b][left, None], half[start:, b][right]
                mixed = p + q
                middle[np.ix_(left, right)] -= mixed * np.log(mixed) + entr(p) + entr(q)
            divergence = (middle - (own[block, None] + own[start:]) / 2) / np.log(2)
            weights = n[block, None] * n[start:] / (n[block, None] + n[start:])
            cells = np.ix_(with_evidence[block], with_evidence[start:])
            total[cells] += weights * np.sqrt(np.where(divergence > 1e-15, divergence, 0))
            weight[cells] += weights
    out = np.triu(divide(total, weight), 1)
    out += out.T
    return out


MOST_OPTIMAL = 1000  # workers up to which leaves are ordered optimally (cubic time)
MOST_GROUPS = 10  # groups that are considered when their number is left open
_NEARLY = 0.8  # share of the largest rise from which another cut is nearly as clear


@dataclass(frozen=True, eq=False)
class WorkerOrder(Shown):
    """Workers clustered by their distances.

    Args:
        order: (n_workers,) worker numbers, similar ones adjacent.
        linkage: (n_workers - 1, 4) merges as in SciPy: two clusters, their distance, members.
        groups: (n_workers,) group of each worker, numbered 0, 1, ... along ``order``.
        method: the method of order, groups and unknown distances, in words.
    """

    order: IntArray
    linkage: FloatArray
    groups: IntArray
    worker_ids: pd.Index[str]
    method: str

    @property
    def n_groups(self) -> int:
        """Groups that the tree was cut into."""
        return int(self.groups.max(initial=-1)) + 1

    def frame(self) -> pd.DataFrame:
        """One line per worker in the order found: worker, position, group."""
        worker_ids, position = self.worker_ids[self.order], np.arange(len(self.order))
        return pd.DataFrame({"worker": worker_ids, "position": position, "group": self.groups[self.order]})


def order_workers(distance: WorkerDistance, n_groups: int | None = None) -> WorkerOrder:
    """Cluster workers hierarchically (average linkage) and cut the tree into groups.

    The leaves are ordered so that the distances between neighbours add up to the least (Bar-Joseph et al. 2001);
    beyond `MOST_OPTIMAL` workers they keep the tree's own order. An unknown distance is replaced by the mean of the
    two workers' mean known distances, so that it neither joins nor separates them.

    Args:
        distance: distances between workers.
        n_groups: groups to cut the tree into; None: at most 10, cut below the merge that rises most above its sides.

    Raises:
        SettingError: fewer than one group, or more than there are workers.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage  # half a second: only when a tree is wanted
    from scipy.spatial.distance import squareform

    n = len(distance.matrix)
    if n_groups is not None and not 1 <= n_groups <= max(n, 1):
        raise SettingError("n_groups", f"be between 1 and the {n} workers", n_groups)
    if n < 2:
        return WorkerOrder(
            np.arange(n), np.empty((0, 4)), np.zeros(n, np.int64), distance.worker_ids, "fewer than two workers"
        )
    matrix, n_unknown = _filled(distance.matrix)
    flat = squareform(matrix, checks=False)
    tree = linkage(flat, "average")
    optimal = n <= MOST_OPTIMAL
    order = optimal_leaves(tree, matrix) if optimal else leaves_list(tree)
    widest, rival = _widest(tree)
    count = widest if n_groups is None else n_groups
    words = "average linkage, " + (
        "optimal leaf order" if optimal else f"the tree's own order (optimal only up to {MOST_OPTIMAL:,} workers)"
    )
    words += f"; {plural(count, 'group')}" + (
        "" if n_groups is not None else ", cut below the merge that rises most above its sides"
    )
    if n_groups is None and rival is not None:
        words += f"; a cut into {rival} is nearly as clear: a few labels may decide between them"
    if n_unknown:
        words += f"; {n_unknown:,} unknown distances taken as the mean of their workers' mean known distances"
    return WorkerOrder(order, tree, _cut(tree, count, order), distance.worker_ids, words)


def _filled(matrix: FloatArray) -> tuple[FloatArray, int]:
    """Distances with unknown ones replaced, and the number of those pairs."""
    unknown = np.isnan(matrix)
    if not unknown.any():
        return matrix, 0
    known = ~unknown
    np.fill_diagonal(known, False)
    total = np.where(known, matrix, 0)
    overall = total.sum() / known.sum() if known.any() else 0.0
    mean = np.divide(total.sum(1), known.sum(1), out=np.full(len(matrix), overall), where=known.any(1))
    filled = np.where(unknown, (mean[:, None] + mean) / 2, matrix)
    return filled, int(unknown.sum()) // 2


def _widest(tree: FloatArray) -> tuple[int, int | None]:
    """Number of groups, at most `MOST_GROUPS`, below the merge that rises most above the merges of its two sides.

    And the number for the second largest rise if it is nearly as large, else None. Merges of a single worker do not
    count: an outlier is no group.
    """
    n = len(tree) + 1
    sides = tree[:, :2].astype(np.int64)
    height = np.concatenate([np.zeros(n), tree[:, 2]])
    size = np.concatenate([np.ones(n), tree[:, 3]])
    rise = np.where(size[sides].min(1) > 1, tree[:, 2] - height[sides].max(1), -1.0)[1 - MOST_GROUPS :]
    first = int(np.argmax(rise))
    if rise[first] <= 0:
        return 1, None
    others = np.where(np.arange(len(rise)) == first, -1.0, rise)
    second = int(np.argmax(others))
    return 1 + len(rise) - first, 1 + len(rise) - second if others[second] >= _NEARLY * rise[first] else None


def _cut(tree: FloatArray, count: int, order: IntArray) -> IntArray:
    """(n_workers,) the groups left when the last ``count - 1`` merges are undone, numbered along the order."""
    n = len(order)
    root = np.arange(n + len(tree))
    for merge in range(n - count - 1, -1, -1):
        root[tree[merge, :2].astype(np.int64)] = root[n + merge]
    _, first, group = np.unique(root[:n][order], return_index=True, return_inverse=True)
    out = np.empty(n, np.int64)
    out[order] = np.argsort(np.argsort(first))[group]
    return out


_AT_ONCE = 1_000_000  # sums formed in one array


def optimal_leaves(tree: FloatArray, distance: FloatArray) -> IntArray:
    """Dynamic programme of Bar-Joseph et al. (2001), "Fast optimal leaf ordering", in O(n³) time and O(n²) memory.

    ``best[i, j]`` is the least sum for the smallest subtree that holds both leaves i and j, with i and j as its ends;
    for a merge of a left and a right side it is the minimum over the ends h, l where the sides meet of ``best[i, h] +
    distance[h, l] + best[l, j]``, taken over h first and over l then.

    ``tree`` (n - 1, 4) holds merges as in SciPy; ``distance`` (n, n) is symmetric, without NaN.
    """
    from scipy.cluster.hierarchy import leaves_list

    leaves = leaves_list(tree)
    sides = _Sides(tree)
    near = distance[np.ix_(leaves, leaves)]
    best = np.zeros(near.shape)
    for left, right in sides.children:
        for i, h in sides.ends(left):
            for j, k in sides.ends(right):
                best[i, j] = _min_plus(_min_plus(best[i, h], near[h, k]), best[k, j])
                best[j, i] = best[i, j].T
    return np.asarray(leaves[_walk(sides, near, best)])


class _Sides:
    """Tree over the places of its leaves in `leaves_list`: every subtree is a range of places."""

    def __init__(self, tree: FloatArray) -> None:
        self.n = n = len(tree) + 1
        self.children = tree[:, :2].astype(np.int64)
        self.size = np.concatenate([np.ones(n, np.int64), tree[:, 3].astype(np.int64)])
        self.start = np.zeros(2 * n - 1, np.int64)
        for merge in range(n - 2, -1, -1):
            left, right = self.children[merge]
            self.start[left] = self.start[n + merge]
            self.start[right] = self.start[n + merge] + self.size[left]

    def ends(self, node: int) -> list[tuple[slice, slice]]:
        """Possible places of the two ends of a subtree: in its left and right side, or the other way round."""
        whole = slice(int(self.start[node]), int(self.start[node] + self.size[node]))
        if node < self.n:
            return [(whole, whole)]
        middle = int(self.start[self.children[node - self.n, 1]])
        left, right = slice(whole.start, middle), slice(middle, whole.stop)
        return [(left, right), (right, left)]

    def other_end(self, node: int, place: int) -> slice:
        """Possible places of the other end if one is at ``place``."""
        return next(other for side, other in self.ends(node) if side.start <= place < side.stop)


def _walk(sides: _Sides, near: FloatArray, best: FloatArray) -> list[int]:
    """Places in the best order: split every subtree, from the root down, where its sides meet at the least cost."""
    root = 2 * sides.n - 2
    first, last = sides.ends(root)[0]
    at = np.unravel_index(best[first, last].argmin(), best[first, last].shape)
    todo = [(root, first.start + int(at[0]), last.start + int(at[1]))]
    order: list[int] = []
    while todo:
        node, begin, end = todo.pop()
        if node < sides.n:
            order.append(begin)
            continue
        left, right = (int(child) for child in sides.children[node - sides.n])
        if begin >= sides.start[right]:  # the subtree is reversed
            left, right = right, left
        h, k = sides.other_end(left, begin), sides.other_end(right, end)
        meet = best[begin, h, None] + near[h, k] + best[k, end]
        at = np.unravel_index(meet.argmin(), meet.shape)
        todo.append((right, k.start + int(at[1]), end))
        todo.append((left, begin, h.start + int(at[0])))
    return order


def _min_plus(a: FloatArray, b: FloatArray) -> FloatArray:
    """(p, r) ``min_q a[p, q] + b[q, r]``."""
    if a.size * b.shape[1] <= _AT_ONCE:
        return np.asarray((a[:, :, None] + b).min(1))
    out = np.full((a.shape[0], b.shape[1]), np.inf)
    for q in range(len(b)):
        np.minimum(out, a[:, q, None] + b[q], out=out)
    return out
