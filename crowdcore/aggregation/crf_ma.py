"""CRF-MA: a conditional random field of words, learnt from the workers whose tags it finds right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.aggregation._em import EMAggregator, start_posterior
from crowdcore.aggregation.base import AggregationResult, get
from crowdcore.core.chains import Chains, Crf
from crowdcore.core.counts import clamp
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sentences import Sentences
from crowdcore.data.tags import TagScheme, worker_sequences
from crowdcore.data.word_features import word_matrix


class CRFMA(EMAggregator):
    """CRF-MA: of each sentence one worker ``z`` gave the true tags, the others tagged at random.

    ``p(y_i | x_i) = Σ_r P(z_i = r) p_crf(y_i^r | x_i) Π_{s≠r} C^-|y_i^s|`` with a linear-chain field of words, and
    ``P(z_i = r) = π_r / Σ_s π_s`` over the workers s who tagged sentence i (the paper's π_r where all tag all). E-step:
    ``γ_i^r ∝ π_r p_crf(y_i^r | x_i) C^|y_i^r|``. M-step: the field learns all sequences, weighed by γ, under a normal
    prior (some rounds of L-BFGS); ``π_r ← Σ_i γ_i^r / Σ_i 1/Σ_s π_s``, with a prior that has each worker chosen
    ``smoothing`` times. At first γ is how well a sequence agrees with the result of `start`: EM does not leave its
    neighbourhood, if the first field learns it well. A token that a worker left out is summed over, and true tags that
    are known stand in for all workers'. The posterior of a token's tag is ``Σ_r γ_i^r 1[y_i^r = c]``.

    The result's ``tagger`` tags sentences that nobody has tagged; its ``worker_weight`` is π. Without sentences, every
    task is a sentence of one token without features.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.tags(n_sentences=50, n_test=2, seed=1)
        >>> result = cc.aggregation.CRFMA(max_iterations=3).fit(crowd)
        >>> result.tagger.predict(crowd.sentences).shape == crowd.gold.shape
        True
    """

    name: ClassVar[str] = "crf-ma"
    title: ClassVar[str] = "CRF-MA"
    paper: ClassVar[str] = (
        "Rodrigues, Pereira, Ribeiro: Sequence labeling with multiple annotators, Machine Learning 95, 2014"
    )
    sequential: ClassVar[bool] = True

    start: Literal["bsc-seq", "votes"] = setting(
        "bsc-seq", "Start", "What γ starts from: tags of BSC-seq, or vote shares."
    )
    ridge: float = setting(1.0, "Ridge", "Precision of the normal prior of the field's weights.", gt=0)
    smoothing: float = setting(1.0, "Prior count of a worker", "Prior count of how often each worker is chosen.", gt=0)
    rounds: int = setting(10, "Rounds of L-BFGS", "Training rounds of the field in each iteration.", ge=1)
    start_rounds: int = setting(
        50,
        "Rounds of L-BFGS at the start",
        "Training rounds of the first field; one that has learnt too little would undo the start.",
        ge=1,
    )
    tolerance: float = setting(
        1e-4, "Tolerance (objective per label)", "Stop when the objective gains less than this per annotation.", ge=0
    )
    max_iterations: int = setting(30, "Iterations at most", "Maximum number of iterations.", ge=1)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        paths, n_classes, n_workers = WorkerPaths.of(dataset), dataset.n_classes, dataset.n_workers
        x = word_matrix(paths.sentences)
        features = np.unique(x.indices)
        x, chains = x[:, features], Chains(paths.sentences.start)
        sentence, worker = paths.sentence, paths.worker
        present = dataset.labels_per_worker > 0
        crf = Crf.untrained(len(features), n_classes)
        reliability: FloatArray = present / present.sum()
        tags: FloatArray = np.empty((0, n_classes))

        def m_step(share: FloatArray, scores: FloatArray, rounds: int) -> None:
            nonlocal crf, reliability, tags
            sums = paths.chains.forward_backward(scores, crf.first, crf.move, share)
            tags = paths.per_token(sums.posterior, share)
            crf = crf.learn(x, chains, np.vstack([x.T @ tags, sums.first, sums.pairs]), self.ridge, rounds)
            rivals = 1 / np.bincount(sentence, reliability[worker])[sentence]
            won = np.bincount(worker, share, n_workers) + self.smoothing * present
            reliability = won / (np.bincount(worker, rivals, n_workers) + self.smoothing * present.sum())
            reliability /= reliability.sum()

        def step() -> float:
            scores = crf.scores(x)
            of_paths = paths.clamped(scores, known)
            all_paths = chains.log_partition(scores, crf.first, crf.move)
            log = paths.chains.log_partition(of_paths, crf.first, crf.move) - all_paths[sentence]
            log += np.log(reliability[worker] / np.bincount(sentence, reliability[worker])[sentence])
            share, total = _shares(log + paths.n_given * np.log(n_classes), sentence)
            prior = self.smoothing * np.log(reliability[present]).sum() - self.ridge / 2 * np.square(crf.table).sum()
            m_step(share, of_paths, self.rounds)
            return float(total - dataset.n_annotations * np.log(n_classes) + prior)

        if start is None and self.start == "bsc-seq":
            start = get("bsc-seq")._fit(dataset, known, None)
        agreed = np.log(np.maximum(start_posterior(dataset, known, start)[paths.tasks], 1e-9))
        of_paths = paths.clamped(agreed, known)
        votes = paths.chains.log_partition(of_paths, np.zeros(n_classes), np.zeros((n_classes, n_classes)))
        m_step(_shares(votes, sentence)[0], of_paths, self.start_rounds)
        trace = self.iterate(step, dataset.n_annotations)
        posterior = np.zeros((dataset.n_tasks, n_classes))
        posterior[paths.tasks] = tags
        clamp(posterior, known)
        weight = np.where(present, reliability, np.nan)
        tagger = CrfTagger(dataset.classes, features, crf)
        return self.result(dataset, posterior, known=known, worker_weight=weight, tagger=tagger, **trace._asdict())


def _shares(log: FloatArray, group: IntArray) -> tuple[FloatArray, float]:
    """(n,) softmax within groups, numbered from 0, and the sum of their log-sum-exp."""
    top = np.full(group.max() + 1, -np.inf)
    np.maximum.at(top, group, log)
    share = np.exp(log - top[group])
    total = np.bincount(group, share)
    return share / total[group], float((top + np.log(total)).sum())


@dataclass(frozen=True, eq=False)
class CrfTagger:
    """Tags sentences that nobody has tagged.

    Args:
        classes: the C tags.
        features: (V,) columns of `word_matrix` that occurred in training.
        crf: the field learnt from them.
    """

    classes: tuple[str, ...]
    features: IntArray
    crf: Crf

    def predict(self, sentences: Sentences) -> IntArray:
        """(n_tokens,) tags of each sentence's most probable path, valid IOB2 where the classes are IOB2 tags."""
        scheme = TagScheme.of(self.classes)
        forbidden = None if scheme is None else scheme.invalid
        return self.crf.most_probable(self._inputs(sentences), Chains(sentences.start), forbidden)

    def predict_proba(self, sentences: Sentences) -> FloatArray:
        """(n_tokens, C) probability of each tag."""
        return self.crf.posterior(self._inputs(sentences), Chains(sentences.start))

    def tag_new(self, dataset: CrowdDataset) -> IntArray:
        """(n_tasks,) tags of the sentences of which nobody tagged a token; -1 elsewhere, and without sentences."""
        labels = np.full(dataset.n_tasks, -1)
        if dataset.sentences is not None:
            new = np.flatnonzero(~np.logical_or.reduceat(dataset.annotated, dataset.sentences.start[:-1]))
            if len(new):
                tasks = dataset.sentences.tasks(new)
                labels[tasks] = self.predict(dataset.sentences.take(tasks))
        return labels

    def _inputs(self, sentences: Sentences) -> Any:
        return word_matrix(sentences)[:, self.features]


@dataclass(frozen=True, eq=False)
class WorkerPaths:
    """P tag sequences over the N sentences, of M tokens, that somebody tagged; a worker's repeats are P's too.

    Args:
        tasks: (M,) task of each token.
        sentences: the N sentences.
        sentence: (P,) which sentence each sequence tags.
        worker: (P,) its worker.
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
        """Sequences of a dataset; without sentences, every task is a sentence of one token without features."""
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
