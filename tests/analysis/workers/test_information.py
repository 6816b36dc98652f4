"""Bits per label and the test of random answers: independent oracles, and what guessing workers get."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import entr
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from crowdcore.analysis.workers.quality import independence_p_value, information


def tables(rng, confusion, n_labels, n_workers, spread=4.0):
    n_classes = len(confusion)
    mixes = rng.dirichlet(np.full(n_classes, spread), n_workers)
    return np.stack(
        [[rng.multinomial(n, confusion[a]) for a, n in enumerate(rng.multinomial(n_labels, mix))] for mix in mixes]
    ).astype(float)


def annotations(table):
    true, given = np.nonzero(table)
    times = table[true, given].astype(int)
    return np.repeat(true, times), np.repeat(given, times)


def test_the_adjustment_is_that_of_the_adjusted_mutual_information():
    """With a worker's own class shares as prior: (MI - E[MI]) / (H - E[MI]) of scikit-learn, times H."""
    rng = np.random.default_rng(0)
    for table in tables(rng, 0.5 * np.eye(4) + 0.125, 25, 20):
        n = table.sum(1)
        true, given = annotations(table)
        shares = n / n.sum()
        contingency = table[n > 0][:, table.sum(0) > 0].astype(np.int64)
        by_chance = expected_mutual_information(contingency, int(n.sum()))
        limit = entr(shares).sum()
        expected = limit * (mutual_info_score(true, given) - by_chance) / (limit - by_chance)
        bits, most = information(table[None], shares)
        assert most[0] == pytest.approx(limit / np.log(2))
        assert bits[0] == pytest.approx(max(expected, 0) / np.log(2), abs=1e-9)


def test_guessing_is_worth_nothing_and_knowing_everything_at_any_number_of_labels():
    rng = np.random.default_rng(1)
    prior = np.full(8, 1 / 8)
    for n_labels in (20, 60, 400, 4000):
        guess = information(tables(rng, np.full((8, 8), 1 / 8), n_labels, 300), prior)[0]
        know = information(tables(rng, np.eye(8), n_labels, 300), prior)
        assert guess.mean() < 8 / n_labels + 0.01
        np.testing.assert_allclose(know[0], know[1], atol=1e-9)


def test_bits_of_an_ordinary_worker_are_less_biased_than_the_plain_ones():
    rng = np.random.default_rng(2)
    confusion = 0.7 * np.eye(6) + 0.05
    prior = rng.dirichlet(np.full(6, 8))

    def plain(rows):
        return (entr(prior @ rows).sum(-1) - entr(rows).sum(-1) @ prior) / np.log(2)

    truth = plain(confusion)
    for n_labels, within in ((100, 0.15), (300, 0.06), (3000, 0.02)):
        counts = tables(rng, confusion, n_labels, 400, spread=20)
        bias = np.nanmean(information(counts, prior)[0]) - truth
        seen = (counts.sum(2) > 0).all(1)
        plain_bias = plain(counts[seen] / counts[seen].sum(2, keepdims=True)).mean() - truth
        assert abs(bias) < within
        assert abs(bias) < 0.75 * plain_bias


def test_too_little_evidence_is_nan():
    table = np.zeros((3, 3, 3))
    table[0, 0, 0] = 5  # one class met
    table[1, [0, 1], [0, 1]] = 1  # two labels, each once: any other assignment tells as much
    bits, limit = information(table, np.full(3, 1 / 3))
    assert np.isnan(bits).all() and np.isnan(limit).all()


def test_p_values_of_guessing_workers_are_uniform_even_in_sparse_tables():
    rng = np.random.default_rng(3)
    for n_labels, n_classes in ((20, 6), (50, 8), (300, 4)):
        label_shares = rng.dirichlet(np.full(n_classes, 2))
        p = independence_p_value(tables(rng, np.tile(label_shares, (n_classes, 1)), n_labels, 2000))
        for level in (0.5, 0.1, 0.05, 0.01):
            assert np.nanmean(p <= level) == pytest.approx(level, abs=3.5 * np.sqrt(level * (1 - level) / 2000) + 0.005)


def test_moments_of_the_test_are_those_of_dealing_the_labels_out():
    rng = np.random.default_rng(4)
    table = tables(rng, 0.4 * np.eye(4) + 0.15, 24, 1)[0]
    true, given = annotations(table)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    observed = ((table - expected) ** 2 / expected).sum()
    dealt = np.zeros((20_000, 4, 4))
    for k in range(len(dealt)):
        np.add.at(dealt[k], (true, rng.permutation(given)), 1)
    share = (((dealt - expected) ** 2 / expected).sum((1, 2)) >= observed - 1e-9).mean()
    assert independence_p_value(table[None])[0] == pytest.approx(share, abs=0.02)


def test_one_answer_shows_nothing():
    table = np.zeros((2, 3, 3))
    table[0, :, 1] = 10  # the same answer to everything
    table[1, 0] = 5  # one class only
    p = independence_p_value(table)
    assert p[0] == 1.0 and np.isnan(p[1])
