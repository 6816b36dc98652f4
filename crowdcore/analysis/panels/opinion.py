"""Analyse a panel without gold: one graded opinion or two classes, and bounds on its effective votes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import log_softmax

from crowdcore import aggregation
from crowdcore.analysis.panels.moments import EffectiveVotes, effective_votes, error_moments
from crowdcore.core.em import LabelTable, em_step
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

MANY = 3.0
"""Nats from which one of the two models is surely better."""
SURE = 5.0
"""Nats from which items are surely hard for all: by chance, a nested model gains as much once in 1,000 times."""
_MOST = 500_000  # annotations that are fitted, those of evenly spaced items
_MOST_OF_MANY = 100_000  # of more than two classes
_EASE, _CHANCE = hermegauss(5)  # ease of an item in standard deviations, and its log probability
_CHANCE = np.log(_CHANCE / _CHANCE.sum())
_SPREADS = 0.0, 1.0, 2.0  # standard deviations of the ease, in logits
_ROUNDS = 40

_ONE = (
    "Without gold, one opinion by degrees explains the verdicts better than two classes with independent mistakes (by "
    "{:,.0f} nats): these are not {} independent votes. Judges err together, or the same items are hard for all."
)
_TWO = (
    "Without gold, two classes with independent mistakes explain the verdicts better than one opinion by degrees (by "
    "{:,.0f} nats): no opinion was seen that makes all err together. Mistakes of a few judges, or of nearly all on the "
    "same items, would not show."
)
_HARD = (
    "Without gold, items that are hard for all judges at once explain the verdicts better than independent mistakes "
    "(by {:,.0f} nats): these are not {} independent votes."
)
_NOT_HARD = (
    "Verdicts without gold do not show that judges err together. Mistakes of a few judges, or of nearly all on the "
    "same items, would not show."
)
_NEITHER = (
    "Verdicts without gold are too few to tell one opinion by degrees from two classes with independent mistakes."
)


class Opinion(NamedTuple):
    """Results of the analysis without gold.

    Attributes:
        gain: with two classes, the log-likelihood of one trait less that of two classes with independent mistakes, in
            nats; with more, that of items which are hard for all less that of independent mistakes.
        items: (n,) numbers of the fitted items.
        posterior: (n, C) by the aggregator `trait`; with more than two classes, by Dawid & Skene's.
    """

    gain: float
    items: IntArray
    posterior: FloatArray


def one_opinion(dataset: CrowdDataset) -> Opinion | None:
    """Compare one trait, or items that are hard for all, with Dawid & Skene's classes; None if there is one class.

    With two classes, both models have two parameters for each judge. With more, one more is fitted: the spread of the
    items' difficulty for all. Mistakes that several judges share make that likelier, too; mistakes that all share look
    like the truth.
    """
    n_classes = dataset.n_classes
    if n_classes < 2:
        return None
    items = np.arange(0, dataset.n_tasks, -(-dataset.n_annotations // (_MOST if n_classes == 2 else _MOST_OF_MANY)))
    items = items[dataset.annotated[items]]
    sample = take_tasks(dataset, items)
    smoothing = {"smoothing": 0.5, "prior_smoothing": 0.5, "max_iterations": 300, "tolerance": 1e-7}
    classes = aggregation.get("dawid-skene", **smoothing).fit(sample)
    assert classes.confusion is not None and classes.prior is not None
    given, prior = np.log(np.nan_to_num(classes.confusion, nan=1 / n_classes)), np.log(classes.prior)
    table = LabelTable.of(sample.task_start, sample.worker, sample.label, sample.n_workers, n_classes)
    if n_classes > 2:
        likelihoods = [_hard_for_all(table, given, prior, spread) for spread in _SPREADS]
        return Opinion(max(likelihoods) - likelihoods[0], items, classes.posterior)
    trait = aggregation.get("trait").fit(sample)
    given = given.transpose(0, 2, 1).reshape(-1, 2)
    two = em_step(table, given, prior, np.empty((sample.n_tasks, 2))).log_likelihood
    return Opinion(float(trait.log_likelihood[-1]) - two, items, trait.posterior)


def _hard_for_all(table: LabelTable, given: FloatArray, prior: FloatArray, spread: float) -> float:
    """Log-likelihood of Dawid & Skene's model where an item's ease ``θ ~ N(0, spread²)`` adds to all judges' logits.

    ``P(y_i^r = c | z_i = k) ∝ π^r[k, c] exp(θ_i [c = k])``; by EM, π by iterative scaling.

    Args:
        table: the labels.
        given: (R, C, C) log π to start from, row = true class.
        prior: (C,) log probability of each class.
        spread: 0: independent mistakes.
    """
    shape, value = given.shape, 0.0
    easier = np.eye(shape[1])[:, :, None] * spread * _EASE
    posterior = np.empty((table.n_tasks, shape[1] * len(_EASE)))
    for _ in range(_ROUNDS):
        rates = log_softmax(given[..., None] + easier, axis=2)
        log_given = rates.transpose(0, 2, 1, 3).reshape(table.n_cells, -1)
        sums = em_step(table, log_given, np.add.outer(prior, _CHANCE).ravel(), posterior)
        value = sums.log_likelihood
        counts = sums.counts.reshape(*shape, -1).transpose(0, 2, 1, 3)
        expected = (counts.sum(2, keepdims=True) * np.exp(rates)).sum(3)
        given = given + np.log((counts.sum(3) + 0.5) / (expected + 0.5))
        prior = np.log(sums.classes.reshape(shape[1], -1).sum(1) + 0.5)
        prior = prior - np.log(np.exp(prior).sum())
    return value


def votes_alone(
    table: AnyArray, items: IntArray, truth: FloatArray, name: str, opinion: Opinion | None, n_resamples: int, seed: int
) -> tuple[EffectiveVotes, ...]:
    """Count effective votes without gold, with the range that verdicts leave open instead of an interval.

    At its low end, agreement is no sign of the truth: errors are as correlated as the verdicts. At its high end, the
    inferred label is the truth. In between, an item has its class with the inferred probability: that of `trait` if one
    opinion explains the verdicts better than two classes, else that of the reference.

    Args:
        table: (n_tasks, m) labels, -1 = none.
        items: (n,) numbers of the items whose class was inferred.
        truth: (n, C) inferred probabilities.
        name: of the method that inferred them.
        opinion: result of `one_opinion`.
        n_resamples, seed: of the intervals at both ends.
    """
    if opinion is not None and opinion.gain > MANY and truth.shape[1] == 2:
        items, truth, name = opinion.items, opinion.posterior, "trait"
    votes, share = table[items], np.tile(truth.mean(0), (len(truth), 1))
    every = [
        effective_votes(error_moments(votes, of, seed), name, n_resamples, seed)
        for of in (truth, share, truth.argmax(1))
    ]
    return tuple(
        replace(
            kinds[0],
            kish_low=float(np.fmin.reduce([one.kish_low for one in kinds])),
            kish_high=float(np.fmax.reduce([one.kish_high for one in kinds])),
            participation_low=float(np.fmin.reduce([one.participation_low for one in kinds])),
            participation_high=float(np.fmax.reduce([one.participation_high for one in kinds])),
        )
        for kinds in zip(*every, strict=True)
    )


def opinion_notes(gain: float, n_judges: int, n_classes: int) -> tuple[str, ...]:
    """Sentences about a gain in log-likelihood; none for NaN."""
    if np.isnan(gain):
        return ()
    if n_classes > 2:
        return (_HARD.format(gain, n_judges) if gain > SURE else _NOT_HARD,)
    if abs(gain) <= MANY:
        return (_NEITHER,)
    return ((_ONE if gain > 0 else _TWO).format(abs(gain), n_judges),)
