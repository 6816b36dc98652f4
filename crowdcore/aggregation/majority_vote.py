"""Votes: of the majority, on labels or spans, and weighted by how often workers agree."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import Ties, clamp, most_probable, vote_counts, vote_shares, winners
from crowdcore.core.settings import setting
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sentences import rows_of
from crowdcore.data.tags import BEGIN, INSIDE, TagScheme, find_spans, scheme_of, worker_sequences

_BLOCK = 1 << 16  # tasks that are processed at once


class MajorityVote(Aggregator):
    """Vote shares, ``q_i(c) = #{r : y_i^r = c} / #{r : y_i^r}``, or (hard) all mass on the most voted class.

    The number of ties between classes, and the class that gets them, is noted.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.aggregation.MajorityVote().fit(cc.load_dataset("demo"))
        >>> result.posterior[0].max().item()
        1.0
    """

    name: ClassVar[str] = "majority-vote"
    title: ClassVar[str] = "Majority vote"
    paper: ClassVar[str] = "-"

    hard: bool = setting(False, "Winner takes all", "Put all mass on the winner instead of keeping vote shares.")
    ties: Literal["lowest", "random"] = setting(
        "lowest", "Ties go to", "Which class wins a tie; published figures use the lowest class."
    )
    seed: int = setting(0, "Seed of the tie-break", "Seed of the random tie-break.", ge=0)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        votes = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
        if known is not None:
            clamped = np.flatnonzero(known >= 0)
            votes[clamped] = 0
            votes[clamped, known[clamped]] = 1
        key = votes + 0.5 * np.random.default_rng(self.seed).random(votes.shape) if self.ties == "random" else votes
        winner = most_probable(key)
        notes = self._ties(votes)
        if self.hard:
            votes[:] = 0.0
            votes[np.arange(len(votes)), winner] = 1.0
        else:
            for first in range(0, len(votes), _BLOCK):
                some = votes[first : first + _BLOCK]
                some /= np.maximum(some.sum(1, keepdims=True), 1)
        result = self.result(dataset, votes, known=known, notes=notes)
        return replace(result, labels=np.where(result.labels < 0, -1, winner).astype(np.int32))

    def _ties(self, votes: FloatArray) -> tuple[str, ...]:
        """Note on the number of tied tasks and the class that gets them."""
        tied = n = 0
        for first in range(0, len(votes), _BLOCK):
            some = votes[first : first + _BLOCK]
            top = some.max(1)
            tied += int(((some == top[:, None]).sum(1)[top > 0] > 1).sum())
            n += int((top > 0).sum())
        to = "to the lowest class" if self.ties == "lowest" else f"by a draw with seed {self.seed}"
        other = ": the order of the classes decides. The setting “ties” can draw them instead."
        end = other if self.ties == "lowest" else "."
        return (f"{tied:,} of {n:,} tasks are tied and go {to}{end}",) if tied else ()


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
        scheme = scheme_of(dataset)
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


class Wawa(Aggregator):
    """Worker agreement with aggregate: one round of votes weighted by agreement with the majority.

    ``m_i = argmax_c #{r : y_i^r = c}``, ``w_r = mean_i 1[y_i^r = m_i]``, ``q_i(c) ∝ Σ_r w_r 1[y_i^r = c]``.
    A task whose annotators all weigh nothing keeps its plain vote shares. Known tasks count with their true class
    in ``m``. Sharing a tie does not depend on the order of the classes.
    """

    name: ClassVar[str] = "wawa"
    title: ClassVar[str] = "Wawa"
    paper: ClassVar[str] = "Worker agreement with aggregate, as defined by crowd-kit; doi:10.21105/joss.06227"

    ties: Ties = setting("share", "Ties go to", "Ties: all tied classes get a share, or the lowest class wins.")

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        votes = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
        won = winners(votes, self.ties)
        clamp(won, known)
        skill = accuracy_against(dataset, won)
        posterior = vote_shares(weighted_votes(dataset, skill[dataset.worker]), fallback=votes)
        clamp(posterior, known)
        weight = np.where(dataset.labels_per_worker > 0, skill, np.nan)
        return self.result(dataset, posterior, known=known, worker_weight=weight)


UNCHANGED = 1e-12


class ZeroBasedSkill(Aggregator):
    """Weighted votes whose weights follow the agreement with the weighted vote, step by step.

    ``m_i = argmax_c Σ_r w_r 1[y_i^r = c]``, then ``w_r ← w_r + η (mean_i 1[y_i^r = m_i] - w_r)``, with η reduced
    every ``reduce_every`` steps; the answer is ``q_i(c) ∝ Σ_r w_r 1[y_i^r = c]``. Stops when no weight moves, or
    at the cap. Known tasks count with their true class in ``m``; ``ties="lowest"`` is crowd-kit's rule.
    """

    name: ClassVar[str] = "zero-based-skill"
    title: ClassVar[str] = "Zero-based skill"
    paper: ClassVar[str] = "Zero-based skill, as defined by crowd-kit; doi:10.21105/joss.06227"

    max_iterations: int = setting(100, "Updates at most", "Most weight updates.", ge=1, le=100_000)
    learning_rate: float = setting(1.0, "First step size", "First step size η.", gt=0, le=1)
    reduce_every: int = setting(20, "Steps between reductions", "Steps between reductions of the step size.", ge=1)
    reduce_factor: float = setting(
        0.5, "Factor of a reduction", "Factor by which the step size is then multiplied.", gt=0, le=1
    )
    ties: Ties = setting("share", "Ties go to", "Ties: all tied classes get a share, or the lowest class wins.")

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        counts = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
        weight = np.full(dataset.n_workers, 1.0 / dataset.n_classes)
        if start is not None and start.worker_weight is not None:
            weight = np.where(np.isnan(start.worker_weight), weight, start.worker_weight)
        rate, change = self.learning_rate, np.inf
        for iteration in range(1, self.max_iterations + 1):
            if iteration % self.reduce_every == 0:
                rate *= self.reduce_factor
            won = winners(weighted_votes(dataset, weight[dataset.worker]), self.ties)
            clamp(won, known)
            step = rate * (accuracy_against(dataset, won) - weight)
            weight = weight + step
            change = float(np.abs(step).max())
            if change < UNCHANGED:
                break
        posterior = vote_shares(weighted_votes(dataset, weight[dataset.worker]), fallback=counts)
        clamp(posterior, known)
        converged = change < UNCHANGED
        return self.result(
            dataset,
            posterior,
            known=known,
            worker_weight=np.where(dataset.labels_per_worker > 0, weight, np.nan),
            converged=converged,
            stopped=f"no weight moved after {iteration} updates" if converged else f"cap of {iteration} updates",
        )


def weighted_votes(dataset: CrowdDataset, weight: FloatArray) -> FloatArray:
    """(n_tasks, C) float64, summed ``weight`` (n_annotations,) of the annotations that gave each label."""
    cell = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    votes = np.bincount(cell, weights=weight, minlength=dataset.n_tasks * dataset.n_classes)
    return np.asarray(votes.reshape(dataset.n_tasks, dataset.n_classes), np.float64)


def accuracy_against(dataset: CrowdDataset, won: FloatArray) -> FloatArray:
    """(n_workers,) mean of ``won[task, label]`` over a worker's annotations, 0 for a worker without any."""
    right = np.bincount(dataset.worker, weights=won[dataset.task, dataset.label], minlength=dataset.n_workers)
    return np.asarray(right / np.maximum(dataset.labels_per_worker, 1))
