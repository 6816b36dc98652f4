"""MA-sLDAr (Rodrigues et al., TPAMI 2017, section 5): the answers are ratings.

Beside the topics the model draws the true rating ``x_d ~ N(η z̄_d, σ²)`` and ratings ``y_d^r ~ N(x_d + b^r, 1/p^r)``.
The posterior of x_d is ``N(m_d, v_d)``; η, σ², b and p are point estimates. So that biases and the mean truth can
be told apart, and workers with few ratings do not become certain, there are priors: ``η ~ N(0, σ²/ridge)`` around the
mean rating, ``b^r ~ N(0, 1/(κ p^r))``, and p^r is drawn to the pooled precision by as many ratings as ``strength``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.topics.inference import (
    Crowd,
    Documents,
    FittedTopics,
    Fitting,
    Topics,
    best_of_starts,
    read_corpus,
)
from crowdcore.learning.training.device import resolve_device

_LOG_2PI = math.log(2 * math.pi)


class RatingTopicSettings(Fitting):
    """Settings of MA-sLDAr; K, α and τ are those of the authors' example.

    On held-out reviews R² was highest after few iterations and without rare words: more of either lets topics separate
    training texts instead of ratings.
    """

    alpha: float = setting(1.0, "Prior of proportions, α", "α of topics in a text.", gt=0)
    tau: float = setting(0.1, "Prior of topics, τ", "τ of words in a topic.", gt=0)
    ridge: float = setting(
        0.1, "Ridge", "Precision of the normal prior of the regression's weights η, in units of 1/σ².", gt=0
    )
    least_share: float = setting(
        0.01,
        "Rarest words",
        "Words in a smaller share of the training texts than this, or in only one, are left out.",
        ge=0,
        lt=0.5,
    )
    iterations: int = setting(10, "Iterations", "Iterations at most; more say less of ratings.", ge=1)
    bias_shrinkage: float = setting(2.0, "Shrinkage of biases (ratings)", "A prior that weighs as many ratings.", gt=0)
    precision_shrinkage: float = setting(
        5.0, "Shrinkage of precisions (ratings)", "A prior that weighs as many ratings.", gt=0
    )


class RatingTopics(Topics):
    """Topics with a linear regression of the ratings.

    Args:
        documents: batches of all D documents, each rated.
        crowd: their ratings, float64.
        n_workers: R.
        n_words: V.
        settings: number of topics, priors, κ (``bias_shrinkage``) and ``strength`` (``precision_shrinkage``).
        seed: seed of the initial topics.
    """

    words_first: ClassVar[int] = 0

    def __init__(
        self,
        documents: list[Documents],
        crowd: Crowd,
        n_workers: int,
        n_words: int,
        settings: RatingTopicSettings,
        seed: tuple[int, int],
    ) -> None:
        super().__init__(documents, n_words, settings, seed)
        self.crowd, self.shrinkage, self.strength = crowd, settings.bias_shrinkage, settings.precision_shrinkage
        rating, n = crowd.label, len(self.proportions)
        self.centre = rating.mean()
        self.given = torch.bincount(crowd.worker, minlength=n_workers).double()
        times = torch.bincount(crowd.document, minlength=n).double()
        self.mean = self._per_document(rating - self.centre) / times  # m (D,)
        around = (rating - self.centre - self.mean[crowd.document]).square().sum()
        floor = 1e-4 * (rating - self.centre).square().mean().clamp_min(1e-12)
        self.pooled = torch.maximum(around / max(len(rating) - n, 1), floor)
        self.variance = self.pooled / times  # v (D,)
        self.words, self.eta = self._start_from_ratings(seed)
        self.noise = torch.maximum(self.mean.square().mean(), floor)  # σ²
        self.bias, self.precision = rating.new_zeros(n_workers), (1 / self.pooled).expand(n_workers).clone()
        self.learn_workers()

    def _start_from_ratings(self, seed: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Initial ζ and η: half of a topic's words are from texts with similar ratings, the other half are random.

        From random topics EM finds the subjects of the texts, which explain far more words than their ratings.
        """
        n, n_topics = self.proportions.shape
        rank = self.mean.argsort(stable=True).argsort()
        scattered = torch.from_numpy(np.random.default_rng(seed).dirichlet(np.full(n_topics, 0.5), n)).to(self.mean)
        share = (one_hot(rank * n_topics // n, n_topics) + scattered) / 2  # (D, K)
        words = torch.full_like(self.words.T, self.priors.tau)
        for batch in self.documents:
            weight = batch.count.unsqueeze(-1) * share[batch.number].unsqueeze(1)
            words.index_add_(0, batch.word.flatten(), weight.flatten(0, 1))
        return words.T.contiguous(), (self.mean @ share) / share.sum(0)

    def _per_document(self, values: Tensor) -> Tensor:
        return torch.zeros(len(self.proportions), dtype=torch.float64, device=values.device).index_add(
            0, self.crowd.document, values
        )

    def bound_of_workers(self) -> float:
        """Priors of biases, precisions and η; also computes ``evidence`` of each document's ratings."""
        precision = self.precision[self.crowd.worker]
        off = self.crowd.label - self.centre - self.bias[self.crowd.worker]
        self.evidence = self._per_document(precision), self._per_document(precision * off)
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
        precision, weighted = (part[number] for part in self.evidence)
        self.variance[number] = 1 / (1 / self.noise + precision)
        self.mean[number] = self.variance[number] * (self.mean_topics(b) @ self.eta / self.noise + weighted)

    def bound_of_answers(self, b: int) -> float:
        """Ratings and truth as far as m and v occur alone, and the entropy of the truth."""
        number = self.documents[b].number
        precision, weighted = (part[number] for part in self.evidence)
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


@dataclass(frozen=True, eq=False)
class RatingTopicModel(FittedTopics):
    """A fitted model in the dataset's unit, with the fields of `FittedTopics`.

    Args:
        settings: settings of the fit.
        centre: mean of all ratings.
        weights: (K,) η, how far above it texts of a single topic are.
        noise: σ, standard deviation of the truth around the regression.
        bias: (R,) how far above the truth each worker rates; NaN without ratings that were learnt from.
        precision: (R,) 1 / variance of each worker's ratings around truth and bias; NaN likewise.
        mean: (n,) posterior mean of the truth of ``tasks``.
        sd: (n,) its standard deviation.
    """

    settings: RatingTopicSettings
    centre: float
    weights: FloatArray
    noise: float
    bias: FloatArray
    precision: FloatArray
    mean: FloatArray
    sd: FloatArray

    def words(self, n: int = 10) -> pd.DataFrame:
        """One row per topic, the lowest rated first: its share of the training words, its rating, likeliest words."""
        shares, rating = self.topic_shares.mean(0), self.centre + self.weights
        columns = {"topic": np.arange(len(shares)), "share": shares, "rating": rating, "words": self.likeliest_words(n)}
        return pd.DataFrame(columns).sort_values("rating", ignore_index=True)

    def predict(self, texts: Any) -> FloatArray:
        """(n,) expected ratings of new texts, which nobody rated.

        Args:
            texts: a sequence of texts, or a sparse (n, V) matrix of word counts.

        Raises:
            SettingError: counts of another number of words.
        """
        return np.asarray(self.centre + self.shares_of(texts, self.settings.alpha) @ self.weights)


def fit_rating_topics(
    dataset: RatingDataset, *, counts: Any = None, device: str = "auto", **settings: Any
) -> RatingTopicModel:
    """Supervised topics with several annotators' ratings: MA-sLDAr (Rodrigues et al., TPAMI 2017), in batches.

    Learns from rated tasks outside the splits valid and test. It starts from topics of texts with similar mean ratings.
    Steps of a text's topics that would lower the bound are shortened. Unlike in the paper, biases, precisions and η
    have priors (see `RatingTopicSettings`).

    Args:
        dataset: tasks with texts, and ratings of some of them.
        counts: (n_tasks, V) word counts, sparse or not, instead of texts. Texts are counted in lower case; words of
            few training texts (``least_share``), or of more than half of them, are left out.
        device: "auto", "cpu" or "cuda".
        settings: see `RatingTopicSettings`.

    Raises:
        DataError: no texts, no words in common, or fewer than two rated texts.
        SettingError: counts that are negative, or not of all tasks.

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> from dataclasses import replace
        >>> from crowdcore.data.dataset import Media
        >>> rows = [(i, w, i % 2 + b) for i in range(20) for w, b in {"low": 0, "high": 1}.items()]
        >>> crowd = cc.ratings_from_frame(pd.DataFrame(rows, columns=["task", "worker", "rating"]), 0, 2)
        >>> texts = pd.DataFrame({"text": [5 * ("good fine ", "bad poor ")[int(i) % 2] for i in crowd.task_ids]})
        >>> model = fit_rating_topics(replace(crowd, media=Media(columns=texts)), n_topics=2, starts=1)
        >>> model.predict(["bad poor bad", "good fine good"]).round(1).tolist()
        [1.5, 0.5]
    """
    chosen, place = RatingTopicSettings(**settings), resolve_device(device)
    corpus = read_corpus(dataset, dataset.rating, counts, place, chosen.least_share, least_tasks=2)
    sizes = dataset.n_workers, len(corpus.vocabulary)
    fit, bound = best_of_starts(chosen, lambda seed: RatingTopics(corpus.documents, corpus.crowd, *sizes, chosen, seed))
    absent = (fit.given == 0).cpu().numpy()
    parts = (fit.words, fit.topic_shares(), fit.eta, fit.bias, fit.precision, fit.mean, fit.variance)
    topics, shares, eta, bias, precision, mean, variance = (part.cpu().numpy() for part in parts)
    centre = float(fit.centre)
    return RatingTopicModel(
        vocabulary=corpus.vocabulary,
        topic_parameter=topics,
        tasks=corpus.tasks,
        topic_shares=shares,
        bound=bound,
        settings=chosen,
        centre=centre,
        weights=eta,
        noise=float(fit.noise.sqrt()),
        bias=np.where(absent, np.nan, bias),
        precision=np.where(absent, np.nan, precision),
        mean=centre + mean,
        sd=np.sqrt(variance),
    )
