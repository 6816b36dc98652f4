"""Optimal leaf order of a tree: the smallest sum of distances between neighbours.

SciPy's `optimal_leaf_ordering` often misses it (scipy issue 11227), so it is computed here.
"""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import FloatArray, IntArray

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
