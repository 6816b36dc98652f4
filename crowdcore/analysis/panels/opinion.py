"""What verdicts alone say of a panel: one opinion by degrees or two classes, and between what its votes lie."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crowdcore import aggregation
from crowdcore.analysis.panels.moments import EffectiveVotes, effective_votes, error_moments
from crowdcore.core.em import LabelTable, em_step
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

MANY = 3.0
"""Nats from which one of the two models is surely better."""
_MOST = 500_000  # annotations that are fitted, those of evenly spaced items

_ONE = (
    "Without gold, one opinion by degrees explains the verdicts better than two classes with independent mistakes (by "
    "{:,.0f} nats): these are not {} independent votes. Judges err together, or the same items are hard for all."
)
_TWO = (
    "Without gold, two classes with independent mistakes explain the verdicts better than one opinion by degrees (by "
    "{:,.0f} nats): no opinion was seen that makes all err together. Mistakes of a few judges, or of nearly all on the "
    "same items, would not show."
)
_NEITHER = (
    "Verdicts without gold are too few to tell one opinion by degrees from two classes with independent mistakes."
)


class Opinion(NamedTuple):
    """One trait of the verdicts, fitted without gold.

    Attributes:
        gain: log-likelihood of one trait less that of two classes with independent mistakes, in nats.
        items: (n,) numbers of the items that were fitted.
        posterior: (n, 2) by the aggregator `trait`.
    """

    gain: float
    items: IntArray
    posterior: FloatArray


def one_opinion(dataset: CrowdDataset) -> Opinion | None:
    """Compare one trait with Dawid & Skene's two classes; None where there are more classes or fewer.

    Both have two numbers for each judge. Items that differ in how hard they are for all make one trait likelier, and
    so do mistakes that several share; mistakes that all share look like the truth.
    """
    if dataset.n_classes != 2:
        return None
    items = np.arange(0, dataset.n_tasks, -(-dataset.n_annotations // _MOST))
    items = items[dataset.annotated[items]]
    some = take_tasks(dataset, items)
    trait = aggregation.get("trait").fit(some)
    smoothing = {"smoothing": 0.5, "prior_smoothing": 0.5, "max_iterations": 300, "tolerance": 1e-7}
    classes = aggregation.get("dawid-skene", **smoothing).fit(some)
    assert classes.confusion is not None and classes.prior is not None
    given = np.log(np.nan_to_num(classes.confusion, nan=0.5)).transpose(0, 2, 1).reshape(-1, 2)
    table = LabelTable.of(some.task_start, some.worker, some.label, some.n_workers, 2)
    two = em_step(table, given, np.log(classes.prior), np.empty((some.n_tasks, 2))).log_likelihood
    return Opinion(float(trait.log_likelihood[-1]) - two, items, trait.posterior)


def votes_alone(
    table: AnyArray, items: IntArray, truth: FloatArray, name: str, opinion: Opinion | None, n_resamples: int, seed: int
) -> tuple[EffectiveVotes, ...]:
    """Effective votes without gold, with the range that verdicts leave open in the place of the interval.

    At its low end, agreement is no sign of the truth: errors are as correlated as the verdicts. At its high end, the
    inferred label is the truth. In between, an item has its class with the inferred probability: `trait`'s where one
    opinion explains the verdicts better than two classes, else that of the reference.

    Args:
        table: (n_tasks, m) labels, -1 = none.
        items: (n,) numbers of the items whose class was inferred.
        truth: (n, C) inferred probabilities.
        name: of who inferred them.
        opinion: what `one_opinion` found.
        n_resamples, seed: of the intervals at both ends.
    """
    if opinion is not None and opinion.gain > MANY:
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


def opinion_notes(gain: float, n_judges: int) -> tuple[str, ...]:
    """What a gain in log-likelihood says of the judges, in words; nothing of NaN."""
    if np.isnan(gain):
        return ()
    if abs(gain) <= MANY:
        return (_NEITHER,)
    return ((_ONE if gain > 0 else _TWO).format(abs(gain), n_judges),)
