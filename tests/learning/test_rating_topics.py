"""MA-sLDAr: the bound, planted topics, biases and precisions, and predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from scipy.stats import norm

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.dataset import Media
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning import RatingTopicModel, fit_rating_topics
from crowdcore.learning.topics.inference import Crowd, Documents, cut_batches
from crowdcore.learning.topics.ratings import RatingTopics, RatingTopicSettings
from tests.learning.test_topics import dirichlet_part, expected_log

N, N_TEST, TOPICS, WORDS, PER_TASK = 240, 200, 4, 100, 3
BIAS = np.array([-0.3, 0.3, 0.0, 0.1, -0.1, 0.0])
SD = np.array([0.05, 0.05, 0.4, 0.1, 0.1, 0.2])
SHRINKAGE, STRENGTH = 2.0, 5.0
PRIORS = RatingTopicSettings(
    n_topics=2, alpha=0.1, tau=0.05, ridge=0.1, bias_shrinkage=SHRINKAGE, precision_shrinkage=STRENGTH
)


class Corpus:
    """Documents, true ratings and a crowd's ratings drawn from the model."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.topics = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
        self.weights = np.array([-1.0, -0.3, 0.4, 1.2])
        shares = rng.dirichlet(np.full(TOPICS, 0.4), N + N_TEST)
        self.counts = rng.multinomial(60, shares @ self.topics)
        self.gold = shares @ self.weights + rng.normal(0, 0.1, N + N_TEST)
        self.task = np.repeat(np.arange(N), PER_TASK)
        self.worker = np.concatenate([np.sort(rng.permutation(len(BIAS))[:PER_TASK]) for _ in range(N)])
        self.rating = rng.normal(self.gold[self.task] + BIAS[self.worker], SD[self.worker])

    def dataset(self) -> RatingDataset:
        ids = pd.Index([f"t{i:03d}" for i in range(N + N_TEST)])
        workers = pd.Index([f"w{r}" for r in range(len(BIAS))])
        split = np.where(np.arange(N + N_TEST) < N, 0, 2)
        return RatingDataset(
            "corpus", -4, 4, ids, workers, self.task, self.worker, self.rating, gold=self.gold, split=split
        )


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> RatingTopicModel:
    return fit_rating_topics(corpus.dataset(), counts=corpus.counts, n_topics=TOPICS, iterations=60, tolerance=0)


def test_the_bound_never_falls(model):
    assert len(model.bound) == 60
    assert (np.diff(model.bound) >= -1e-9 * np.abs(model.bound[1:])).all()
    assert model.bound[-1] > model.bound[10]


def test_planted_biases_and_precisions_are_found(model):
    np.testing.assert_allclose(model.bias - model.bias.mean(), BIAS - BIAS.mean(), atol=0.1)
    assert np.corrcoef(np.log(model.precision), -2 * np.log(SD))[0, 1] > 0.9
    assert np.sort(model.words()["rating"]).tolist() == model.words()["rating"].tolist()


def test_the_truth_is_nearer_than_mean_ratings_and_new_texts_are_rated(corpus, model):
    means = np.bincount(corpus.task, corpus.rating) / PER_TASK
    gold = corpus.gold[:N]
    assert np.square(model.mean - gold).mean() < 0.5 * np.square(means - gold).mean()
    inside = np.abs(model.mean - gold) < 3 * model.sd + 0.2
    assert inside.mean() > 0.95
    predicted = model.predict(sparse.csr_matrix(corpus.counts[N:]))
    left = np.square(predicted - corpus.gold[N:]).mean()
    assert 1 - left / corpus.gold[N:].var() > 0.8


def parts(corpus: Corpus, documents: int) -> tuple[list[Documents], Crowd]:
    """The first documents and their ratings."""
    used = corpus.task < documents
    crowd = Crowd(*(torch.from_numpy(part[used]) for part in (corpus.task, corpus.worker, corpus.rating)))
    return cut_batches(sparse.csr_matrix(corpus.counts[:documents]), torch.device("cpu")), crowd


