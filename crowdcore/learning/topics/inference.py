"""Mean-field inference of topics whose documents have answers (Rodrigues et al., TPAMI 2017): the bound never falls.

K topics, V words, R workers, D documents. The model draws topics ``β_k ~ Dir(τ)``, proportions ``θ_d ~ Dir(α)``, a
topic ``z ~ θ_d`` and a word ``w ~ β_z`` at every position, and answers from the mean ``z̄_d`` of a document's topics.
The posterior factorises into ``Dir(ζ) Dir(γ)``, distributions ``φ`` of each word's topic, and one of the answers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from torch import Tensor

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings, setting
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.media import given_texts
from crowdcore.data.ratings import RatingDataset

_CELLS = 2**16  # distinct words of one batch, including padding
_CELLS_IN_CACHE = 2**12  # on a processor, where batches that fit its cache are twice as fast
_HALVINGS = 5  # of the step of a document whose bound would fall
_ROUNDING = 1e-12  # relative


class Fitting(Settings):
    """Settings of both topic models; α, τ are symmetric Dirichlet parameters, the prior of η is ``-ridge/2 ‖η‖²``."""

    n_topics: int = setting(20, "Topics, K", "Number of topics.", ge=1)
    alpha: float = setting(0.1, "Prior of proportions, α", "α of topics in a text.", gt=0)
    tau: float = setting(0.05, "Prior of topics, τ", "τ of words in a topic.", gt=0)
    ridge: float = setting(0.01, "Ridge", "Precision of the normal prior of the regression's weights η.", gt=0)
    least_share: float = setting(
        0.0,
        "Rarest words",
        "Words in a smaller share of the training texts than this, or in only one, are left out.",
        ge=0,
        lt=0.5,
    )
    iterations: int = setting(100, "Iterations", "Iterations at most.", ge=1)
    tolerance: float = setting(1e-5, "Tolerance", "Relative gain of the bound below which it stops.", ge=0)
    starts: int = setting(3, "Starts", "Random topics to start from; the highest bound wins.", ge=1)
    seed: int = setting(0, "Seed", "Seed of the topics to start from.", ge=0)


@dataclass(frozen=True, eq=False)
class Documents:
    """Word counts of B documents with M distinct words at most, padded.

    Args:
        number: (B,) document numbers.
        word: (B, M) word numbers; 0 for padding.
        count: (B, M) float64 number of occurrences; 0 for padding.
    """

    number: Tensor
    word: Tensor
    count: Tensor

    @property
    def length(self) -> Tensor:
        """(B,) words of each document, N; 1 for one without words."""
        return self.count.sum(1).clamp_min(1)


def cut_batches(counts: Any, device: torch.device) -> list[Documents]:
    """Cut a sparse (n_documents, V) matrix of counts into batches of documents with similar numbers of words."""
    counts = counts.tocsr()
    counts.sum_duplicates()
    most = min(_CELLS, _CELLS_IN_CACHE) if device.type == "cpu" else _CELLS
    distinct = np.diff(counts.indptr)
    order = np.argsort(distinct, kind="stable")
    width = np.maximum(distinct[order], 1)
    documents, first = [], 0
    while first < len(order):
        cells = np.arange(1, len(order) - first + 1) * width[first:]
        last = first + max(1, int(np.searchsorted(cells, most, "right")))
        number = order[first:last]
        at = np.arange(width[last - 1])
        here = at < distinct[number, None]
        cell = np.where(here, counts.indptr[number, None] + at, 0)
        word = np.where(here, counts.indices[cell], 0) if len(counts.data) else np.zeros(cell.shape)
        count = np.where(here, counts.data[cell], 0) if len(counts.data) else np.zeros(cell.shape)
        parts = (number.astype(np.int64), word.astype(np.int64), count.astype(np.float64))
        documents.append(Documents(*(torch.from_numpy(part).to(device) for part in parts)))
        first = last
    return documents


@dataclass(frozen=True, eq=False)
class Crowd:
    """Answers to D documents: document number, worker number, and label or rating, (A,) each."""

    document: Tensor
    worker: Tensor
    label: Tensor


def expected_log(parameter: Tensor) -> Tensor:
    """``E log p`` under Dirichlets along the last axis."""
    return torch.digamma(parameter) - torch.digamma(parameter.sum(-1, keepdim=True))


def divergence(parameter: Tensor, prior: float) -> float:
    """Sum of ``KL(Dir(parameter) ‖ Dir(prior, …, prior))`` over all rows."""
    n = parameter.shape[-1]
    log_normal = torch.lgamma(parameter.sum(-1)) - torch.lgamma(parameter).sum(-1)
    of_prior = math.lgamma(n * prior) - n * math.lgamma(prior)
    cross = ((parameter - prior) * expected_log(parameter)).sum(-1)
    return float((log_normal - of_prior + cross).sum())


class Topics(ABC):
    """The posterior, and the steps that improve it; a subclass models the answers given a document's topics.

    Args:
        documents: batches of all D documents.
        n_words: V.
        settings: number of topics and priors.
        seed: seed of the initial topics.
    """

    words_first: ClassVar[int] = 10
    """Iterations before η is learnt."""

    def __init__(self, documents: list[Documents], n_words: int, settings: Fitting, seed: tuple[int, int]) -> None:
        self.documents, self.priors, n_topics = documents, settings, settings.n_topics
        device, n = documents[0].word.device, sum(len(batch.number) for batch in documents)
        noise = np.random.default_rng(seed).gamma(100, 0.01, (n_topics, n_words))
        self.words = torch.from_numpy(noise).to(device)  # ζ (K, V)
        self.proportions = torch.full((n, n_topics), 1.0, dtype=torch.float64, device=device)  # γ (D, K)
        self.log_phi = [
            torch.full((*d.word.shape, n_topics), -math.log(n_topics), dtype=torch.float64, device=device)
            for d in documents
        ]

    def step(self, sweeps: int = 2, learn_eta: bool = True) -> float:
        """Improve documents, then topics, workers and η; returns the bound after the documents."""
        log_words = expected_log(self.words).T.contiguous()
        bound = self.bound_of_workers() - divergence(self.words, self.priors.tau)
        words = torch.full_like(self.words.T, self.priors.tau)
        for b, batch in enumerate(self.documents):
            for _ in range(sweeps):
                self._sweep(b, log_words[batch.word])
            bound += self._bound(b, log_words[batch.word])
            weight = batch.count.unsqueeze(-1) * self.log_phi[b].exp()
            words.index_add_(0, batch.word.flatten(), weight.flatten(0, 1))
        self.words = words.T.contiguous()
        self.learn_workers()
        if learn_eta:
            self.learn_eta()
        return bound

    @abstractmethod
    def bound_of_workers(self) -> float:
        """The part of the bound of workers and η, called before a step's documents."""

    @abstractmethod
    def bound_of_phi(self, b: int, phi: Tensor) -> tuple[Tensor, Callable[[], Tensor]]:
        """(B,) part of the bound of a batch's answers that depends on φ (B, M, K), and a function for its slopes."""

    @abstractmethod
    def answer(self, b: int) -> None:
        """Improve the posterior of the answers of a batch."""

    @abstractmethod
    def bound_of_answers(self, b: int) -> float:
        """The part of the bound of a batch's answers that does not depend on φ."""

    @abstractmethod
    def learn_workers(self) -> None:
        """Improve the workers' parameters."""

    @abstractmethod
    def learn_eta(self) -> None:
        """Improve η."""

    def _sweep(self, b: int, log_words: Tensor) -> None:
        """γ, then φ, then the answers of a batch, from (B, M, K) E log β."""
        batch = self.documents[b]
        gamma = self.priors.alpha + (batch.count.unsqueeze(-1) * self.log_phi[b].exp()).sum(1)
        self.proportions[batch.number] = gamma
        self.log_phi[b] = self._topics_of_words(b, expected_log(gamma).unsqueeze(1) + log_words)
        self.answer(b)

    def _topics_of_words(self, b: int, prior: Tensor) -> Tensor:
        """φ ∝ exp(prior + slope of the answers' terms), with shorter steps where a document's bound would fall."""
        log_phi = self.log_phi[b]
        start, slopes = self._bound_with_words(b, log_phi, prior)
        wanted = (prior + slopes()).log_softmax(-1)
        step = torch.ones_like(start)
        for _ in range(_HALVINGS):
            size = step.view(-1, 1, 1)
            shorter = ((1 - size) * log_phi + size * wanted).log_softmax(-1)
            falls = self._bound_with_words(b, shorter, prior)[0] < start - _ROUNDING * start.abs()
            if not falls.any():
                return shorter
            step = torch.where(falls, step / 2, step)
        return torch.where(falls.view(-1, 1, 1), log_phi, shorter)

    def _bound_with_words(self, b: int, log_phi: Tensor, prior: Tensor) -> tuple[Tensor, Callable[[], Tensor]]:
        """(B,) the terms with φ, and a function for the (B, M, K) slopes of the answers' terms."""
        phi = log_phi.exp()
        value, slopes = self.bound_of_phi(b, phi)
        per_word = (phi * (prior - log_phi)).sum(-1)
        return (self.documents[b].count * per_word).sum(1) + value, slopes

    def _bound(self, b: int, log_words: Tensor) -> float:
        """The part of the bound of a batch."""
        gamma = self.proportions[self.documents[b].number]
        prior = expected_log(gamma).unsqueeze(1) + log_words
        topics = float(self._bound_with_words(b, self.log_phi[b], prior)[0].sum())
        return topics + self.bound_of_answers(b) - divergence(gamma, self.priors.alpha)

    def mean_topics(self, b: int) -> Tensor:
        """(B, K) expected share of each topic among a document's words, φ̄."""
        batch = self.documents[b]
        total = (batch.count.unsqueeze(-1) * self.log_phi[b].exp()).sum(1)
        return total / batch.length.unsqueeze(1)

    def topic_shares(self) -> Tensor:
        """(D, K) of all documents."""
        shares = torch.zeros_like(self.proportions)
        for b, batch in enumerate(self.documents):
            shares[batch.number] = self.mean_topics(b)
        return shares


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
        device: device of the corpus.
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
    """Fit from several starts; return the topics with the highest bound, and their bound in every iteration.

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
    """Improve the topics until their bound gains less than the tolerance; return it for every iteration."""
    bound: list[float] = []
    for i in range(settings.iterations):
        bound.append(topics.step(learn_eta=i >= min(topics.words_first, settings.iterations // 2)))
        if i > _LEAST and bound[-1] - bound[-2] < settings.tolerance * abs(bound[-1]):
            break
    return bound


@dataclass(frozen=True, eq=False)
class FittedTopics(Shown):
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
