"""MA-sLDAr (Rodrigues et al., TPAMI 2017, section 5): the answers are ratings.

Beside the topics the model draws the true rating ``x_d ~ N(η z̄_d, σ²)`` and ratings ``y_d^r ~ N(x_d + b^r, 1/p^r)``.
The posterior of x_d is ``N(m_d, v_d)``; η, σ², b and p are point estimates. So that biases and the mean truth can
be told apart, and workers with few ratings do not become certain, there are priors: ``η ~ N(0, σ²/ridge)`` around the
mean rating, ``b^r ~ N(0, 1/(κ p^r))``, and p^r is drawn to the pooled precision by as many ratings as ``strength``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from crowdcore.learning.topics.classes import Crowd
from crowdcore.learning.topics.documents import Documents
from crowdcore.learning.topics.inference import Priors, Topics

_LOG_2PI = math.log(2 * math.pi)


class RatingTopics(Topics):
    """Topics that speak for ratings.

    Args:
        documents: batches of all D documents, each rated.
        crowd: their ratings, float64.
        n_workers: R.
        n_topics: K.
        n_words: V.
        priors: see `Priors`.
        shrinkage: κ.
        strength: of the pooled precision.
        seed: of what is random in the topics to begin with.
    """

    words_first: ClassVar[int] = 0

    def __init__(
        self,
        documents: list[Documents],
        crowd: Crowd,
        n_workers: int,
        n_topics: int,
        n_words: int,
        priors: Priors,
        shrinkage: float,
        strength: float,
        seed: tuple[int, int],
    ) -> None:
        super().__init__(documents, n_topics, n_words, priors, seed)
        self.crowd, self.shrinkage, self.strength = crowd, shrinkage, strength
        rating, n = crowd.label, len(self.proportions)
        self.centre = rating.mean()
        self.given = torch.bincount(crowd.worker, minlength=n_workers).double()
        times = torch.bincount(crowd.document, minlength=n).double()
        self.mean = self._per_document(rating - self.centre) / times  # m (D,)
        around = (rating - self.centre - self.mean[crowd.document]).square().sum()
        floor = 1e-4 * (rating - self.centre).square().mean().clamp_min(1e-12)
        self.pooled = torch.maximum(around / max(len(rating) - n, 1), floor)
        self.variance = self.pooled / times  # v (D,)
        self.words, self.eta = self._of_like_ratings(seed)
        self.noise = torch.maximum(self.mean.square().mean(), floor)  # σ²
        self.bias, self.precision = rating.new_zeros(n_workers), (1 / self.pooled).expand(n_workers).clone()
        self.learn_workers()

    def _of_like_ratings(self, seed: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """ζ and η to begin with: a topic gets half of the words of texts of like ratings, the other half are scattered.

        From random topics EM finds what the texts are about, which explains far more words than how they are rated.
        """
        n, n_topics = self.proportions.shape
        rank = self.mean.argsort(stable=True).argsort()
        scattered = torch.from_numpy(np.random.default_rng(seed).dirichlet(np.full(n_topics, 0.5), n)).to(self.mean)
        share = (one_hot(rank * n_topics // n, n_topics) + scattered) / 2  # (D, K)
        words = torch.full_like(self.words.T, self.priors.words)
        for batch in self.documents:
            weight = batch.count.unsqueeze(-1) * share[batch.number].unsqueeze(1)
            words.index_add_(0, batch.word.flatten(), weight.flatten(0, 1))
        return words.T.contiguous(), (self.mean @ share) / share.sum(0)

    def _per_document(self, values: Tensor) -> Tensor:
        return torch.zeros(len(self.proportions), dtype=torch.float64, device=values.device).index_add(
            0, self.crowd.document, values
        )

    def bound_of_workers(self) -> float:
        """Priors of biases, precisions and η; what the ratings tell of each document is put aside."""
        precision = self.precision[self.crowd.worker]
        off = self.crowd.label - self.centre - self.bias[self.crowd.worker]
        self.told = self._per_document(precision), self._per_document(precision * off)
        density = (precision.log() - _LOG_2PI - precision * off.square()).sum() / 2
        drawn = self.shrinkage * self.bias.square() + self.strength * self.pooled
        prior = ((self.strength + 1) * self.precision.log() - self.precision * drawn).sum() / 2
        eta = len(self.eta) * self.noise.log() + self.priors.ridge * self.eta.square().sum() / self.noise
        return float(density + prior - eta / 2)

    def bound_of_phi(self, b: int, phi: Tensor) -> tuple[Tensor, Callable[[], Tensor]]:
        """``(m η φ̄ - E (η z̄)² / 2) / σ²`` with ``E (η z̄)² = (η φ̄)² + Σ_n Var(η z_n) / N²``."""
        batch, eta = self.documents[b], self.eta
        m, length = self.mean[batch.number], batch.length
        own = phi @ eta  # (B, M)
        mean = (batch.count * own).sum(1) / length
        variance = (batch.count * (phi @ eta.square() - own.square())).sum(1) / length.square()
        value = (m * mean - (mean.square() + variance) / 2) / self.noise

        def slopes() -> Tensor:
            pull = ((m - mean) / length).unsqueeze(1) + own / length.square().unsqueeze(1)  # (B, M)
            curved = eta.square() / (2 * length.square().view(-1, 1, 1))
            return (pull.unsqueeze(-1) * eta - curved) / self.noise

        return value, slopes

    def answer(self, b: int) -> None:
        """``v = 1 / (1/σ² + Σ_r p^r)``, ``m = v (η φ̄ / σ² + Σ_r p^r (y^r - b^r))``."""
        number = self.documents[b].number
        precision, weighted = (part[number] for part in self.told)
        self.variance[number] = 1 / (1 / self.noise + precision)
        self.mean[number] = self.variance[number] * (self.mean_topics(b) @ self.eta / self.noise + weighted)

    def bound_of_answers(self, b: int) -> float:
        """Ratings and truth as far as m and v occur alone, and the entropy of the truth."""
        number = self.documents[b].number
        precision, weighted = (part[number] for part in self.told)
        m, v = self.mean[number], self.variance[number]
        square = m.square() + v
        ratings = m * weighted - precision * square / 2
        truth = (v.log() + 1 - self.noise.log() - square / self.noise) / 2
        return float((ratings + truth).sum())

    def learn_workers(self) -> None:
        """``b = Σ (y - m) / (n + κ)`` and ``1/p = (Σ ((y - m - b)² + v) + κ b² + strength/p̄) / (n + strength + 1)``."""
        worker, document = self.crowd.worker, self.crowd.document
        off = self.crowd.label - self.centre - self.mean[document]
        zero = torch.zeros_like(self.bias)
        self.bias = zero.index_add(0, worker, off) / (self.given + self.shrinkage)
        square = zero.index_add(0, worker, (off - self.bias[worker]).square() + self.variance[document])
        square += self.shrinkage * self.bias.square() + self.strength * self.pooled
        self.precision = (self.given + self.strength + 1) / square

    def learn_eta(self) -> None:
        """Ridge regression of m on topics, ``(Σ E z̄ z̄ᵀ + ridge) η = Σ m φ̄``, then σ²."""
        moments = self.priors.ridge * torch.eye(len(self.eta), dtype=torch.float64, device=self.eta.device)
        target = torch.zeros_like(self.eta)
        for b, batch in enumerate(self.documents):
            phi, mean = self.log_phi[b].exp(), self.mean_topics(b)
            weight = (batch.count.sqrt() / batch.length.unsqueeze(1)).unsqueeze(-1)
            one = (weight * phi).flatten(0, 1)
            moments += mean.T @ mean - one.T @ one + torch.diag((weight * one.view_as(phi)).sum((0, 1)))
            target += self.mean[batch.number] @ mean
        self.eta = torch.linalg.solve(moments, target)
        left = (self.mean.square() + self.variance).sum() - 2 * self.eta @ target + self.eta @ moments @ self.eta
        self.noise = left / (len(self.mean) + len(self.eta))