def small(corpus: Corpus, documents: int = 5) -> RatingTopics:
    """The first documents, some steps from the start."""
    topics = RatingTopics(*parts(corpus, documents), len(BIAS), WORDS, PRIORS, (0, 0))
    topics.eta = torch.tensor([0.7, -1.1], dtype=torch.float64)
    topics.noise = torch.tensor(0.3, dtype=torch.float64)
    for _ in range(3):
        topics.step(learn_eta=False)
    return topics


def moments(topics: RatingTopics, b: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """``E z̄`` and ``E z̄ z̄ᵀ`` of a document, over its positions one by one."""
    batch = topics.documents[b]
    phi = np.repeat(topics.log_phi[b][d].exp().numpy(), batch.count[d].long().numpy(), 0)
    total, n = phi.sum(0), len(phi)
    crossed = np.outer(total, total) - phi.T @ phi + np.diag(total)
    return total / n, crossed / n**2


def test_the_bound_is_the_papers(corpus):
    topics = small(corpus)
    zeta, eta, noise = topics.words.numpy().copy(), topics.eta.numpy(), float(topics.noise)
    bias, precision, centre = topics.bias.numpy(), topics.precision.numpy(), float(topics.centre)
    bound = topics.step(learn_eta=False)  # of the documents' part, under the topics and workers before
    expected = sum(dirichlet_part(row, PRIORS.tau) for row in zeta)
    drawn = SHRINKAGE * bias**2 + STRENGTH * float(topics.pooled)
    expected += ((STRENGTH + 1) * np.log(precision) - precision * drawn).sum() / 2
    expected -= (2 * np.log(noise) + PRIORS.ridge * (eta @ eta) / noise) / 2
    for b, batch in enumerate(topics.documents):
        for d, number in enumerate(batch.number.tolist()):
            gamma, m, v = topics.proportions[number].numpy(), float(topics.mean[number]), float(topics.variance[number])
            expected += dirichlet_part(gamma, PRIORS.alpha)
            for w, log_phi in enumerate(topics.log_phi[b][d]):
                word, count, phi = int(batch.word[d, w]), float(batch.count[d, w]), log_phi.exp().numpy()
                terms = expected_log(gamma) + expected_log(zeta)[:, word] - log_phi.numpy()
                expected += count * (phi * terms).sum()
            mean, crossed = moments(topics, b, d)
            square = m**2 + v - 2 * m * (eta @ mean) + eta @ crossed @ eta
            expected += -np.log(2 * np.pi * noise) / 2 - square / (2 * noise) + norm(scale=v**0.5).entropy()
            for a in np.flatnonzero(corpus.task == number):
                r = corpus.worker[a]
                off = corpus.rating[a] - centre - m - bias[r]
                expected += np.log(precision[r] / (2 * np.pi)) / 2 - precision[r] * (off**2 + v) / 2
    assert bound == pytest.approx(expected, rel=1e-10)


def test_the_regression_and_its_noise_are_those_of_the_moments(corpus):
    topics = small(corpus)
    topics.learn_eta()
    crossed, target, square = PRIORS.ridge * np.eye(2), np.zeros(2), 0.0
    for b, batch in enumerate(topics.documents):
        for d, number in enumerate(batch.number.tolist()):
            mean, second = moments(topics, b, d)
            m, v = float(topics.mean[number]), float(topics.variance[number])
            crossed, target, square = crossed + second, target + m * mean, square + m**2 + v
    eta = np.linalg.solve(crossed, target)
    np.testing.assert_allclose(topics.eta.numpy(), eta)
    noise = (square - 2 * eta @ target + eta @ crossed @ eta) / (5 + 2)
    assert float(topics.noise) == pytest.approx(noise)


def test_slopes_are_those_of_the_bound(corpus):
    topics = small(corpus)
    phi = topics.log_phi[0].exp().requires_grad_()
    value, slopes = topics.bound_of_phi(0, phi)
    (gradient,) = torch.autograd.grad(value.sum(), phi)
    torch.testing.assert_close(gradient, slopes() * topics.documents[0].count.unsqueeze(-1))


def test_texts_are_counted_and_new_ones_rated(corpus):
    crowd = corpus.dataset()
    args = [" ".join(f"w{word}" for word in np.repeat(np.arange(WORDS), row)) for row in corpus.counts]
    dataset = replace(crowd, media=Media(columns=pd.DataFrame({"text": ["", *args[1:]]})))
    model = fit_rating_topics(dataset, n_topics=TOPICS, starts=1, iterations=30)
    assert model.tasks.tolist() == list(range(1, N)), "the first has no text, the last are for test"
    table = model.words(5)
    assert list(table.columns) == ["topic", "share", "rating", "words"] and table["share"].sum() == pytest.approx(1)
    assert np.corrcoef(model.predict(args[N:]), corpus.gold[N:])[0, 1] > 0.8
    assert model.predict(["nothing known"])[0] == pytest.approx(model.centre)


def test_a_worker_without_training_ratings_is_unknown(corpus):
    crowd = corpus.dataset()
    model = fit_rating_topics(crowd.where(crowd.worker != 2), counts=corpus.counts, n_topics=2, starts=1, iterations=3)
    assert np.isnan(model.bias).tolist() == np.isnan(model.precision).tolist() == [r == 2 for r in range(len(BIAS))]


def test_what_it_cannot_learn_from_is_refused(corpus):
    crowd = corpus.dataset()
    with pytest.raises(DataError, match="has no texts"):
        fit_rating_topics(crowd)
    with pytest.raises(SettingError, match="in 440 tasks"):
        fit_rating_topics(crowd, counts=sparse.csr_matrix(corpus.counts[:5]))
    with pytest.raises(DataError, match="only 1 annotated training task"):
        fit_rating_topics(crowd.where(crowd.task == 0), counts=corpus.counts)


def test_topics_begin_with_texts_of_like_ratings(corpus):
    topics = RatingTopics(*parts(corpus, N), len(BIAS), WORDS, PRIORS.model_copy(update={"n_topics": 4}), (0, 0))
    assert (np.diff(topics.eta.numpy()) > 0.1).all()
    assert float(topics.words.sum()) == pytest.approx(corpus.counts[:N].sum() + 4 * WORDS * PRIORS.tau)
    ratio = topics.words / topics.words.sum(1, keepdim=True)
    share = corpus.counts[:N] / corpus.counts[:N].sum(1, keepdims=True)
    nearest = (share @ ratio.log().numpy().T).argmax(1)
    assert np.corrcoef(topics.eta.numpy()[nearest], topics.mean.numpy())[0, 1] > 0.7


def test_rare_words_do_not_say_how_new_texts_are_rated(corpus):
    rng = np.random.default_rng(1)
    rare = [" ".join(f"rare{word}" for word in rng.integers(0, 4000, 40)) for _ in corpus.counts]
    args = [" ".join(f"w{word}" for word in np.repeat(np.arange(WORDS), row // 4)) for row in corpus.counts]
    texts = pd.DataFrame({"text": [f"{one} {other}" for one, other in zip(args, rare, strict=True)]})
    dataset, gold = replace(corpus.dataset(), media=Media(columns=texts)), corpus.gold[N:]
    share = []
    for least in (0.0, 0.03):
        model = fit_rating_topics(dataset, n_topics=TOPICS, starts=1, least_share=least)
        share.append(1 - np.square(model.predict(texts["text"][N:]) - gold).mean() / gold.var())
    assert share[0] < 0.5 < 0.8 < share[1]


def test_words_of_few_texts_are_left_out(corpus):
    texts = ["rare common", "rare common", *["common"] * 8, *["usual"] * (N + N_TEST - 10)]
    dataset = replace(corpus.dataset(), media=Media(columns=pd.DataFrame({"text": texts})))
    known = [fit_rating_topics(dataset, n_topics=2, starts=1, least_share=s).vocabulary.tolist() for s in (0, 0.01)]
    assert known == [["common", "rare"], ["common"]], "usual is in more than half of the texts"
