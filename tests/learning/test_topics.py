"""MA-sLDAc: the bound, planted topics and confusions, and predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma
from scipy.stats import dirichlet
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.linear_model import LogisticRegression

from crowdcore import aggregation
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.dataset import Media
from crowdcore.learning import TopicModel, fit_topics
from crowdcore.learning.topics.classes import ClassTopics, TopicSettings
from crowdcore.learning.topics.inference import Crowd, cut_batches
from testkit.corpus import CLASSES, TOPICS, WORDS, WORKERS, Corpus, N

PRIORS = TopicSettings(n_topics=2, alpha=0.1, tau=0.05, ridge=0.01, omega=1.0)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> TopicModel:
    return fit_topics(corpus.dataset(), counts=corpus.counts, n_topics=TOPICS, iterations=60)


def test_the_bound_never_falls(corpus, model):
    assert len(model.bound) > 20
    assert (np.diff(model.bound) >= -1e-9 * np.abs(model.bound[1:])).all()
    assert model.bound[-1] > model.bound[10], "η is learnt from then on"


def test_planted_topics_and_confusions_are_found(corpus, model):
    likeness = np.corrcoef(model.topics, corpus.topics)[:TOPICS, TOPICS:]
    matched = likeness[linear_sum_assignment(-likeness)]
    assert np.sort(matched)[1:].min() > 0.9, matched
    assert np.abs(model.worker_confusion - corpus.confusion).mean() < 0.06
    assert model.worker_confusion[0, 0, 1] > 0.7 and model.worker_confusion[0, 1, 0] > 0.7


def test_classes_are_better_than_by_majority_vote_and_separate_topics(corpus, model):
    votes = aggregation.get("majority-vote").fit(corpus.dataset()).labels[:N]
    separate = LatentDirichletAllocation(TOPICS, random_state=0, max_iter=20).fit(corpus.counts[:N])
    regression = LogisticRegression().fit(separate.transform(corpus.counts[:N]), votes)
    reference = (regression.predict(separate.transform(corpus.counts[N:])) == corpus.gold[N:]).mean()
    predicted = model.predict_proba(sparse.csr_matrix(corpus.counts[N:]))
    np.testing.assert_allclose(predicted.sum(1), 1)
    assert (predicted.argmax(1) == corpus.gold[N:]).mean() > reference + 0.05
    assert (model.posterior.argmax(1) == corpus.gold[:N]).mean() > (votes == corpus.gold[:N]).mean() + 0.2


def small(corpus: Corpus) -> ClassTopics:
    """The first five documents, some steps from the start."""
    used = corpus.task < 5
    crowd = Crowd(*(torch.from_numpy(part[used]) for part in (corpus.task, corpus.worker, corpus.label)))
    q = torch.full((5, CLASSES), 1 / CLASSES, dtype=torch.float64)
    documents = cut_batches(sparse.csr_matrix(corpus.counts[:5]), torch.device("cpu"))
    topics = ClassTopics(documents, crowd, q, WORKERS, WORDS, PRIORS, (0, 0))
    topics.eta = torch.tensor([[1.0, -1.0], [0.5, 0.2], [-2.0, 0.3]], dtype=torch.float64)
    for _ in range(3):
        topics.step(learn_eta=False)
    return topics


def expected_log(parameter: np.ndarray) -> np.ndarray:
    return digamma(parameter) - digamma(parameter.sum(-1, keepdims=True))


def dirichlet_part(parameter: np.ndarray, prior: float) -> float:
    """``E log p - E log q`` of a Dirichlet, by its entropy."""
    density = dirichlet(np.full(len(parameter), prior)).logpdf(np.full(len(parameter), 1 / len(parameter)))
    constant = density + (prior - 1) * len(parameter) * np.log(len(parameter))
    return float(constant + (prior - 1) * expected_log(parameter).sum() + dirichlet(parameter).entropy())


def test_the_bound_is_the_papers(corpus):
    topics = small(corpus)
    zeta, xi, eta = topics.words.numpy().copy(), topics.confusion.numpy().copy(), topics.eta.numpy()
    bound = topics.step(learn_eta=False)  # of the documents' part, under the topics and confusions before
    expected = sum(dirichlet_part(row, PRIORS.tau) for row in zeta)
    expected += sum(dirichlet_part(row, PRIORS.omega) for row in xi.reshape(-1, CLASSES))
    expected -= PRIORS.ridge / 2 * np.square(eta).sum()
    for b, batch in enumerate(topics.documents):
        for d, number in enumerate(batch.number.tolist()):
            gamma, q, n = topics.proportions[number].numpy(), topics.q[number].numpy(), corpus.counts[number].sum()
            expected += dirichlet_part(gamma, PRIORS.alpha) - (q * np.log(q)).sum()
            product, mean = np.ones(CLASSES), np.zeros(2)
            for m, log_phi in enumerate(topics.log_phi[b][d]):
                word, count, phi = int(batch.word[d, m]), float(batch.count[d, m]), log_phi.exp().numpy()
                terms = expected_log(gamma) + expected_log(zeta)[:, word] - log_phi.numpy()
                expected += count * (phi * terms).sum()
                product *= (np.exp(eta / n) @ phi) ** count
                mean += count * phi / n
            expected += q @ eta @ mean - np.log(product.sum())
            for a in np.flatnonzero(corpus.task == number):
                expected += q @ expected_log(xi[corpus.worker[a]])[:, corpus.label[a]]
    assert bound == pytest.approx(expected, rel=1e-10)


def test_how_documents_are_batched_does_not_matter(corpus, monkeypatch):
    whole = small(corpus)
    monkeypatch.setattr("crowdcore.learning.topics.inference._CELLS", 40)
    cut = small(corpus)
    assert len(cut.documents) > len(whole.documents) == 1
    torch.testing.assert_close(cut.words, whole.words)
    torch.testing.assert_close(cut.q, whole.q)


def test_texts_are_counted_and_new_ones_classified(corpus):
    crowd = corpus.dataset()
    args = [" ".join(f"w{word}" for word in np.repeat(np.arange(WORDS), row)) for row in corpus.counts]
    dataset = replace(crowd, media=Media(columns=pd.DataFrame({"text": ["", *args[1:]]})))
    model = fit_topics(dataset, n_topics=TOPICS, starts=1, iterations=30)
    assert model.tasks.tolist() == list(range(1, N)), "the first has no text, the last are for test"
    table = model.words(5)
    assert list(table.columns) == ["topic", "share", "class", "words"] and table["share"].sum() == pytest.approx(1)
    assert all(len(words.split()) == 5 for words in table["words"])
    new = model.predict_proba([*args[N:], "nothing known"])
    assert (new[:-1].argmax(1) == corpus.gold[N:]).mean() > 0.7
    np.testing.assert_allclose(new[-1], 1 / CLASSES)


def test_what_it_cannot_learn_from_is_refused(corpus):
    crowd = corpus.dataset()
    with pytest.raises(DataError, match="texts"):
        fit_topics(crowd)
    with pytest.raises(SettingError, match="in 440 tasks"):
        fit_topics(crowd, counts=sparse.csr_matrix(corpus.counts[:5]))
    with pytest.raises(SettingError, match="n_topics"):
        fit_topics(crowd, counts=corpus.counts, n_topics=0)
    alike = pd.DataFrame({"text": [f"only{i}" for i in range(crowd.n_tasks)]})
    with pytest.raises(DataError, match="words"):
        fit_topics(replace(crowd, media=Media(columns=alike)))
