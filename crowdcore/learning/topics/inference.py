"""Mean-field inference of MA-sLDAc (Rodrigues et al., TPAMI 2017, section 4): every step raises the bound.

K topics, V words, C classes, R workers, D documents. The model draws confusions ``π^r_c ~ Dir(ω)``, topics
``β_k ~ Dir(τ)``, proportions ``θ_d ~ Dir(α)``, a topic ``z ~ θ_d`` and a word ``w ~ β_z`` at every position, the true
class ``c_d ~ softmax(η z̄_d)`` and labels ``y_d^r ~ π^r_{c_d}``. The posterior factorises into ``Dir(ξ) Dir(ζ)
Dir(γ)`` and distributions ``λ`` of classes and ``φ`` of each word's topic; η is a point estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from crowdcore.core.types import AnyArray
from crowdcore.learning.topics.documents import Documents

__all__ = ["Crowd", "Priors", "Topics", "expected_log"]

_HALVINGS = 5  # of the step of a document whose bound would fall
_ROUNDING = 1e-12  # relative
_ROUNDS = 10  # rounds of L-BFGS per iteration


@dataclass(frozen=True)
class Priors:
    """Symmetric Dirichlet parameters, and the precision of η.

    Args:
        proportions: α.
        words: τ.
        confusion: ω.
        ridge: of ``-ridge/2 ‖η‖²``.
    """

    proportions: float
    words: float
    confusion: float
    ridge: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """Labels of D documents, (A,) each.

    Args:
        document: number of the document.
        worker: number of the worker.
        label: its label.
    """

    document: Tensor
    worker: Tensor
    label: Tensor


def expected_log(parameter: Tensor) -> Tensor:
    """``E log p`` under Dirichlets along the last axis."""
    return torch.digamma(parameter) - torch.digamma(parameter.sum(-1, keepdim=True))


def _divergence(parameter: Tensor, prior: float) -> float:
    """Sum of ``KL(Dir(parameter) ‖ Dir(prior, …, prior))`` over all rows."""
    n = parameter.shape[-1]
    log_normal = torch.lgamma(parameter.sum(-1)) - torch.lgamma(parameter).sum(-1)
    of_prior = math.lgamma(n * prior) - n * math.lgamma(prior)
    cross = ((parameter - prior) * expected_log(parameter)).sum(-1)
    return float((log_normal - of_prior + cross).sum())


class _Normaliser:
    """The bound ``log Σ_l Π_n (Σ_k φ_nk e^{η_lk / N})^{count_n} ≥ E log Σ_l e^{η_l z̄}`` of a batch, with its slopes.

    Args:
        documents: B of them.
        phi: (B, M, K).
        eta: (C, K).
    """

    def __init__(self, documents: Documents, phi: Tensor, eta: Tensor) -> None:
        self.length, self.count, self.phi = documents.length, documents.count, phi
        self.factor = (eta / self.length.view(-1, 1, 1)).exp()  # (B, C, K)
        self.sum = phi @ self.factor.mT  # (B, M, C)
        terms = (self.count.unsqueeze(-1) * self.sum.log()).sum(1)
        self.value = terms.logsumexp(1)  # (B,)
        self.share = (terms - self.value.unsqueeze(1)).exp()  # (B, C)

    def slope_of_phi(self) -> Tensor:
        """(B, M, K), per occurrence of the word."""
        return (self.share.unsqueeze(1) / self.sum) @ self.factor

    def slope_of_eta(self) -> Tensor:
        """(C, K), summed over documents."""
        per_class = (self.count.unsqueeze(-1) / self.sum).mT @ self.phi  # (B, C, K)
        return ((self.share / self.length.unsqueeze(1)).unsqueeze(-1) * self.factor * per_class).sum(0)


class Topics:
    """The posterior, and the steps that improve it.

    Args:
        documents: batches of all D documents.
        crowd: their labels.
        q: (D, C) classes to begin with, λ.
        n_workers: R.
        n_topics: K.
        n_words: V.
        priors: see `Priors`.
        seed: of the topics to begin with.
    """

    def __init__(
        self,
        documents: list[Documents],
        crowd: Crowd,
        q: Tensor,
        n_workers: int,
        n_topics: int,
        n_words: int,
        priors: Priors,
        seed: tuple[int, int],
    ) -> None:
        self.documents, self.crowd, self.priors, self.n_workers = documents, crowd, priors, n_workers
        self.q = q.double()
        n, self.n_classes = q.shape
        noise = np.random.default_rng(seed).gamma(100, 0.01, (n_topics, n_words))
        self.words = torch.from_numpy(noise).to(q.device)  # ζ (K, V)
        self.proportions = torch.full((n, n_topics), 1.0, dtype=torch.float64, device=q.device)  # γ (D, K)
        self.eta = torch.zeros(self.n_classes, n_topics, dtype=torch.float64, device=q.device)
        self.log_phi = [
            torch.full((*d.word.shape, n_topics), -math.log(n_topics), dtype=torch.float64, device=q.device)
            for d in documents
        ]
        self.confusion = self._counted_confusion()  # ξ (R, C, C)

    def step(self, sweeps: int = 2, learn_eta: bool = True) -> float:
        """Documents, then topics, confusions and η; returns the bound after the documents' part."""
        log_words, log_confusion = expected_log(self.words).T.contiguous(), expected_log(self.confusion)
        given = log_confusion[self.crowd.worker, :, self.crowd.label]
        evidence = torch.zeros_like(self.q).index_add(0, self.crowd.document, given)
        bound = -_divergence(self.words, self.priors.words) - _divergence(self.confusion, self.priors.confusion)
        bound -= self.priors.ridge / 2 * float(self.eta.square().sum())
        words = torch.full_like(self.words.T, self.priors.words)
        for b, batch in enumerate(self.documents):
            for _ in range(sweeps):
                self._sweep(b, log_words[batch.word], evidence[batch.number])
            bound += self._bound(b, log_words[batch.word], evidence[batch.number])
            weight = batch.count.unsqueeze(-1) * self.log_phi[b].exp()
            words.index_add_(0, batch.word.flatten(), weight.flatten(0, 1))
        self.words = words.T.contiguous()
        self.confusion = self._counted_confusion()
        if learn_eta:
            self._learn_eta()
        return bound

    def _sweep(self, b: int, log_words: Tensor, evidence: Tensor) -> None:
        """γ, then φ, then λ of a batch, from (B, M, K) E log β and (B, C) E log π of the labels."""
        batch = self.documents[b]
        gamma = self.priors.proportions + (batch.count.unsqueeze(-1) * self.log_phi[b].exp()).sum(1)
        self.proportions[batch.number] = gamma
        q, prior = self.q[batch.number], expected_log(gamma).unsqueeze(1) + log_words
        self.log_phi[b] = self._topics_of_words(batch, self.log_phi[b], prior, q)
        logits = self.mean_topics(b) @ self.eta.T + evidence
        self.q[batch.number] = logits.softmax(1)

    def _topics_of_words(self, batch: Documents, log_phi: Tensor, prior: Tensor, q: Tensor) -> Tensor:
        """φ ∝ exp(prior + slope of the class's terms), shortened where it would lower a document's bound."""
        start, slopes = self._bound_of_phi(batch, log_phi, prior, q)
        wanted = (prior + slopes).log_softmax(-1)
        step = torch.ones_like(start)
        for _ in range(_HALVINGS):
            size = step.view(-1, 1, 1)
            found = ((1 - size) * log_phi + size * wanted).log_softmax(-1)
            falls = self._bound_of_phi(batch, found, prior, q)[0] < start - _ROUNDING * start.abs()
            if not falls.any():
                return found
            step = torch.where(falls, step / 2, step)
        return torch.where(falls.view(-1, 1, 1), log_phi, found)

    def _bound_of_phi(self, batch: Documents, log_phi: Tensor, prior: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
        """(B,) the terms in which φ occurs, and (B, M, K) slopes of those of the class."""
        phi = log_phi.exp()
        normaliser = _Normaliser(batch, phi, self.eta)
        pull = (q @ self.eta) / batch.length.unsqueeze(1)  # (B, K)
        per_word = (phi * (prior - log_phi + pull.unsqueeze(1))).sum(-1)
        value = (batch.count * per_word).sum(1) - normaliser.value
        return value, pull.unsqueeze(1) - normaliser.slope_of_phi()

    def _bound(self, b: int, log_words: Tensor, evidence: Tensor) -> float:
        """The part of the bound that belongs to a batch."""
        batch, gamma = self.documents[b], self.proportions[self.documents[b].number]
        q = self.q[batch.number]
        prior = expected_log(gamma).unsqueeze(1) + log_words
        topics = float(self._bound_of_phi(batch, self.log_phi[b], prior, q)[0].sum())
        labels = float((q * evidence - torch.xlogy(q, q)).sum())
        return topics + labels - _divergence(gamma, self.priors.proportions)

    def mean_topics(self, b: int) -> Tensor:
        """(B, K) expected share of each topic among a document's words, φ̄."""
        batch = self.documents[b]
        total = (batch.count.unsqueeze(-1) * self.log_phi[b].exp()).sum(1)
        return total / batch.length.unsqueeze(1)

    def _counted_confusion(self) -> Tensor:
        """``ξ^r_{c,l} = ω + Σ_d λ_dc 1[y_d^r = l]``, (R, C, C)."""
        n = self.n_classes
        table = torch.full((self.n_workers * n, n), self.priors.confusion, dtype=torch.float64, device=self.q.device)
        table.index_add_(0, self.crowd.worker * n + self.crowd.label, self.q[self.crowd.document])
        return table.view(self.n_workers, n, n).mT.contiguous()

    def _learn_eta(self) -> None:
        """The class's terms are concave in η: some rounds of L-BFGS from where it is."""
        phis = [log_phi.exp() for log_phi in self.log_phi]
        target = torch.zeros_like(self.eta)
        for b, batch in enumerate(self.documents):
            target += self.q[batch.number].T @ self.mean_topics(b)

        def loss(flat: AnyArray) -> tuple[float, AnyArray]:
            eta = torch.from_numpy(flat).to(self.eta).view_as(self.eta)
            value = self.priors.ridge / 2 * eta.square().sum() - (target * eta).sum()
            slope = self.priors.ridge * eta - target
            for batch, phi in zip(self.documents, phis, strict=True):
                normaliser = _Normaliser(batch, phi, eta)
                value, slope = value + normaliser.value.sum(), slope + normaliser.slope_of_eta()
            return float(value), slope.cpu().numpy().ravel()

        start = self.eta.cpu().numpy().ravel()
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS})
        if found.fun <= loss(start)[0]:
            self.eta = torch.from_numpy(found.x).to(self.eta).view_as(self.eta)
