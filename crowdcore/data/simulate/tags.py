"""Sentences whose tokens workers tag: entities from a Markov chain, each tag confused on its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crowdcore.core.settings import Share, setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.simulate._draw import draw_labels
from crowdcore.data.simulate._sentences import TaggedSentences
from crowdcore.data.simulate.base import Crowd


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
        assert tasks.sentences is not None
        confusion = np.stack(
            [self._confusion(a, tasks.n_classes) for a in rng.uniform(self.worst, self.best, self.n_workers)]
        )
        sentence, worker = self._assigned(tasks, labelled, rng)
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
