"""Sentences with entities, drawn from a Markov chain over tags: workers tag their tokens, or mark their spans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.counts import confusion_counts
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.sentences import Sentences, rows_of
from crowdcore.data.simulate.base import ClassSimulation, Crowd, as_tasks, assign, draw_labels, numbered
from crowdcore.data.tags import BEGIN, INSIDE, find_spans, need_tags


class TaggedSentences(ClassSimulation):
    """Settings of sentences, and of the workers who tag each."""

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
        return assign(np.unique(tasks.unit[labelled]), self.n_workers, self.per_sentence, "even", rng)


class Tags(TaggedSentences):
    """Gold tags follow a Markov chain over ``O``, ``B-…``, ``I-…``; worker r gives tag l for c with ``π^r[c, l]``.

    That is the model of HMM-Crowd. A worker right with probability a misses an entity's token (``O``) half of the
    other times. Tags are confused one by one, so that workers also give ``I-`` where none may stand.
    """

    name: ClassVar[str] = "tags"
    title: ClassVar[str] = "Tags of tokens (HMM)"
    paper: ClassVar[str] = "Nguyen et al.: Aggregating and Predicting Sequence Labels from Crowd Annotations, ACL 2017"

    worst: Share = setting(0.5, "Worst accuracy", "Of a worker, on entities.")
    best: Share = setting(0.9, "Best accuracy", "Of a worker, on entities.")

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        confusion = np.stack(
            [self._confusion(a, tasks.n_classes) for a in rng.uniform(self.worst, self.best, self.n_workers)]
        )
        sentence, worker = self._assigned(tasks, labelled, rng)
        task = tasks.tokens.tasks(sentence)
        worker = np.repeat(worker, tasks.tokens.lengths[sentence])
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


CARELESS, SPAMMER = "misses spans", "spammer"


class Spans(TaggedSentences):
    """Each true span of a sentence is missed, or given with a type and boundaries that may be wrong.

    All workers take the first type for the second at one rate, the shared confusion. The rates at which a worker
    misses spans, moves one end of a span by a token and mistakes its type by chance lie between 0 and twice the
    stated mean; careless workers miss most. Spurious spans of one token stand outside of true ones. Spammers mark
    tokens by chance, as often as entities begin; a copier tags the sentences of worker 1, mostly as worker 1 does.
    Careless workers, spammers and copiers are the last ones.
    ``truth.worker_confusion`` holds the tags that came of it, as shares of each true tag.
    """

    name: ClassVar[str] = "spans"
    title: ClassVar[str] = "Spans (missed, types, boundaries)"
    paper: ClassVar[str] = "Kinds of errors as analysis.span_scores tells them apart"

    types: tuple[str, ...] = setting(("LOC", "ORG", "PER"), "Types", "Entity types.", min_length=2)
    shared_confusion: Share = setting(
        0.3, "Shared confusion", "Share of spans of the first type that all workers take for the second."
    )
    missed: Share = setting(0.15, "Missed spans (mean share)", "Share of true spans that a worker misses.")
    boundary: Share = setting(
        0.15, "Boundary errors (mean share)", "Share of given spans with one end moved by a token."
    )
    confused: Share = setting(
        0.05, "Types by chance (mean share)", "Share of given spans with another type, drawn at random."
    )
    spurious: float = setting(0.1, "Spurious spans per sentence", "Spans that are none, in a worker's sentence.", ge=0)
    careless: int = setting(1, "Careless workers", "Workers who miss most spans.", ge=0)
    careless_missed: Share = setting(0.6, "Missed by careless workers", "Share of true spans that they miss.")
    spammers: int = setting(0, "Spammers", "Workers who mark tokens by chance.", ge=0)
    copiers: int = setting(0, "Copiers", "Workers who tag the sentences of worker 1 and take on the tags.", ge=0)
    copied: Share = setting(0.9, "Share copied", "Share of a copier's sentences that are tagged like worker 1's.")

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        if 1 + self.spammers + self.copiers > self.n_workers:
            raise SettingError("n_workers", "exceed the number of spammers and copiers", self.n_workers)
        scheme, start, roles = need_tags(tasks), tasks.tokens.start, self._roles()
        sentence, worker = self._assigned(tasks, labelled, rng)
        copiers, led = np.flatnonzero(np.char.startswith(roles.astype(str), "copier")), sentence[worker == 0]
        own = ~np.isin(worker, copiers)
        sentence = np.concatenate([sentence[own], np.tile(led, len(copiers))])
        worker = np.concatenate([worker[own], np.repeat(copiers, len(led))])
        length = tasks.tokens.lengths[sentence]
        task, author = tasks.tokens.tasks(sentence), np.repeat(worker, length)
        means = self.missed, self.boundary, self.confused
        missed, boundary, confused = (2 * mean * rng.random(self.n_workers) for mean in means)
        missed[roles == CARELESS], missed[roles == SPAMMER] = self.careless_missed, 1.0

        true = find_spans(tasks.gold, np.isin(np.arange(tasks.n_tasks), start[:-1]), scheme)
        first = np.searchsorted(true.start, start)
        span = rows_of(first, sentence)
        turn = np.repeat(np.arange(len(sentence)), np.diff(first)[sentence])  # pair of sentence and worker of each span
        seen = rng.random(len(span)) >= missed[worker[turn]]
        span, turn = span[seen], turn[seen]
        kind = self._kinds(true.type[span], rng.random(len(span)) < confused[worker[turn]], rng)
        sides = start[sentence[turn]], start[sentence[turn] + 1]
        wrong = rng.random(len(span)) < boundary[worker[turn]]
        begin, end = _move_boundaries(true.start[span], true.end[span], *sides, wrong, rng)

        label: IntArray = np.full(len(task), scheme.outside)
        at_random = roles[author] == SPAMMER
        outside = (tasks.gold[task] == scheme.outside) | at_random
        stray = outside & (rng.random(len(task)) < np.where(at_random, self.begins, self.spurious / self.length))
        label[stray] = scheme.tag(BEGIN)[rng.integers(len(self.types), size=int(stray.sum()))]
        at = (np.cumsum(length) - length)[turn] + begin - sides[0]
        n = end - begin
        place = np.repeat(at - (np.cumsum(n) - n), n) + np.arange(n.sum())
        label[place] = np.repeat(scheme.tag(INSIDE)[kind], n)
        label[at] = scheme.tag(BEGIN)[kind]
        copies = np.flatnonzero(np.isin(worker, copiers) & (rng.random(len(worker)) < self.copied))
        edges, original = np.append(0, np.cumsum(length)), np.empty(len(start), int)
        original[led] = np.flatnonzero(worker == 0)
        label[rows_of(edges, copies)] = label[rows_of(edges, original[sentence[copies]])]
        truth = SimulatedTruth(
            worker_confusion=_shares(
                confusion_counts(task, author, label, tasks.gold, self.n_workers, tasks.n_classes)
            ),
            worker_role=tuple(roles),
        )
        return Crowd(task, author, label, truth, self.n_workers)

    def _roles(self) -> AnyArray:
        """(n_workers,) careless workers, then spammers, then copiers come last."""
        n = self.n_workers
        last = {CARELESS: self.careless, SPAMMER: self.spammers, f"copier of {numbered('w', n)[0]}": self.copiers}
        return np.array([""] * n + [role for role, many in last.items() for _ in range(many)], object)[-n:]

    def _kinds(self, kind: IntArray, by_chance: BoolArray, rng: np.random.Generator) -> IntArray:
        """The types given: the first one's taken for the second by all alike, any for another by chance."""
        shared = (kind == 0) & (rng.random(len(kind)) < self.shared_confusion)
        other = (kind + rng.integers(1, len(self.types), len(kind))) % len(self.types)
        return np.where(shared, 1, np.where(by_chance, other, kind))


def _move_boundaries(
    begin: IntArray, end: IntArray, low: IntArray, high: IntArray, wrong: BoolArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Boundaries, one of them a token further out or in where they are wrong; spans stay in their sentence."""
    at_start, outwards = rng.random(len(begin)) < 0.5, rng.random(len(begin)) < 0.5
    may_grow = np.where(at_start, begin > low, end < high)
    outwards = may_grow & (outwards | (end - begin == 1))
    step = np.where(wrong & (outwards | (end - begin > 1)), np.where(outwards, 1, -1), 0)
    return begin - step * at_start, end + step * ~at_start


def _shares(counts: FloatArray) -> FloatArray:
    """(R, C, C) rows that sum to 1; a true tag that a worker never saw counts as given correctly."""
    total = counts.sum(-1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.eye(counts.shape[-1]))


def spans(**settings: Any) -> CrowdDataset:
    """Sentences whose spans a simulated crowd marks; settings are the fields of `Spans`."""
    return Spans(**settings).run()
