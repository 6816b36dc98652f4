"""Shared parts of both topic models: word counts, the best of several starts, topics of new texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.media import given_texts
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.topics.inference import Crowd, Documents, Fitting, Topics, cut_batches, expected_log

_SWEEPS = 30  # over a new document
_LEAST = 20  # iterations

T = TypeVar("T", bound=Topics)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Annotated training tasks with words, and their answers.

    Args:
        tasks: (n,) ascending task numbers.
        vocabulary: (V,) words, or their numbers if counts were given.
        documents: batches of word counts; document k is task ``tasks[k]``.
        crowd: the answers to the documents.
    """

    tasks: IntArray
    vocabulary: AnyArray
    documents: list[Documents]
    crowd: Crowd


def read_corpus(
    dataset: CrowdDataset | RatingDataset,
    label: AnyArray,
    counts: Any,
    device: torch.device,
    least_share: float,
    least_tasks: int,
) -> Corpus:
    """Count the words of annotated training tasks.

    Args:
        dataset: all tasks.
        label: (n_annotations,) the labels, or the ratings.
        counts: (n_tasks, V) word counts, or None to count the words of the texts.
        device: where the corpus is kept.
        least_share: see `Fitting`; given counts are used as they are.
        least_tasks: minimum number of tasks.

    Raises:
        DataError: no texts, no words in common, or fewer than ``least_tasks`` tasks with words.
        SettingError: counts that are negative, or not of all tasks.
    """
    chosen = dataset.annotated & (dataset.split <= 0)
    if counts is not None:
        counts = sparse.csr_matrix(counts)
        if counts.shape[0] != dataset.n_tasks or counts.min() < 0:
            raise SettingError("counts", f"be counts of words in {dataset.n_tasks:,} tasks", counts.shape)
        tasks = np.flatnonzero(chosen)
        counts, vocabulary = counts[tasks], np.arange(counts.shape[1])
    else:
        given = given_texts(dataset, "Add a column `text` to tasks.*; in Python, `counts` takes word counts.")
        texts = given.fillna("").astype(str).to_numpy()
        tasks = np.flatnonzero(chosen & np.array([bool(text.strip()) for text in texts]))
        try:
            counter = CountVectorizer(min_df=max(2, math.ceil(least_share * len(tasks))), max_df=0.5)
            counts = counter.fit_transform(texts[tasks])
        except ValueError as error:
            raise DataError(f"The texts have no words in common ({error})", "Give `counts` of your own.") from error
        vocabulary = np.array(counter.get_feature_names_out(), str)
    if len(tasks) < least_tasks:
        raise DataError(
            f"{dataset.name} has only {len(tasks)} annotated training tasks with words",
            f"There must be at least {least_tasks}.",
        )
    number = np.full(dataset.n_tasks, -1, np.int64)
    number[tasks] = np.arange(len(tasks))
    document = number[dataset.task]
    columns = (document, dataset.worker.astype(np.int64), label)
    answers = (torch.from_numpy(np.ascontiguousarray(column[document >= 0])).to(device) for column in columns)
    return Corpus(tasks, vocabulary, cut_batches(counts, device), Crowd(*answers))


def best_of_starts(settings: Fitting, begin: Callable[[tuple[int, int]], T]) -> tuple[T, FloatArray]:
    """Fit from several starts; returns the topics with the highest bound, and their bound in every iteration.

    Args:
        settings: settings of the fit.
        begin: creates initial topics from seed and number of the start.
    """
    runs = []
    for start in range(settings.starts):
        topics = begin((settings.seed, start))
        runs.append((topics, np.array(_climb(topics, settings))))
    return max(runs, key=lambda run: float(run[1][-1]))


def _climb(topics: Topics, settings: Fitting) -> list[float]:
    """The bound of every iteration, until it gains less than the tolerance."""
    bound: list[float] = []
    for i in range(settings.iterations):
        bound.append(topics.step(learn_eta=i >= min(topics.words_first, settings.iterations // 2)))
        if i > _LEAST and bound[-1] - bound[-2] < settings.tolerance * abs(bound[-1]):
            break
    return bound


@dataclass(frozen=True, eq=False)
class FittedTopics:
    """Fitted topics; their rows sum to 1.

    Args:
        vocabulary: (V,) words, or their numbers if counts were given.
        topic_parameter: (K, V) ζ, Dirichlet parameters of the topics.
        tasks: (n,) annotated training tasks.
        topic_shares: (n, K) expected shares of topics in the tasks.
        bound: (iterations,) lower bound of the log evidence, never falling.
    """

    vocabulary: AnyArray
    topic_parameter: FloatArray
    tasks: IntArray
    topic_shares: FloatArray
    bound: FloatArray

    @property
    def topics(self) -> FloatArray:
        """(K, V) expected probability of each word in each topic."""
        return np.asarray(self.topic_parameter / self.topic_parameter.sum(1, keepdims=True))

    def likeliest_words(self, n: int) -> list[str]:
        """The ``n`` likeliest words of each topic."""
        top = np.argsort(-self.topics, 1, kind="stable")[:, :n]
        return [" ".join(str(word) for word in self.vocabulary[row]) for row in top]

    def shares_of(self, texts: Any, alpha: float) -> FloatArray:
        """(n, K) expected shares of topics in new texts, a sequence of texts or a sparse (n, V) matrix of counts.

        Raises:
            SettingError: counts of another number of words.
        """
        counts = texts if hasattr(texts, "tocsr") else CountVectorizer(vocabulary=self.vocabulary).transform(texts)
        n_topics, n_words = self.topic_parameter.shape
        if counts.shape[1] != n_words:
            raise SettingError("texts", f"have counts of {n_words} words", counts.shape[1])
        log_words = expected_log(torch.from_numpy(self.topic_parameter)).T
        shares = np.zeros((counts.shape[0], n_topics))
        for batch in cut_batches(counts, torch.device("cpu")):
            likely = log_words[batch.word]
            likely = (likely - likely.amax(-1, keepdim=True)).exp()  # (B, M, K), φ ∝ likely · exp E log θ
            total = batch.count.sum(1, keepdim=True).expand(-1, n_topics) / n_topics
            for _ in range(_SWEEPS):
                theta = expected_log(alpha + total).exp()
                each = batch.count / (likely @ theta.unsqueeze(-1)).squeeze(-1)
                total = theta * (likely.mT @ each.unsqueeze(-1)).squeeze(-1)
            shares[batch.number.numpy()] = (total / batch.length.unsqueeze(1)).numpy()
        return shares
