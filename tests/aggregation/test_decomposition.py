"""The split of counts into common and own, and the names of latent classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, logit
from scipy.stats import dirichlet_multinomial as distribution

import crowdcore as cc
from crowdcore.aggregation._decomposition import (
    Priors,
    common_share,
    dirichlet_multinomial,
    evidence,
    first_groups,
    first_split,
    improve,
    is_named,
    log_prior,
    mixed,
    name_by_evenness,
    name_by_votes,
    regroup,
)
from crowdcore.data.simulate import large, synthetic

PRIORS = Priors(common=1.0, accuracy=20.0, tie=3.0, smoothing=0.05)


def crowd_counts(n_workers=12, n_classes=4, n_labels=200, groups=1, seed=0):
    """Counts of workers with common confusions (one per group), own confusions and ω, and those parameters."""
    rng = np.random.default_rng(seed)
    common, own = (flip(rng, n, n_classes) for n in (groups, n_workers))
    group = np.arange(n_workers) % groups
    omega = rng.uniform(0.3, 0.7, (n_workers, n_classes))
    rates = omega[:, :, None] * common[group] + (1 - omega[:, :, None]) * own
    counts = np.array([[rng.multinomial(n_labels, row) for row in worker] for worker in rates], float)
    return counts, common, own, omega, group


def flip(rng, n, n_classes):
    target = (np.arange(n_classes) + rng.integers(1, n_classes, (n, n_classes))) % n_classes
    return 0.3 * np.eye(n_classes) + 0.7 * np.eye(n_classes)[target]


def value(split, counts):
    return (counts * np.log(mixed(split))).sum() + log_prior(split, PRIORS)


def test_prior_density_is_that_of_beta_and_dirichlet_distributions():
    counts = crowd_counts()[0]
    one = improve(first_split(counts, 1, PRIORS), counts, PRIORS, 5)
    other = improve(one, counts, PRIORS, 5)

    def row_density(row, c, strength, mu):
        a, mistakes = row[c], np.delete(row, c)
        value = stats.beta(strength * mu, strength * (1 - mu)).logpdf(a) + np.log(a) + np.log1p(-a)  # of logit a
        return value + stats.dirichlet(np.full(3, 1.05)).logpdf(mistakes / mistakes.sum())

    def density(split):
        total = 0.0
        for c in range(4):
            total += row_density(split.common[0, c], c, 3 * 12, split.accuracy[c])
            for r in range(12):
                total += row_density(split.own[r, c], c, 20, split.accuracy[c])
                total += stats.beta(2, 1).logpdf(split.omega[r, c])
        return total

    difference = log_prior(other, PRIORS) - log_prior(one, PRIORS)
    assert difference == pytest.approx(density(other) - density(one), rel=1e-9)


def test_one_step_is_the_closed_form():
    counts = crowd_counts(5, 3)[0]
    before = first_split(counts, 1, PRIORS)
    after = improve(before, counts, PRIORS, 1)
    a = np.zeros_like(counts)
    for r, c, y in np.ndindex(counts.shape):
        from_common = before.omega[r, c] * before.common[0, c, y]
        a[r, c, y] = counts[r, c, y] * from_common / (from_common + (1 - before.omega[r, c]) * before.own[r, c, y])
    b = counts - a
    np.testing.assert_allclose(common_share(before) * counts, a)

    def check(row, taken, c, strength):
        right = (taken[c] + strength * before.accuracy[c]) / (taken.sum() + strength)
        mistakes = np.delete(taken, c) + 0.05
        assert row[c] == pytest.approx(right)
        np.testing.assert_allclose(np.delete(row, c), (1 - right) * mistakes / mistakes.sum())

    for c in range(3):
        check(after.common[0, c], a[:, c].sum(0), c, 3 * 5)
        for r in range(5):
            assert after.omega[r, c] == pytest.approx((a[r, c].sum() + 1) / (counts[r, c].sum() + 1))
            check(after.own[r, c], b[r, c], c, 20)

    def slope(c, mu):  # of the log prior in μ_c
        own, common = after.own[:, c, c], after.common[0, c, c]
        expected = {k: digamma(k * mu) - digamma(k * (1 - mu)) for k in (20, 15)}
        return 20 * (logit(own) - expected[20]).sum() + 15 * (logit(common) - expected[15])

    assert [slope(c, after.accuracy[c]) for c in range(3)] == pytest.approx([0] * 3, abs=1e-6)


@pytest.mark.parametrize("groups", [1, 3])
def test_steps_and_regrouping_never_lower_the_objective(groups):
    counts = crowd_counts(groups=groups, seed=3)[0]
    counts[0] = 0  # a worker without labels
    split = first_split(counts, groups, PRIORS)
    values = [value(split, counts)]
    for _ in range(15):
        for change in (lambda d: improve(d, counts, PRIORS, 3), lambda d: regroup(d, counts, PRIORS)):
            split = change(split)
            values.append(value(split, counts))
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_own_accuracies_are_held_together_as_far_as_the_workers_are_alike():
    rng = np.random.default_rng(0)
    by_spread = PRIORS._replace(accuracy=None)
    strengths = []
    for concentration in (1.0, 12.0, 1e6):
        rate = rng.beta(0.6 * concentration, 0.4 * concentration, (300, 1))
        right = rng.binomial(400, rate)
        counts = np.stack([np.hstack([right, 400 - right]), np.hstack([400 - right, right])], 1).astype(float)
        strengths.append(first_split(counts, 1, by_spread).strength)
    np.testing.assert_allclose(strengths[1], (12 + 1) / 4 - 1, rtol=0.3)
    assert (strengths[0] == 1).all() and (strengths[2] == 100).all()


def test_shared_mistakes_go_to_the_common_confusion_and_groups_are_found():
    counts, common, own, omega, group = crowd_counts(20, 5, 2000, groups=2, seed=5)
    split = first_split(counts, 2, PRIORS)
    for _ in range(20):
        split = regroup(improve(split, counts, PRIORS, 20), counts, PRIORS)
    same = split.group == split.group[0]
    np.testing.assert_array_equal(same, group == group[0])
    of_groups = split.common[[split.group[0], split.group[1]]]
    assert np.sqrt(((of_groups - common) ** 2).mean()) < 0.03
    apart = (own != common[group]).any(2)  # nothing tells the sources of labels from equal confusions
    assert np.sqrt(((split.omega - omega)[apart] ** 2).mean()) < 0.05


def test_first_groups_follow_the_workers_when_they_are_renumbered():
    counts = crowd_counts(15, 3, groups=3, seed=1)[0]
    new = np.random.default_rng(0).permutation(15)
    before, after = (list(first_groups(c, 3, 4)) for c in (counts, counts[new]))
    assert len(before) == 4
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one[new], other)


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
