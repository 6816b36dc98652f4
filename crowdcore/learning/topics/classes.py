"""MA-sLDAc (Rodrigues et al., TPAMI 2017, section 4): the answers are labels of C classes.

Beside the topics the model draws confusions ``π^r_c ~ Dir(ω)``, the true class ``c_d ~ softmax(η z̄_d)`` and labels
``y_d^r ~ π^r_{c_d}``. The posterior has ``Dir(ξ)`` of confusions and distributions ``λ`` of classes; η is a point
estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize
from torch import Tensor

from crowdcore import aggregation
from crowdcore.core.settings import setting
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.topics.inference import (
    Crowd,
    Documents,
    FittedTopics,
    Fitting,
    Topics,
    best_of_starts,
    divergence,
    expected_log,
    read_corpus,
)
from crowdcore.learning.training.device import resolve_device

_ROUNDS = 10  # rounds of L-BFGS per iteration


class TopicSettings(Fitting):
    """Settings of MA-sLDAc."""

    omega: float = setting(1.0, "Prior of confusions, ω", "ω of a confusion's rows.", gt=0)


class _Normaliser:
    """The bound ``log Σ_l Π_n (Σ_k φ_nk e^{η_lk / N})^{count_n} ≥ E log Σ_l e^{η_l z̄}`` of a batch, and its slopes.

    Args:
        documents: B documents.
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
    """Topics with a softmax regression of the classes.

    Args:
        documents: batches of all D documents.
        crowd: their labels.
        q: (D, C) initial classes, λ.
        n_workers: R.
        n_words: V.
        settings: number of topics and priors.
        seed: seed of the initial topics.
    """

    def __init__(
        self,
        documents: list[Documents],
        crowd: Crowd,
        q: Tensor,
        n_workers: int,
        n_words: int,
        settings: TopicSettings,
        seed: tuple[int, int],
    ) -> None:
        super().__init__(documents, n_words, settings, seed)
        self.crowd, self.n_workers, self.omega = crowd, n_workers, settings.omega
        self.q, self.n_classes = q.double(), q.shape[1]
        self.eta = torch.zeros(self.n_classes, settings.n_topics, dtype=torch.float64, device=q.device)
        self.learn_workers()

    def bound_of_workers(self) -> float:
        """Confusions and η; also computes ``evidence``, (D, C) E log π of the labels."""
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
        """Improve λ of a batch."""
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
        """Some rounds of L-BFGS, as the terms with η are concave."""
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
        best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS})
        if best.fun <= loss(start)[0]:
            self.eta = torch.from_numpy(best.x).to(self.eta).view_as(self.eta)


@dataclass(frozen=True, eq=False)
class TopicModel(FittedTopics):
    """A fitted model, with the fields of `FittedTopics`; rows of confusions (by true class) and of topics sum to 1.

    Args:
        settings: settings of the fit.
        classes: names of the C classes.
        weights: (C, K) η of the softmax regression on a text's topic shares.
        worker_confusion: (R, C, C) expected confusions.
        posterior: (n, C) λ, the true classes of ``tasks``.
    """

    settings: TopicSettings
    classes: tuple[str, ...]
    weights: FloatArray
    worker_confusion: FloatArray
    posterior: FloatArray

    def words(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its share of the training words, its most probable class, its ``n`` likeliest words."""
        likeliest = [self.classes[c] for c in self.weights.argmax(0)]
        shares = self.topic_shares.mean(0)
        return pd.DataFrame(
            {"topic": np.arange(len(shares)), "share": shares, "class": likeliest, "words": self.likeliest_words(n)}
        )

    def predict_proba(self, texts: Any) -> FloatArray:
        """(n, C) softmax of the regression on the topics of new texts, which no worker labelled.

        Args:
            texts: a sequence of texts, or a sparse (n, V) matrix of word counts.

        Raises:
            SettingError: counts of another number of words.
        """
        shares = self.shares_of(texts, self.settings.alpha)
        return torch.from_numpy(shares @ self.weights.T).softmax(1).numpy()


def fit_topics(dataset: CrowdDataset, *, counts: Any = None, device: str = "auto", **settings: Any) -> TopicModel:
    """Supervised topics with several annotators: MA-sLDAc (Rodrigues et al., TPAMI 2017), in batches.

    Learns from annotated tasks outside the splits valid and test. The bound on the regression's normaliser is that of
    Wang, Blei and Fei-Fei (2009); steps of a text's topics that would lower the bound are shortened.

    Args:
        dataset: tasks with texts, and labels of some of them.
        counts: (n_tasks, V) word counts, sparse or not, instead of texts. Texts are counted in lower case; words of a
            single training text, or of more than half of them, are left out.
        device: "auto", "cpu" or "cuda".
        settings: see `TopicSettings`.

    Raises:
        DataError: no texts, no words in common, or fewer labelled texts than classes.
        SettingError: counts that are negative, or not of all tasks.

    Examples:
        >>> import pandas as pd
        >>> from dataclasses import replace
        >>> import crowdcore as cc
        >>> from crowdcore.data.dataset import Media
        >>> demo = cc.load_dataset("demo")
        >>> texts = pd.DataFrame({"text": [f"{demo.classes[c]} {demo.classes[c]} number" for c in demo.gold]})
        >>> model = fit_topics(replace(demo, media=Media(columns=texts)), n_topics=10, starts=1, iterations=20)
        >>> model.predict_proba(["seven seven"]).shape
        (1, 10)
    """
    chosen, place = TopicSettings(**settings), resolve_device(device)
    corpus = read_corpus(dataset, dataset.label.astype(np.int64), counts, place, chosen.least_share, dataset.n_classes)
    chosen_tasks = np.zeros(dataset.n_tasks, bool)
    chosen_tasks[corpus.tasks] = True
    voted = aggregation.get("majority-vote").fit(dataset.where(chosen_tasks[dataset.task]))
    votes = torch.from_numpy(voted.posterior[corpus.tasks]).to(place)
    sizes = dataset.n_workers, len(corpus.vocabulary)
    fit, bound = best_of_starts(
        chosen, lambda seed: ClassTopics(corpus.documents, corpus.crowd, votes, *sizes, chosen, seed)
    )
    rows = fit.confusion / fit.confusion.sum(-1, keepdim=True)
    return TopicModel(
        vocabulary=corpus.vocabulary,
        topic_parameter=fit.words.cpu().numpy(),
        tasks=corpus.tasks,
        topic_shares=fit.topic_shares().cpu().numpy(),
        bound=bound,
        settings=chosen,
        classes=dataset.classes,
        weights=fit.eta.cpu().numpy(),
        worker_confusion=rows.cpu().numpy(),
        posterior=fit.q.cpu().numpy(),
    )
