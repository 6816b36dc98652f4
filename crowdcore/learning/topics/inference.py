"""Mean-field inference of topics whose documents have answers (Rodrigues et al., TPAMI 2017): the bound never falls.

K topics, V words, R workers, D documents. The model draws topics ``β_k ~ Dir(τ)``, proportions ``θ_d ~ Dir(α)``, a
topic ``z ~ θ_d`` and a word ``w ~ β_z`` at every position, and answers from the mean ``z̄_d`` of a document's topics.
The posterior factorises into ``Dir(ζ) Dir(γ)``, distributions ``φ`` of each word's topic, and what is of the answers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from crowdcore.learning.topics.documents import Documents

_HALVINGS = 5  # of the step of a document whose bound would fall
_ROUNDING = 1e-12  # relative


@dataclass(frozen=True)
class Priors:
    """Symmetric Dirichlet parameters, and the precision of η.

    Args:
        proportions: α.
        words: τ.
        ridge: of ``-ridge/2 ‖η‖²``.
    """

    proportions: float
    words: float
    ridge: float


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
    """The posterior, and the steps that improve it; a subclass says what answers are and how topics speak for them.

    Args:
        documents: batches of all D documents.
        n_topics: K.
        n_words: V.
        priors: see `Priors`.
        seed: of the topics to begin with.
    """

    words_first: ClassVar[int] = 10
    """Iterations before η is learnt."""

    def __init__(
        self, documents: list[Documents], n_topics: int, n_words: int, priors: Priors, seed: tuple[int, int]
    ) -> None:
        self.documents, self.priors = documents, priors
        device, n = documents[0].word.device, sum(len(batch.number) for batch in documents)
        noise = np.random.default_rng(seed).gamma(100, 0.01, (n_topics, n_words))
        self.words = torch.from_numpy(noise).to(device)  # ζ (K, V)
        self.proportions = torch.full((n, n_topics), 1.0, dtype=torch.float64, device=device)  # γ (D, K)
        self.log_phi = [
            torch.full((*d.word.shape, n_topics), -math.log(n_topics), dtype=torch.float64, device=device)
            for d in documents
        ]

    def step(self, sweeps: int = 2, learn_eta: bool = True) -> float:
        """Documents, then topics, workers and η; returns the bound after the documents' part."""
        log_words = expected_log(self.words).T.contiguous()
        bound = self.bound_of_workers() - divergence(self.words, self.priors.words)
        words = torch.full_like(self.words.T, self.priors.words)
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
        """The part of the bound that belongs to workers and η, called before a step's documents."""

    @abstractmethod
    def bound_of_phi(self, b: int, phi: Tensor) -> tuple[Tensor, Callable[[], Tensor]]:
        """(B,) what a batch's answers add to the bound by φ (B, M, K); what gives (B, M, K) slopes per occurrence."""

    @abstractmethod
    def answer(self, b: int) -> None:
        """Improve what is believed of the answers of a batch."""

    @abstractmethod
    def bound_of_answers(self, b: int) -> float:
        """The part of the bound that belongs to the answers of a batch and is not of φ."""

    @abstractmethod
    def learn_workers(self) -> None:
        """Improve what is believed of workers."""

    @abstractmethod
    def learn_eta(self) -> None:
        """Improve η."""

    def _sweep(self, b: int, log_words: Tensor) -> None:
        """γ, then φ, then the answers of a batch, from (B, M, K) E log β."""
        batch = self.documents[b]
        gamma = self.priors.proportions + (batch.count.unsqueeze(-1) * self.log_phi[b].exp()).sum(1)
        self.proportions[batch.number] = gamma
        self.log_phi[b] = self._topics_of_words(b, expected_log(gamma).unsqueeze(1) + log_words)
        self.answer(b)

    def _topics_of_words(self, b: int, prior: Tensor) -> Tensor:
        """φ ∝ exp(prior + slope of the answers' terms), shortened where it would lower a document's bound."""
        log_phi = self.log_phi[b]
        start, slopes = self._bound_with_words(b, log_phi, prior)
        wanted = (prior + slopes()).log_softmax(-1)
        step = torch.ones_like(start)
        for _ in range(_HALVINGS):
            size = step.view(-1, 1, 1)
            found = ((1 - size) * log_phi + size * wanted).log_softmax(-1)
            falls = self._bound_with_words(b, found, prior)[0] < start - _ROUNDING * start.abs()
            if not falls.any():
                return found
            step = torch.where(falls, step / 2, step)
        return torch.where(falls.view(-1, 1, 1), log_phi, found)

    def _bound_with_words(self, b: int, log_phi: Tensor, prior: Tensor) -> tuple[Tensor, Callable[[], Tensor]]:
        """(B,) the terms in which φ occurs, and what gives (B, M, K) slopes of those of the answers."""
        phi = log_phi.exp()
        value, slopes = self.bound_of_phi(b, phi)
        per_word = (phi * (prior - log_phi)).sum(-1)
        return (self.documents[b].count * per_word).sum(1) + value, slopes

    def _bound(self, b: int, log_words: Tensor) -> float:
        """The part of the bound that belongs to a batch."""
        gamma = self.proportions[self.documents[b].number]
        prior = expected_log(gamma).unsqueeze(1) + log_words
        topics = float(self._bound_with_words(b, self.log_phi[b], prior)[0].sum())
        return topics + self.bound_of_answers(b) - divergence(gamma, self.priors.proportions)

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
