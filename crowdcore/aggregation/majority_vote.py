"""Majority vote."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import most_probable, vote_counts
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

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
