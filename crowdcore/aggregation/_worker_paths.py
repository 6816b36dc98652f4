"""The tag sequences that workers gave to sentences, as chains over all tokens of each sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.core.chains import Chains
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sentences import Sentences
from crowdcore.data.tags import worker_sequences


@dataclass(frozen=True, eq=False)
class WorkerPaths:
    """P tag sequences over the N sentences, of M tokens, that somebody tagged; a worker's repeats are P's too.

    Args:
        tasks: (M,) task of each token.
        sentences: the N sentences.
        sentence: (P,) which sentence each sequence tags.
        worker: (P,) who gave it.
        n_given: (P,) tags that it has.
        chains: of the sequences, n elements in all.
        token: (n,) token of each element.
        label: (n,) its tag; -1 where the worker left it out.
    """

    tasks: IntArray
    sentences: Sentences
    sentence: IntArray
    worker: IntArray
    n_given: IntArray
    chains: Chains
    token: IntArray
    label: IntArray

    @classmethod
    def of(cls, dataset: CrowdDataset) -> WorkerPaths:
        """Without sentences, every task is one of a single token that says nothing."""
        if dataset.sentences is None:
            silent = pd.Index(np.full(dataset.n_tasks, ""))
            alone = Sentences(np.arange(dataset.n_tasks + 1), dataset.task_ids, silent)
            return cls.of(replace(dataset, sentences=alone))
        sentences, rows = dataset.sentences, worker_sequences(dataset).rows
        worker, task = dataset.worker[rows], dataset.task[rows].astype(np.int64)
        sentence = sentences.of_task[task]
        begins = np.ones(len(rows), bool)
        begins[1:] = (np.diff(worker) != 0) | (np.diff(sentence) != 0) | (np.diff(task) < 1)
        path = np.cumsum(begins) - 1
        of_path = sentence[begins]
        start = np.concatenate([[0], np.cumsum(sentences.lengths[of_path])])
        label = np.full(start[-1], -1)
        label[start[path] + task - sentences.start[sentence]] = dataset.label[rows]
        kept, number = np.unique(of_path, return_inverse=True)
        tasks = sentences.tasks(kept)
        token = np.searchsorted(tasks, sentences.tasks(of_path))
        chosen = sentences.take(tasks)
        return cls(tasks, chosen, number, worker[begins], np.bincount(path), Chains(start), token, label)

    def clamped(self, scores: FloatArray, known: IntArray | None) -> FloatArray:
        """(n, C) scores of the tokens, (M, C), but -inf for all tags that are not given; known ones come first."""
        label = self.label
        if known is not None:
            true = known[self.tasks][self.token]
            label = np.where(true >= 0, true, label)
        allowed = (label[:, None] < 0) | (label[:, None] == np.arange(scores.shape[1]))
        return np.where(allowed, scores[self.token], -np.inf)

    def per_token(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """(M, C) sums of the elements' values (n, C), a sequence weighing ``weight`` (P,)."""
        each = np.repeat(weight, np.diff(self.chains.start))
        table: Any = scipy.sparse.csr_array((each, (self.token, np.arange(len(each)))), (len(self.tasks), len(each)))
        return np.asarray(table @ values)
