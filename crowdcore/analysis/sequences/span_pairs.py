"""True spans beside given ones: which are equal, and how the others differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.tags import Spans, TagScheme, find_spans

SPAN_ERRORS = ("missed", "both", "boundary", "type", "exact")
"""What became of a true span, worst first: nothing overlaps it, something of other extent and type does, something of
other extent, something of the same extent and another type, or the very same span."""


@dataclass(frozen=True, eq=False)
class SpanPairs:
    """Two taggings of the same positions.

    Args:
        true, given: their spans.
        outcome: (n true spans,) index into `SPAN_ERRORS`.
        partner: (n true spans,) the given span behind the outcome (the longest overlap of several), -1 = none.
        spurious: (n given spans,) whether no true span overlaps it.
    """

    true: Spans
    given: Spans
    outcome: IntArray
    partner: IntArray
    spurious: BoolArray


def pair_spans(true: IntArray, given: IntArray, first: BoolArray, scheme: TagScheme) -> SpanPairs:
    """Pair the spans of two taggings.

    Args:
        true, given: (n,) classes of the same positions.
        first: (n,) whether a sequence begins here.
        scheme: what the classes say.
    """
    spans, other = find_spans(true, first, scheme), find_spans(given, first, scheme)
    both = np.flatnonzero((spans.of >= 0) & (other.of >= 0))
    cell, overlap = np.unique(spans.of[both].astype(np.int64) * max(len(other), 1) + other.of[both], return_counts=True)
    t, g = np.divmod(cell, max(len(other), 1))
    same_extent = (spans.start[t] == other.start[g]) & (spans.end[t] == other.end[g])
    same_type = spans.type[t] == other.type[g]
    rank = 1 + same_type + 2 * same_extent
    outcome = np.zeros(len(spans), int)
    partner = np.full(len(spans), -1)
    best = np.lexsort((overlap, rank))  # the last assignment of a span stands
    outcome[t[best]], partner[t[best]] = rank[best], g[best]
    spurious = np.ones(len(other), bool)
    spurious[g] = False
    return SpanPairs(spans, other, outcome, partner, spurious)
