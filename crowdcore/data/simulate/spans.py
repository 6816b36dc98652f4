"""Sentences whose entities workers mark: they miss some, take one type for another, and move boundaries."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crowdcore.core.counts import confusion_counts
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.sentences import rows_of
from crowdcore.data.simulate._sentences import TaggedSentences
from crowdcore.data.simulate.base import Crowd, numbered
from crowdcore.data.tags import BEGIN, INSIDE, find_spans, need_tags

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
        assert tasks.sentences is not None
        if 1 + self.spammers + self.copiers > self.n_workers:
            raise SettingError("n_workers", "exceed the number of spammers and copiers", self.n_workers)
        scheme, start, roles = need_tags(tasks), tasks.sentences.start, self._roles()
        sentence, worker = self._assigned(tasks, labelled, rng)
        copiers, led = np.flatnonzero(np.char.startswith(roles.astype(str), "copier")), sentence[worker == 0]
        own = ~np.isin(worker, copiers)
        sentence = np.concatenate([sentence[own], np.tile(led, len(copiers))])
        worker = np.concatenate([worker[own], np.repeat(copiers, len(led))])
        length = tasks.sentences.lengths[sentence]
        task, author = tasks.sentences.tasks(sentence), np.repeat(worker, length)
        means = self.missed, self.boundary, self.confused
        missed, boundary, confused = (2 * mean * rng.random(self.n_workers) for mean in means)
        missed[roles == CARELESS], missed[roles == SPAMMER] = self.careless_missed, 1.0

        true = find_spans(tasks.gold, np.isin(np.arange(tasks.n_tasks), start[:-1]), scheme)
        first = np.searchsorted(true.start, start)
        span = rows_of(first, sentence)
        turn = np.repeat(np.arange(len(sentence)), np.diff(first)[sentence])  # the sentence of a worker it stands in
        found = rng.random(len(span)) >= missed[worker[turn]]
        span, turn = span[found], turn[found]
        kind = self._kinds(true.type[span], rng.random(len(span)) < confused[worker[turn]], rng)
        sides = start[sentence[turn]], start[sentence[turn] + 1]
        wrong = rng.random(len(span)) < boundary[worker[turn]]
        begin, end = _moved(true.start[span], true.end[span], *sides, wrong, rng)

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


def _moved(
    begin: IntArray, end: IntArray, low: IntArray, high: IntArray, wrong: BoolArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Boundaries, one of them a token further out or in where they are wrong; spans stay in their sentence."""
    at_start, outwards = rng.random(len(begin)) < 0.5, rng.random(len(begin)) < 0.5
    may_grow = np.where(at_start, begin > low, end < high)
    outwards = may_grow & (outwards | (end - begin == 1))
    step = np.where(wrong & (outwards | (end - begin > 1)), np.where(outwards, 1, -1), 0)
    return begin - step * at_start, end + step * ~at_start


def _shares(counts: FloatArray) -> FloatArray:
    """(R, C, C) rows that sum to 1; a true tag that a worker never met counts as given right."""
    total = counts.sum(-1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.eye(counts.shape[-1]))


def spans(**settings: Any) -> CrowdDataset:
    """Sentences whose spans a simulated crowd marks; settings are the fields of `Spans`."""
    return Spans(**settings).run()
