"""What both topic models share: settings, counted words, the best of several starts, topics of new texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from pydantic import Field
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.texts import given_texts
from crowdcore.learning.topics.documents import batches
from crowdcore.learning.topics.inference import Priors, Topics, expected_log

_SWEEPS = 30  # over a new document
_LEAST = 20  # iterations

T = TypeVar("T", bound=Topics)


class Fitting(Settings):
    """Settings of both topic models."""

    n_topics: int = Field(default=20, ge=1, title="Topics, K", description="Number of topics.")
    alpha: float = Field(default=0.1, gt=0, title="Prior of proportions, α", description="α of topics in a text.")
    tau: float = Field(default=0.05, gt=0, title="Prior of topics, τ", description="τ of words in a topic.")
    ridge: float = Field(
        default=0.01, gt=0, title="Ridge", description="Precision of the normal prior of the regression's weights η."
    )
    least_share: float = Field(
        default=0.0,
        ge=0,
        lt=0.5,
        title="Rarest words",
        description="Words in a smaller share of the training texts than this, or in only one, are left out.",
    )
    iterations: int = Field(default=100, ge=1, title="Iterations", description="Iterations at most.")
    tolerance: float = Field(
        default=1e-5, ge=0, title="Tolerance", description="Relative gain of the bound below which it stops."
    )
    starts: int = Field(
        default=3, ge=1, title="Starts", description="Random topics to start from; the highest bound wins."
    )
    seed: int = Field(default=0, ge=0, title="Seed", description="Seed of the topics to start from.")

    @property
    def priors(self) -> Priors:
        """Those of topics and η."""
        return Priors(self.alpha, self.tau, self.ridge)


@dataclass(frozen=True, eq=False)
class Words:
    """Words of the tasks that are learnt from.

    Args:
        tasks: (n,) ascending.
        counts: sparse (n, V).
        vocabulary: (V,) words, or their numbers where counts were given.
    """

    tasks: IntArray
    counts: Any
    vocabulary: AnyArray

    def number(self, n_tasks: int) -> IntArray:
        """(n_tasks,) document of each task, -1 where it is none."""
        number = np.full(n_tasks, -1, np.int64)
        number[self.tasks] = np.arange(len(self.tasks))
        return number


def count_words(
    dataset: CrowdDataset | RatingDataset, chosen: BoolArray, least_share: float, counts: Any = None
) -> Words:
    """Words of the chosen tasks (n_tasks,) that have a text, or the counts (n_tasks, V) that are given.

    Args:
        dataset: all tasks.
        chosen: to learn from.
        least_share: see `Fitting`; given counts are taken as they are.
        counts: instead of texts.

    Raises:
        DataError: no texts, or no words in common.
        SettingError: counts that are negative, or not of all tasks.
    """
    if counts is not None:
        counts = sparse.csr_matrix(counts)
        if counts.shape[0] != dataset.n_tasks or counts.min() < 0:
            raise SettingError("counts", f"be counts of words in {dataset.n_tasks:,} tasks", counts.shape)
        tasks = np.flatnonzero(chosen)
        return Words(tasks, counts[tasks], np.arange(counts.shape[1]))
    given = given_texts(dataset, "Add a column `text` to tasks.*; in Python, `counts` takes word counts.")
    texts = given.fillna("").astype(str).to_numpy()
    tasks = np.flatnonzero(chosen & np.array([bool(text.strip()) for text in texts]))
    try:
        counter = CountVectorizer(min_df=max(2, math.ceil(least_share * len(tasks))), max_df=0.5)
        found = counter.fit_transform(texts[tasks])
    except ValueError as error:
        raise DataError(f"The texts have no words in common ({error})", "Give `counts` of your own.") from error
    return Words(tasks, found, np.array(counter.get_feature_names_out(), str))


def best_of_starts(settings: Fitting, begin: Callable[[tuple[int, int]], T]) -> tuple[T, FloatArray]:
    """The topics with the highest bound, and their bound in every iteration.

    Args:
        settings: of the fit.
        begin: topics to start from, by seed and number of the start.
    """
    runs = []
    for start in range(settings.starts):
        topics = begin((settings.seed, start))
        runs.append((topics, np.array(_climb(topics, settings))))
    return max(runs, key=lambda run: float(run[1][-1]))


def _climb(topics: Topics, settings: Fitting) -> list[float]:
    """The bound of every iteration, until it gains little or there were enough."""
    bound: list[float] = []
    for i in range(settings.iterations):
        bound.append(topics.step(learn_eta=i >= min(topics.words_first, settings.iterations // 2)))
        if i > _LEAST and bound[-1] - bound[-2] < settings.tolerance * abs(bound[-1]):
            break
    return bound


@dataclass(frozen=True, eq=False)
class FittedTopics:
    """What was learnt of topics; their rows sum to 1.

    Args:
        vocabulary: (V,) words, or their numbers where counts were given.
        topic_parameter: (K, V) ζ, Dirichlet parameters of the topics.
        tasks: (n,) tasks that it was fitted to, annotated ones outside validation and test.
        topic_shares: (n, K) expected shares of topics in them.
        bound: (iterations,) lower bound of the log evidence; it never falls.
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
        for batch in batches(counts, torch.device("cpu")):
            likely = log_words[batch.word]
            likely = (likely - likely.amax(-1, keepdim=True)).exp()  # (B, M, K), φ ∝ likely · exp E log θ
            total = batch.count.sum(1, keepdim=True).expand(-1, n_topics) / n_topics
            for _ in range(_SWEEPS):
                theta = expected_log(alpha + total).exp()
                each = batch.count / (likely @ theta.unsqueeze(-1)).squeeze(-1)
                total = theta * (likely.mT @ each.unsqueeze(-1)).squeeze(-1)
            shares[batch.number.numpy()] = (total / batch.length.unsqueeze(1)).numpy()
        return shares
