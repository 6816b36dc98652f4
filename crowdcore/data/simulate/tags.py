"""Sentences whose tokens workers tag: entities from a Markov chain, each tag confused on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.sentences import Sentences
from crowdcore.data.simulate._draw import assign, draw_labels
from crowdcore.data.simulate.base import Crowd, Simulation, as_tasks, numbered

__all__ = ["Tags", "tags"]


class Tags(Simulation):
    """Gold tags follow a Markov chain over ``O``, ``B-…``, ``I-…``; worker r gives tag l for c with ``π^r[c, l]``.

    That is the model of HMM-Crowd. A worker right with probability a misses an entity's token (``O``) half of the
    other times. Tags are confused one by one, so that workers also give ``I-`` where none may stand.
    """

    name: ClassVar[str] = "tags"
    title: ClassVar[str] = "Tags of tokens (HMM)"
    paper: ClassVar[str] = "Nguyen et al.: Aggregating and Predicting Sequence Labels from Crowd Annotations, ACL 2017"
    makes_tasks: ClassVar[bool] = True

    n_sentences: int = Field(default=500, ge=1, title="Sentences", description="Sentences in all.")
    n_valid: int = Field(default=0, ge=0, title="Validation sentences", description="Of these, for validation.")
    n_test: int = Field(default=0, ge=0, title="Test sentences", description="Of these, for testing.")
    length: float = Field(default=12.0, ge=1, title="Tokens of a sentence", description="Mean, one and a Poisson draw.")
    types: tuple[str, ...] = Field(default=("LOC", "PER"), min_length=1, title="Types", description="Entity types.")
    begins: float = Field(
        default=0.15, gt=0, lt=1, title="Entities begin", description="Share of tokens after O that begin an entity."
    )
    vocabulary: int = Field(default=2000, ge=1, title="Vocabulary", description="Words of each tag, by Zipf's law.")
    ambiguous: float = Field(
        default=0.4, ge=0, le=1, title="Ambiguous words", description="Share of tokens whose word may have any tag."
    )
    n_workers: int = Field(default=8, ge=1, title="Workers", description="Workers, R.")
    per_sentence: float = Field(default=4.0, gt=0, title="Workers of a sentence", description="Mean number.")
    worst: float = Field(default=0.5, ge=0, le=1, title="Worst accuracy", description="Of a worker, on entities.")
    best: float = Field(default=0.9, ge=0, le=1, title="Best accuracy", description="Of a worker, on entities.")

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

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        assert tasks.sentences is not None
        confusion = np.stack(
            [self._confusion(a, tasks.n_classes) for a in rng.uniform(self.worst, self.best, self.n_workers)]
        )
        chosen = np.unique(tasks.sentences.of_task[labelled])
        sentence, worker = assign(chosen, self.n_workers, self.per_sentence, "even", rng)
        task = tasks.sentences.tasks(sentence)
        worker = np.repeat(worker, tasks.sentences.lengths[sentence])
        label = draw_labels(confusion, worker, tasks.gold[task], rng)
        return Crowd(task, worker, label, SimulatedTruth(worker_confusion=confusion), self.n_workers)

    def _confusion(self, accuracy: float, n: int) -> FloatArray:
        confusion = np.full((n, n), (1 - accuracy) / 2 / max(n - 2, 1))
        confusion[0], confusion[:, 0] = (1 - accuracy) / 5 / (n - 1), (1 - accuracy) / 2
        np.fill_diagonal(confusion, 0)
        np.fill_diagonal(confusion, 1 - confusion.sum(1))
        return confusion


def tags(**settings: Any) -> CrowdDataset:
    """Sentences tagged by a simulated crowd; settings are the fields of `Tags`."""
    return Tags(**settings).run()
