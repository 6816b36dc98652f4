"""Majority vote over spans."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import clamp, vote_counts
from crowdcore.core.settings import setting
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sentences import rows_of
from crowdcore.data.tags import BEGIN, INSIDE, TagScheme, find_spans, worker_sequences


class SpanMajority(Aggregator):
    """A span (tokens and type) stands if at least a share ``least`` of the workers who tagged its tokens gave it.

    Of spans that overlap, those with more votes stand; of equally many, the longer, then the earlier one. All mass
    lies on the tags of the spans that stand. Where classes are no tags of sentences, these are vote shares.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.tags(n_sentences=50, seed=1)
        >>> result = cc.aggregation.SpanMajority().fit(crowd)
        >>> round(cc.analysis.tagging_scores(crowd, result.labels).f1, 2)
        0.68
    """

    name: ClassVar[str] = "span-majority"
    title: ClassVar[str] = "Span majority"
    paper: ClassVar[str] = "-"
    sequential: ClassVar[bool] = True

    least: float = setting(0.5, "Least share of workers", "Spans with fewer votes are left out.", gt=0, le=1)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        scheme = None if dataset.sentences is None else TagScheme.of(dataset.classes)
        if scheme is None:
            posterior = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
            posterior /= np.maximum(dataset.labels_per_task, 1)[:, None]
        else:
            posterior = np.eye(dataset.n_classes)[self._tags(dataset, scheme)]
        clamp(posterior, known)
        return self.result(dataset, posterior, known=known)

    def _tags(self, dataset: CrowdDataset, scheme: TagScheme) -> IntArray:
        """(n_tasks,) the tags of the spans that stand."""
        sequences = worker_sequences(dataset)
        spans = find_spans(dataset.label[sequences.rows], sequences.first, scheme)
        task = dataset.task[sequences.rows].astype(np.int64)
        n_types, longest = len(scheme.types), int((spans.end - spans.start).max(initial=1))
        key = (task[spans.start] * longest + spans.end - spans.start - 1) * n_types + spans.type
        candidate, votes = np.unique(key, return_counts=True)
        begin, length = np.divmod(candidate // n_types, longest)
        length += 1
        share = votes / dataset.labels_per_task[begin]
        chosen = share >= self.least
        begin, length, kind, share = begin[chosen], length[chosen], (candidate % n_types)[chosen], share[chosen]
        stands = _winners(begin, length, share, dataset.n_tasks)
        tags = np.full(dataset.n_tasks, scheme.outside)
        begin, length, kind = begin[stands], length[stands], kind[stands]
        ends = np.stack([begin, begin + length], 1).ravel()
        tags[rows_of(ends, 2 * np.arange(len(begin)))] = np.repeat(scheme.tag(INSIDE)[kind], length)
        tags[begin] = scheme.tag(BEGIN)[kind]
        return tags


def _winners(begin: IntArray, length: IntArray, share: FloatArray, n_tasks: int) -> BoolArray:
    """(n_spans,) which spans come before all that overlap them."""
    rank: IntArray = np.empty(len(begin), int)
    rank[np.lexsort((-begin, length, share))] = np.arange(len(begin))
    span = np.repeat(np.arange(len(begin)), length)
    token = np.repeat(begin - np.cumsum(length) + length, length) + np.arange(len(span))
    top: IntArray = np.full(n_tasks, -1)
    np.maximum.at(top, token, rank[span])
    return np.asarray(np.bincount(span, top[token] > rank[span], minlength=len(begin)) == 0)
