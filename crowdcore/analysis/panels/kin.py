"""Judges who share mistakes beyond what the rest of the panel explains: copies, versions of one model, one prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import ndtri

from crowdcore.analysis.panels.moments import Moments
from crowdcore.analysis.statistics import bootstrap_weights
from crowdcore.core.types import BoolArray, FloatArray, IntArray

_LEAST = 0.15  # smallest reported correlation beyond the panel's
_COPIES = 0.9  # correlation that no difficulty of the items explains
_RARE = 5.0  # variance of a judge's errors, about as many items, below which chance alone may pair judges
_OTHERS = 3  # judges outside a group, who show which items are hard
_RESAMPLES = 100
_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Kin:
    """Judges who make the same mistakes.

    Attributes:
        members: (n_members,) numbers of the judges, ascending.
        correlation: mean over their pairs of the correlation of errors within classes.
        expected: part of it that one difficulty of the items, by the other judges, explains; NaN for copies.
        low: lower end of the interval of the excess, at 5 % over all pairs of the panel; NaN of copies.
    """

    members: IntArray
    correlation: float
    expected: float
    low: float


def kin(moments: Moments, seed: int = 0) -> tuple[Kin, ...]:
    """Find disjoint groups of at most half of the panel, those who share most beyond the others first.

    The correlations within classes ``w_jk`` of all pairs but the group's own give each judge a loading l on a common
    difficulty, by least squares. In a group, ``w_jk`` exceeds ``l_j l_k`` by `_LEAST` in each pair, and their mean
    exceeds it significantly by resampled items, at 5 % over all pairs. Judges who do not look at the items have no
    correlation within classes, whatever they answer. If too few others are left, as in a panel of four or one of copies
    alone, groups are judges whose pairs all correlate by `_COPIES`.
    """
    square = moments.square[1].sum(0)
    w = np.where(np.minimum(square, square.T) < _RARE, np.nan, moments.correlation(1))
    m = len(w)
    weight = bootstrap_weights(np.ones(len(moments.items), np.int64), _RESAMPLES, np.random.default_rng(seed)).T
    drawn = moments.correlation(1, weight) if m <= 100 else np.stack([moments.correlation(1, one) for one in weight])
    far = -float(ndtri(0.05 / (m * (m - 1))))
    groups: list[Kin] = []
    for members in _candidates(w):
        if any(np.isin(members, other.members).any() for other in groups):
            continue
        inside = np.zeros(m, bool)
        inside[members] = True
        excess, explained = _excess(w[None], inside)
        if np.isnan(excess).any() or excess.min() < _LEAST:
            continue
        mean = float(excess.mean())
        low = mean - far * float(np.nanstd(_excess(drawn, inside)[0].mean(1)))
        if low > 0:
            groups.append(Kin(members, mean + float(explained.mean()), float(explained.mean()), low))
    return (*sorted(groups, key=lambda one: one.expected - one.correlation), *_copies(w, groups))


def _copies(w: FloatArray, kin_groups: list[Kin]) -> tuple[Kin, ...]:
    """Groups of judges whose pairs all correlate by `_COPIES`, among those who are in no group yet."""
    group = fcluster(_tree(w, "complete"), 1 - _COPIES, "distance")
    grouped = [j for one in kin_groups for j in one.members.tolist()]
    groups = [np.flatnonzero(group == k) for k in np.unique(group)]
    return tuple(
        Kin(members, float(w[np.ix_(members, members)][np.triu_indices(len(members), 1)].mean()), np.nan, np.nan)
        for members in groups
        if len(members) > 1 and not np.isin(members, grouped).any()
    )


def _tree(w: FloatArray, method: Literal["average", "complete"]) -> FloatArray:
    distance = np.nan_to_num(1 - w, nan=1.0)
    return np.asarray(linkage(squareform((distance + distance.T) / 2, checks=False), method))


def _candidates(w: FloatArray) -> list[IntArray]:
    """Branches of the tree of correlations, at most half of the panel, the largest first, then the closest pairs."""
    m = len(w)
    if m < _OTHERS + 2:
        return []
    branches = [np.array([j]) for j in range(m)]
    for left, right in _tree(w, "average")[:, :2].astype(int):
        branches.append(np.sort(np.r_[branches[left], branches[right]]))
    a, b = np.triu_indices(m, 1)
    close = np.flatnonzero(np.nan_to_num(w[a, b]) >= _LEAST)
    close = close[np.argsort(-w[a, b][close], kind="stable")][: 4 * m]
    pairs = [np.array([a[k], b[k]]) for k in close]
    most = min(m // 2, m - _OTHERS)
    whole = [one for one in branches[m:] if len(one) <= most]
    return sorted(whole, key=lambda one: -len(one)) + pairs


def _excess(w: FloatArray, inside: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(B, pairs) of ``w`` (B, m, m) in the group: the excess over loadings of all other pairs, and the part explained.

    Each judge's loading is moved half way to its fit by the others', for all resamples at once.
    """
    m = w.shape[-1]
    used = ~(inside[:, None] & inside) & ~np.eye(m, dtype=bool) & ~np.isnan(w)
    used, known = used.astype(np.float64), np.where(used, w, 0.0)
    loading = np.sqrt(np.clip(known.sum((1, 2)) / np.maximum(used.sum((1, 2)), 1), 0.01, 1))[:, None] * np.ones(m)
    for _ in range(_ROUNDS):
        top, below = known @ loading[..., None], used @ loading[..., None] ** 2
        loading = (loading + np.clip(top / np.maximum(below, 1e-6), 0, 1)[..., 0]) / 2
    a, b = (inside.nonzero()[0][part] for part in np.triu_indices(int(inside.sum()), 1))
    explained = loading[:, a] * loading[:, b]
    return np.asarray(w[:, a, b] - explained), np.asarray(explained)
