"""Fit MA-sLDAc to a dataset's texts or word counts, and classify new texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import Field

from crowdcore import aggregation
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.topics.classes import ClassTopics, Crowd
from crowdcore.learning.topics.documents import batches
from crowdcore.learning.topics.fitting import FittedTopics, Fitting, best_of_starts, count_words
from crowdcore.learning.training.device import resolve_device


class TopicSettings(Fitting):
    """Settings of MA-sLDAc."""

    omega: float = Field(default=1.0, gt=0, title="Prior of confusions, ω", description="ω of a confusion's rows.")


@dataclass(frozen=True, eq=False)
class TopicModel(FittedTopics):
    """A fitted model, with the fields of `FittedTopics`; rows of confusions (by true class) and of topics sum to 1.

    Args:
        settings: it was fitted with.
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
        """One row per topic: its share of the training words, the class it speaks for, its ``n`` likeliest words."""
        speaks_for = [self.classes[c] for c in self.weights.argmax(0)]
        shares = self.topic_shares.mean(0)
        return pd.DataFrame(
            {"topic": np.arange(len(shares)), "share": shares, "class": speaks_for, "words": self.likeliest_words(n)}
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
        device: where it is computed.
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
    chosen, where = TopicSettings(**settings), resolve_device(device)
    words = count_words(dataset, dataset.annotated & (dataset.split <= 0), chosen.least_share, counts)
    tasks, number = words.tasks, words.number(dataset.n_tasks)
    if len(tasks) < dataset.n_classes:
        raise DataError(
            f"{dataset.name} has {dataset.n_classes} classes but only {len(tasks)} annotated training tasks with words",
            "There must be at least one task per class.",
        )
    crowd = Crowd.of(dataset, dataset.label.astype(np.int64), number, where)
    labelled = dataset.where(number[dataset.task] >= 0)
    votes = torch.from_numpy(aggregation.get("majority-vote").fit(labelled).posterior[tasks]).to(where)
    documents = batches(words.counts, where)
    sizes = (dataset.n_workers, chosen.n_topics, len(words.vocabulary))
    found, bound = best_of_starts(
        chosen, lambda seed: ClassTopics(documents, crowd, votes, *sizes, chosen.priors, chosen.omega, seed)
    )
    rows = found.confusion / found.confusion.sum(-1, keepdim=True)
    parts = (found.words, found.topic_shares(), found.eta, rows, found.q)
    topics, shares, eta, confusion, q = (part.cpu().numpy() for part in parts)
    return TopicModel(words.vocabulary, topics, tasks, shares, bound, chosen, dataset.classes, eta, confusion, q)
