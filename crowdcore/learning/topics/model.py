"""Fit MA-sLDAc to a dataset's texts or word counts, and classify new texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from crowdcore import aggregation
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.texts import given_texts
from crowdcore.learning.topics.documents import batches
from crowdcore.learning.topics.inference import Crowd, Priors, Topics, expected_log
from crowdcore.learning.training.device import resolve_device

__all__ = ["TopicModel", "TopicSettings", "fit_topics"]

_SWEEPS = 30  # over a new document
_FIRST = 10  # iterations before η is learnt


class TopicSettings(Settings):
    """Settings of MA-sLDAc."""

    n_topics: int = Field(default=20, ge=1, title="Topics, K", description="Number of topics.")
    alpha: float = Field(default=0.1, gt=0, title="Prior of proportions, α", description="α of topics in a text.")
    tau: float = Field(default=0.05, gt=0, title="Prior of topics, τ", description="τ of words in a topic.")
    omega: float = Field(default=1.0, gt=0, title="Prior of confusions, ω", description="ω of a confusion's rows.")
    ridge: float = Field(
        default=0.01, gt=0, title="Ridge", description="Precision of the normal prior of the regression's weights η."
    )
    iterations: int = Field(default=100, ge=1, title="Iterations", description="Iterations at most.")
    tolerance: float = Field(
        default=1e-5, ge=0, title="Tolerance", description="Relative gain of the bound below which it stops."
    )
    starts: int = Field(
        default=3, ge=1, title="Starts", description="Random topics to start from; the highest bound wins."
    )
    seed: int = Field(default=0, ge=0, title="Seed", description="Seed of the topics to start from.")


@dataclass(frozen=True, eq=False)
class TopicModel:
    """What was learnt; rows of confusions are true classes, and sum to 1 as those of topics do.

    Args:
        settings: it was fitted with.
        classes: names of the C classes.
        vocabulary: (V,) words, or their numbers where counts were given.
        topic_parameter: (K, V) ζ, Dirichlet parameters of the topics.
        weights: (C, K) η of the softmax regression on a text's topic shares.
        worker_confusion: (R, C, C) expected confusions.
        tasks: (n,) tasks that it was fitted to, annotated ones outside validation and test.
        posterior: (n, C) λ, their true classes.
        topic_shares: (n, K) expected shares of topics in them.
        bound: (iterations,) lower bound of the log evidence; it never falls.
    """

    settings: TopicSettings
    classes: tuple[str, ...]
    vocabulary: AnyArray
    topic_parameter: FloatArray
    weights: FloatArray
    worker_confusion: FloatArray
    tasks: IntArray
    posterior: FloatArray
    topic_shares: FloatArray
    bound: FloatArray

    @property
    def topics(self) -> FloatArray:
        """(K, V) expected probability of each word in each topic."""
        return np.asarray(self.topic_parameter / self.topic_parameter.sum(1, keepdims=True))

    def words(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its share of the training words, the class it speaks for, its ``n`` likeliest words."""
        top = np.argsort(-self.topics, 1, kind="stable")[:, :n]
        return pd.DataFrame(
            {
                "topic": np.arange(len(top)),
                "share": self.topic_shares.mean(0),
                "class": [self.classes[c] for c in self.weights.argmax(0)],
                "words": [" ".join(str(word) for word in self.vocabulary[row]) for row in top],
            }
        )

    def predict_proba(self, texts: Any) -> FloatArray:
        """(n, C) softmax of the regression on the topics of new texts, which no worker labelled.

        Args:
            texts: a sequence of texts, or a sparse (n, V) matrix of word counts.

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
            prior, weight = log_words[batch.word], batch.count.unsqueeze(-1)
            phi = torch.full_like(prior, 1 / n_topics)
            for _ in range(_SWEEPS):
                gamma = self.settings.alpha + (weight * phi).sum(1)
                phi = (expected_log(gamma).unsqueeze(1) + prior).softmax(-1)
            shares[batch.number.numpy()] = ((weight * phi).sum(1) / batch.length.unsqueeze(1)).numpy()
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
    labelled = dataset.annotated & (dataset.split <= 0)
    if counts is None:
        texts, present = _texts(dataset)
        tasks = np.flatnonzero(labelled & present)
        try:
            counter = CountVectorizer(min_df=2, max_df=0.5)
            counts = counter.fit_transform(texts[tasks])
        except ValueError as error:
            raise DataError(f"The texts have no words in common ({error})", "Give `counts` of your own.") from error
        vocabulary = np.array(counter.get_feature_names_out(), str)
    else:
        counts = sparse.csr_matrix(counts)
        if counts.shape[0] != dataset.n_tasks or counts.min() < 0:
            raise SettingError("counts", f"be counts of words in {dataset.n_tasks:,} tasks", counts.shape)
        tasks, vocabulary = np.flatnonzero(labelled), np.arange(counts.shape[1])
        counts = counts[tasks]
    if len(tasks) < dataset.n_classes:
        raise DataError(
            f"{dataset.name} has {dataset.n_classes} classes but only {len(tasks)} annotated training tasks with words",
            "There must be at least one task per class.",
        )
    number = np.full(dataset.n_tasks, -1, np.int64)
    number[tasks] = np.arange(len(tasks))
    used = number[dataset.task] >= 0
    columns = (number[dataset.task], dataset.worker.astype(np.int64), dataset.label.astype(np.int64))
    crowd = Crowd(*(torch.from_numpy(np.ascontiguousarray(column[used])).to(where) for column in columns))
    votes = torch.from_numpy(aggregation.get("majority-vote").fit(dataset.where(used)).posterior[tasks]).to(where)
    documents = batches(counts, where)
    priors = Priors(chosen.alpha, chosen.tau, chosen.omega, chosen.ridge)
    best: tuple[Topics, list[float]] | None = None
    for start in range(chosen.starts):
        sizes = (dataset.n_workers, chosen.n_topics, len(vocabulary))
        topics = Topics(documents, crowd, votes, *sizes, priors, (chosen.seed, start))
        bound = _climb(topics, chosen)
        if best is None or bound[-1] > best[1][-1]:
            best = topics, bound
    assert best is not None
    found, bound = best
    shares = np.zeros((len(tasks), chosen.n_topics))
    for b, batch in enumerate(documents):
        shares[batch.number.cpu().numpy()] = found.mean_topics(b).cpu().numpy()
    rows = found.confusion / found.confusion.sum(-1, keepdim=True)
    words, eta, confusion, q = (part.cpu().numpy() for part in (found.words, found.eta, rows, found.q))
    return TopicModel(chosen, dataset.classes, vocabulary, words, eta, confusion, tasks, q, shares, np.array(bound))


def _climb(topics: Topics, settings: TopicSettings) -> list[float]:
    """The bound of every iteration, until it gains little or there were enough."""
    bound: list[float] = []
    for i in range(settings.iterations):
        bound.append(topics.step(learn_eta=i >= min(_FIRST, settings.iterations // 2)))
        if i > 2 * _FIRST and bound[-1] - bound[-2] < settings.tolerance * abs(bound[-1]):
            break
    return bound


def _texts(dataset: CrowdDataset) -> tuple[AnyArray, AnyArray]:
    """(n_tasks,) texts, and whether there is one."""
    given = given_texts(dataset, "Add a column `text` to tasks.*, or give `counts`.")
    texts = given.fillna("").astype(str).to_numpy()
    return texts, np.array([bool(text.strip()) for text in texts])
