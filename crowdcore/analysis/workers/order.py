"""Hierarchical clustering of workers: an order with similar workers side by side, and groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.workers.distance import WorkerDistance
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.report import plural

MOST_OPTIMAL = 1000  # workers up to which leaves are ordered optimally (cubic time)
MOST_GROUPS = 10  # groups that are considered when their number is left open
_AS_CLEAR = 0.8  # of the largest rise: a cut that rises so much is nearly as clear


@dataclass(frozen=True, eq=False)
class WorkerOrder:
    """Workers clustered by their distances.

    Args:
        order: (n_workers,) worker numbers, similar ones adjacent.
        linkage: (n_workers - 1, 4) merges as SciPy has them: two clusters, their distance, members.
        groups: (n_workers,) group of each worker, numbered 0, 1, ... along ``order``.
        worker_ids: (n_workers,) names.
        method: how order, groups and unknown distances came about, in words.
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
        return pd.DataFrame(
            {
                "worker": self.worker_ids[self.order],
                "position": np.arange(len(self.order)),
                "group": self.groups[self.order],
            }
        )


def order_workers(distance: WorkerDistance, n_groups: int | None = None) -> WorkerOrder:
    """Cluster workers hierarchically (average linkage) and cut the tree into groups.

    The leaves are ordered so that the distances between neighbours add up to the least (Bar-Joseph et al. 2001);
    beyond `MOST_OPTIMAL` workers they keep the tree's own order. An unknown distance is taken as the mean of the
    two workers' mean known distances, so that it neither joins nor parts them.

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
    """The distances with unknown ones replaced, and how many pairs those are."""
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
    """Groups, at most `MOST_GROUPS`, just before the merge that stands highest above the merges of its two sides.

    And the groups of the second highest where it is nearly as high, else None. Merges of a single worker do not count:
    an outlier is no group.
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
    return 1 + len(rise) - first, 1 + len(rise) - second if others[second] >= _AS_CLEAR * rise[first] else None


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
    for a merge of a left and a right side it is the minimum over the ends h, l where the sides meet of
    ``best[i, h] + distance[h, l] + best[l, j]``, taken over h first and over l then.

    Args:
        tree: (n - 1, 4) merges as SciPy has them, n >= 2.
        distance: (n, n) symmetric, without NaN.

    Returns:
        (n,) leaves in that order.
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
    """The tree over the places of its leaves in `leaves_list`: every subtree is a range of places."""

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
        """Where the two ends of a subtree can be: in its left and right side, or the other way round."""
        whole = slice(int(self.start[node]), int(self.start[node] + self.size[node]))
        if node < self.n:
            return [(whole, whole)]
        middle = int(self.start[self.children[node - self.n, 1]])
        left, right = slice(whole.start, middle), slice(middle, whole.stop)
        return [(left, right), (right, left)]

    def other_end(self, node: int, place: int) -> slice:
        """Where the other end can be if one is at ``place``."""
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
        if begin >= sides.start[right]:  # the subtree is turned round
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
