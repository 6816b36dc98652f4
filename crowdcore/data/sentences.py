"""`Sentences`: groups of tasks that are the tokens of a sentence."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import BLOCK


@dataclass(frozen=True, eq=False)
class Sentences:
    """Tasks ``start[s]:start[s + 1]`` are the tokens of sentence s, in their order.

    Args:
        start: (n_sentences + 1,) int64 offsets into the tasks, from 0 to n_tasks, ascending.
        ids: (n_sentences,) unique strings.
        words: (n_tasks,) text of each token.

    Raises:
        DataError: offsets that do not cut the tasks into sentences.
    """

    start: IntArray
    ids: pd.Index[str]
    words: pd.Index[str]

    def __post_init__(self) -> None:
        start = np.ascontiguousarray(self.start, np.int64).view()
        start.flags.writeable = False
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "ids", pd.Index(self.ids))
        object.__setattr__(self, "words", pd.Index(self.words))
        if (
            len(start) != len(self.ids) + 1
            or start[0] != 0
            or start[-1] != len(self.words)
            or (np.diff(start) < 1).any()
        ):
            raise DataError("`start` must ascend from 0 to the number of tokens, with one step for each sentence")

    @classmethod
    def from_tokens(cls, sentence: IntArray, ids: pd.Index[str], words: pd.Index[str]) -> Sentences:
        """Sentences from the sentence number of each token, ``0, 0, 0, 1, 1, 2 …``."""
        return cls(np.concatenate([[0], np.cumsum(np.bincount(sentence, minlength=len(ids)))]), ids, words)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def lengths(self) -> IntArray:
        """(n_sentences,) tokens of each sentence."""
        return np.diff(self.start)

    @cached_property
    def of_task(self) -> IntArray:
        """(n_tasks,) sentence of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (32 characters) of offsets, ids and words."""
        digest = hashlib.blake2b(self.start.tobytes(), digest_size=16)
        for strings in (self.ids, self.words):
            digest.update(pd.util.hash_array(np.asarray(strings, object), categorize=False).tobytes())
        return digest.hexdigest()

    def tasks(self, chosen: IntArray) -> IntArray:
        """The tokens of some sentences, one sentence after another."""
        return rows_of(self.start, chosen)

    def take(self, tasks: IntArray) -> Sentences:
        """The sentences of some tasks (ascending); a sentence of which some tokens are left is shorter."""
        chosen, sentence = np.unique(self.of_task[tasks], return_inverse=True)
        return self.from_tokens(sentence, self.ids[chosen], self.words[tasks])


def rows_of(start: IntArray, chosen: IntArray, dtype: type[np.signedinteger[Any]] = np.int64) -> IntArray:
    """The rows ``start[c]:start[c + 1]`` for each c of ``chosen``, one group after another, as numbers of a type."""
    size = start[chosen + 1] - start[chosen]
    before = np.cumsum(size) - size
    rows: IntArray = np.repeat((start[chosen] - before).astype(dtype), size)
    for at in range(0, len(rows), BLOCK):
        part = rows[at : at + BLOCK]
        part += np.arange(at, at + len(part), dtype=dtype)
    return rows
