"""Fit MA-sLDAr to texts or word counts that were rated, and rate new texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.topics.classes import Crowd
from crowdcore.learning.topics.documents import batches
from crowdcore.learning.topics.fitting import FittedTopics, Fitting, best_of_starts, count_words
from crowdcore.learning.topics.ratings import RatingTopics
from crowdcore.learning.training.device import resolve_device


class RatingTopicSettings(Fitting):
    """Settings of MA-sLDAr; K, α and τ are those of the authors' example.

    On held-out reviews R² was highest after few iterations and without rare words: both let topics tell training texts
    apart instead of how they are rated.
    """

    alpha: float = Field(default=1.0, gt=0, title="Prior of proportions, α", description="α of topics in a text.")
    tau: float = Field(default=0.1, gt=0, title="Prior of topics, τ", description="τ of words in a topic.")
    ridge: float = Field(
        default=0.1,
        gt=0,
        title="Ridge",
        description="Precision of the normal prior of the regression's weights η, in units of 1/σ².",
    )
    least_share: float = Field(
        default=0.01,
        ge=0,
        lt=0.5,
        title="Rarest words",
        description="Words in a smaller share of the training texts than this, or in only one, are left out.",
    )
    iterations: int = Field(
        default=10, ge=1, title="Iterations", description="Iterations at most; more say less of ratings."
    )
    bias_shrinkage: float = Field(
        default=2.0, gt=0, title="Shrinkage of biases (ratings)", description="A prior that weighs as many ratings."
    )
    precision_shrinkage: float = Field(
        default=5.0, gt=0, title="Shrinkage of precisions (ratings)", description="A prior that weighs as many ratings."
    )


@dataclass(frozen=True, eq=False)
class RatingTopicModel(FittedTopics):
    """A fitted model in the dataset's unit, with the fields of `FittedTopics`.

    Args:
        settings: it was fitted with.
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

    Learns from rated tasks outside the splits valid and test. It begins with topics of texts that have like mean
    ratings. Steps of a text's topics that would lower the bound are shortened. Unlike in the paper, biases, precisions
    and η have priors (see `RatingTopicSettings`).

    Args:
        dataset: tasks with texts, and ratings of some of them.
        counts: (n_tasks, V) word counts, sparse or not, instead of texts. Texts are counted in lower case; words of
            few training texts (``least_share``), or of more than half of them, are left out.
        device: where it is computed.
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
    chosen, where = RatingTopicSettings(**settings), resolve_device(device)
    words = count_words(dataset, dataset.annotated & (dataset.split <= 0), chosen.least_share, counts)
    if len(words.tasks) < 2:
        raise DataError(
            f"{dataset.name} has only {len(words.tasks)} rated training tasks with words", "There must be at least two."
        )
    crowd = Crowd.of(dataset, dataset.rating, words.number(dataset.n_tasks), where)
    documents, sizes = batches(words.counts, where), (dataset.n_workers, chosen.n_topics, len(words.vocabulary))
    shrinkage = chosen.bias_shrinkage, chosen.precision_shrinkage
    found, bound = best_of_starts(
        chosen, lambda seed: RatingTopics(documents, crowd, *sizes, chosen.priors, *shrinkage, seed)
    )
    absent = (found.given == 0).cpu().numpy()
    parts = (found.words, found.topic_shares(), found.eta, found.bias, found.precision, found.mean, found.variance)
    topics, shares, eta, bias, precision, mean, variance = (part.cpu().numpy() for part in parts)
    centre = float(found.centre)
    return RatingTopicModel(
        vocabulary=words.vocabulary,
        topic_parameter=topics,
        tasks=words.tasks,
        topic_shares=shares,
        bound=bound,
        settings=chosen,
        centre=centre,
        weights=eta,
        noise=float(found.noise.sqrt()),
        bias=np.where(absent, np.nan, bias),
        precision=np.where(absent, np.nan, precision),
        mean=centre + mean,
        sd=np.sqrt(variance),
    )
