"""Names of latent classes: evidence against sampling, and when a name is given up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial as distribution

import crowdcore as cc
from crowdcore.aggregation._decomposition import (
    dirichlet_multinomial,
    evidence,
    is_named,
    name_by_evenness,
    name_by_votes,
)
from crowdcore.data.simulate import large, synthetic


def test_dirichlet_multinomial_finds_the_likelihood_of_the_truth():
    rng = np.random.default_rng(0)
    alpha = np.array([4.0, 1.0, 2.0])
    counts = np.array([rng.multinomial(60, p) for p in rng.dirichlet(alpha, 200)])
    arranged = sum(distribution.logpmf(row, alpha, 60) for row in counts)
    log_choose = sum(distribution.logpmf(row, np.ones(3), 60) for row in counts) - dirichlet_value(counts, np.ones(3))
    truth = arranged - log_choose
    value, concentration = dirichlet_multinomial(counts.astype(float))
    assert value == pytest.approx(truth, abs=3)
    assert concentration == pytest.approx(alpha.sum(), rel=0.3)


def dirichlet_value(counts, alpha):
    """Log-probability of the labels in one order, by the Pólya urn."""
    value = 0.0
    for row in counts:
        urn = alpha.copy()
        for c, n in enumerate(row):
            for _ in range(n):
                value += np.log(urn[c] / urn.sum())
                urn[c] += 1
    return value


def test_evenly_given_labels_are_truths():
    """20 workers, class 0: everyone gives label 0 at 0.3; label 1 is the frequent mistake, uneven; others are rare."""
    rng = np.random.default_rng(1)
    share = rng.beta(2, 2, 20)
    rates = np.stack([np.full(20, 0.3), 0.7 * share, 0.7 * (1 - share)], 1)
    counts = np.array([rng.multinomial(150, p) for p in rates]).astype(float)
    assert counts[:, 1].sum() > counts[:, 0].sum()
    assert evidence(counts, 0) > max(evidence(counts, 1), evidence(counts, 2)) + 5


def test_names_follow_the_votes_or_the_evidence():
    swapped = np.zeros((6, 3, 3))
    swapped[:] = 10 * np.eye(3)[[1, 2, 0]]
    assert name_by_votes(swapped).tolist() == [1, 2, 0]
    assert not is_named(swapped)
    assert is_named(swapped[:, np.argsort([1, 2, 0])])
    truth = synthetic(seed=1, pattern="symmetric", common_strength=0.7, proportion=0.5, n_tasks=6000)
    counts = np.zeros((truth.n_workers, 6, 6))
    np.add.at(counts, (truth.worker, truth.gold[truth.task], truth.label), 1)
    partner = truth.truth.common_confusion.argmax(1)
    misnamed = counts[:, np.argsort(partner)]  # each class called what most workers take it for
    assert name_by_evenness(misnamed, 5.0).tolist() == partner.tolist()
    assert name_by_evenness(counts, 5.0).tolist() == list(range(6))
    assert name_by_evenness(misnamed, 1e6).tolist() == list(range(6)), "no evidence overcomes such doubt"


def test_ordinary_crowds_keep_their_names(data_folder):
    crowds = [large(n_tasks=3000, n_workers=60, n_classes=6, seed=s) for s in range(3)]
    for crowd in [*crowds, *map(cc.load_dataset, ("labelme", "music", "leaves", "cifar10s"))]:
        counts = cc.aggregation.get("dawid-skene").fit(crowd).counts
        assert name_by_evenness(counts, 5.0).tolist() == list(range(crowd.n_classes))
