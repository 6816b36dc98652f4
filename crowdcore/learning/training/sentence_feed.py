"""Batches of whole sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from crowdcore.data.sentences import rows_of
from crowdcore.learning.training.data import Data, Feed, Index

_POOL = 16  # batches within which sentences of similar length come together


class SentenceFeed(Feed):
    """Shuffled batches of ``batch_size`` sentences of one replica, similar lengths together.

    Args:
        data: where to gather from; its tasks are tokens.
        seed: of the replica.
        batch_size: sentences per step.
    """

    def __init__(self, data: Data, seed: int, batch_size: int) -> None:
        super().__init__(data, (seed,), 1)
        start = data.problem.sentence_start
        assert start is not None
        self.sentence_start = start[start <= self.n]
        self.batch_size = batch_size
        self.shared = False

    @property
    def n_batches(self) -> int:
        """Steps per epoch."""
        return -(-(len(self.sentence_start) - 1) // self.batch_size)

    def epoch(self, number: int) -> Iterator[Index]:
        """Indices of one epoch's batches."""
        rng = np.random.default_rng((self.seeds[0], number))
        length = np.diff(self.sentence_start)
        order = rng.permutation(len(length))
        pool = np.arange(len(order)) // (_POOL * self.batch_size)
        order = order[np.lexsort((length[order], pool))]
        home = self.data.device if self.data.resident else torch.device("cpu")
        for k in rng.permutation(self.n_batches):
            task = rows_of(self.sentence_start, order[k * self.batch_size : (k + 1) * self.batch_size])
            entry = rows_of(self._start, task)
            row = np.repeat(np.arange(len(task)), np.diff(self._start)[task])
            yield Index(*(torch.from_numpy(a).unsqueeze(0).to(home) for a in (task, entry, row)))


def make_feed(data: Data, seeds: tuple[int, ...], batch_size: int, fixed_width: bool = False) -> Feed:
    """Batches of tasks, or of sentences where the network reads sentences."""
    if data.problem.sentence_start is None:
        return Feed(data, seeds, batch_size, fixed_width)
    assert len(seeds) == 1, "sentences of several replicas do not fit into one array"
    return SentenceFeed(data, seeds[0], batch_size)
