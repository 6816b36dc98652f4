"""Sentences with entities, drawn from a Markov chain over tags, whose tokens a crowd tags."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sentences import Sentences
from crowdcore.data.simulate._draw import assign, draw_labels
from crowdcore.data.simulate.base import ClassSimulation, as_tasks, numbered


class TaggedSentences(ClassSimulation):
    """Settings of sentences, and who tags which."""

    makes_tasks: ClassVar[bool] = True

    n_sentences: int = setting(500, "Sentences", "Sentences in all.", ge=1)
    n_valid: int = setting(0, "Validation sentences", "Of these, for validation.", ge=0)
    n_test: int = setting(0, "Test sentences", "Of these, for testing.", ge=0)
    length: float = setting(12.0, "Tokens of a sentence", "Mean, one and a Poisson draw.", ge=1)
    types: tuple[str, ...] = setting(("LOC", "PER"), "Types", "Entity types.", min_length=1)
    begins: float = setting(0.15, "Entities begin", "Share of tokens after O that begin an entity.", gt=0, lt=1)
    vocabulary: int = setting(2000, "Vocabulary", "Words of each tag, by Zipf's law.", ge=1)
    ambiguous: Share = setting(0.4, "Ambiguous words", "Share of tokens whose word may have any tag.")
    n_workers: int = setting(8, "Workers", "Workers, R.", ge=1)
    per_sentence: float = setting(4.0, "Workers of a sentence", "Mean number.", gt=0)

    def _tasks(self, rng: np.random.Generator) -> CrowdDataset:
        if self.n_valid + self.n_test >= self.n_sentences:
            raise SettingError(
                "n_sentences", f"exceed n_valid + n_test = {self.n_valid + self.n_test}", self.n_sentences
            )
        lengths = 1 + rng.poisson(self.length - 1, self.n_sentences)
        start = np.concatenate([[0], np.cumsum(lengths)])
        gold = self._chain(lengths, start, rng)
        sizes = [self.n_sentences - self.n_valid - self.n_test, self.n_valid, self.n_test]
        split = np.repeat(np.repeat([0, 1, 2], sizes), lengths)
        ids = numbered("s", self.n_sentences)
        sentences = Sentences(start, ids, self._words(gold, rng))
        position = np.arange(len(gold)) - start[sentences.of_task] + 1
        tasks = as_tasks((None, gold), self.name, split)
        names = [f"{ids[s]}:{p}" for s, p in zip(sentences.of_task, position, strict=True)]
        classes = ("O", *(f"{part}-{kind}" for kind in self.types for part in "BI"))
        return replace(tasks, classes=classes, task_ids=pd.Index(names), sentences=sentences)

    def _words(self, gold: IntArray, rng: np.random.Generator) -> pd.Index[str]:
        """A word for each token: a share of one vocabulary for all, else one of its part and type; Zipf ranks."""
        rank = np.floor(self.vocabulary ** rng.random(len(gold))).astype(int)
        own = np.where(rng.random(len(gold)) < self.ambiguous, 0, gold + 1)
        prefixes = ["any", "word", *(f"{kind.title()}{part}" for kind in self.types for part in "bi")]
        return pd.Index([f"{prefixes[p]}{r}" for p, r in zip(own, rank, strict=True)])

    def _chain(self, lengths: IntArray, start: IntArray, rng: np.random.Generator) -> IntArray:
        """(n_tokens,) gold tags, drawn for all sentences at one position at a time."""
        n = 1 + 2 * len(self.types)
        move = np.zeros((n, n))
        move[:, 1::2] = self.begins / len(self.types)
        for begin in range(1, n, 2):  # half of the entities go on
            move[begin : begin + 2] /= 2
            move[begin : begin + 2, begin + 1] = 0.5
        move[:, 0] = 1 - move.sum(1)
        state: IntArray = np.zeros(len(lengths), int)
        gold: IntArray = np.zeros(start[-1], int)
        for place in range(int(lengths.max())):
            going = np.flatnonzero(lengths > place)
            state[going] = draw_labels(move[None], np.zeros(len(going), int), state[going], rng)
            gold[start[going] + place] = state[going]
        return gold

    def _assigned(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Whole sentences for workers: sentence and worker, aligned."""
        assert tasks.sentences is not None
        chosen = np.unique(tasks.sentences.of_task[labelled])
        return assign(chosen, self.n_workers, self.per_sentence, "even", rng)
