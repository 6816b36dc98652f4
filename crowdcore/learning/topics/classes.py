"""MA-sLDAc (Rodrigues et al., TPAMI 2017, section 4): the answers are labels of C classes.

Beside the topics the model draws confusions ``π^r_c ~ Dir(ω)``, the true class ``c_d ~ softmax(η z̄_d)`` and labels
``y_d^r ~ π^r_{c_d}``. The posterior has ``Dir(ξ)`` of confusions and distributions ``λ`` of classes; η is a point
estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.topics.documents import Documents
from crowdcore.learning.topics.inference import Priors, Topics, divergence, expected_log

_ROUNDS = 10  # rounds of L-BFGS per iteration


@dataclass(frozen=True, eq=False)
class Crowd:
    """Answers to D documents, (A,) each.

    Args:
        document: number of the document.
        worker: number of the worker.
        label: the label, or the rating.
    """

    document: Tensor
    worker: Tensor
    label: Tensor

    @classmethod
    def of(
        cls, dataset: CrowdDataset | RatingDataset, label: AnyArray, document: IntArray, where: torch.device
    ) -> Crowd:
        """The answers to tasks that are documents.

        Args:
            dataset: all tasks.
            label: (n_annotations,) the labels, or the ratings.
            document: (n_tasks,) number of each task's document, -1 where it is none.
            where: they are kept.
        """
        at = document[dataset.task]
        columns = (at, dataset.worker.astype(np.int64), label)
        return cls(*(torch.from_numpy(np.ascontiguousarray(column[at >= 0])).to(where) for column in columns))


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


class ClassTopics(Topics):
    """Topics that speak for classes.

    Args:
        documents: batches of all D documents.
        crowd: their labels.
        q: (D, C) classes to begin with, λ.
        n_workers: R.
        n_topics: K.
        n_words: V.
        priors: see `Priors`.
        confusion: ω.
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
        confusion: float,
        seed: tuple[int, int],
    ) -> None:
        super().__init__(documents, n_topics, n_words, priors, seed)
        self.crowd, self.n_workers, self.omega = crowd, n_workers, confusion
        self.q, self.n_classes = q.double(), q.shape[1]
        self.eta = torch.zeros(self.n_classes, n_topics, dtype=torch.float64, device=q.device)
        self.learn_workers()

    def bound_of_workers(self) -> float:
        """Confusions and η; (D, C) E log π of the labels are put aside."""
        given = expected_log(self.confusion)[self.crowd.worker, :, self.crowd.label]
        self.evidence = torch.zeros_like(self.q).index_add(0, self.crowd.document, given)
        return -divergence(self.confusion, self.omega) - self.priors.ridge / 2 * float(self.eta.square().sum())

    def bound_of_phi(self, b: int, phi: Tensor) -> tuple[Tensor, Callable[[], Tensor]]:
        """``E η_c z̄`` less the bound on the normaliser."""
        batch = self.documents[b]
        normaliser = _Normaliser(batch, phi, self.eta)
        pull = (self.q[batch.number] @ self.eta) / batch.length.unsqueeze(1)  # (B, K)
        value = (batch.count * (phi @ pull.unsqueeze(-1)).squeeze(-1)).sum(1) - normaliser.value
        return value, lambda: pull.unsqueeze(1) - normaliser.slope_of_phi()

    def answer(self, b: int) -> None:
        """λ."""
        number = self.documents[b].number
        self.q[number] = (self.mean_topics(b) @ self.eta.T + self.evidence[number]).softmax(1)

    def bound_of_answers(self, b: int) -> float:
        """Labels, and the entropy of classes."""
        q = self.q[self.documents[b].number]
        return float((q * self.evidence[self.documents[b].number] - torch.xlogy(q, q)).sum())

    def learn_workers(self) -> None:
        """``ξ^r_{c,l} = ω + Σ_d λ_dc 1[y_d^r = l]``, (R, C, C)."""
        n = self.n_classes
        table = torch.full((self.n_workers * n, n), self.omega, dtype=torch.float64, device=self.q.device)
        table.index_add_(0, self.crowd.worker * n + self.crowd.label, self.q[self.crowd.document])
        self.confusion = table.view(self.n_workers, n, n).mT.contiguous()

    def learn_eta(self) -> None:
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
