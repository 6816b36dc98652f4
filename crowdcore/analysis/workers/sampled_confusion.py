"""Intervals of each worker's confusion that include the uncertainty of the true labels, by Gibbs sampling."""

from __future__ import annotations

import numpy as np

from crowdcore.aggregation import DawidSkene
from crowdcore.analysis.workers.shared_prior import drawn_prior
from crowdcore.analysis.workers.uncertainty import ConfusionIntervals
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_PRIOR = 0.5  # Jeffreys' weight of an entry, and of the rest of its row


def sampled_confusion(
    dataset: CrowdDataset,
    *,
    known: IntArray | None = None,
    n_samples: int = 1000,
    burn_in: int = 300,
    level: float = 0.95,
    seed: int = 0,
) -> ConfusionIntervals:
    """Equal-tailed intervals of Dawid & Skene's confusions, with the true labels z drawn instead of fixed.

    Gibbs sampling draws in turn ``z_i ~ ρ_c Π_r π^r[c, y_i^r]``, the crowd's prior a of all rows (`drawn_prior`),
    ``π^r[c, ·] ~ Dirichlet(n^r[c, ·] + a[c, ·])`` and ``ρ ~ Dirichlet(n + 1)``, with n the numbers of labels under the
    drawn z, from Dawid & Skene's fit on. What workers have in common so helps to tell z, but not to tell workers: each
    kept draw of z gives an entry the posterior ``Beta(n + 1/2, rest of the row + 1/2)`` of `credible_intervals`, of
    which one draw is taken, so that the interval of a worker unlike all others is as right as theirs. It has the draws'
    quantiles. Where the label was probably never given to the class (in half of the draws of z) it begins at 0, and
    where it was probably the only one it ends at 1, as Brown, Cai & DasGupta (2001) have it for Jeffreys' interval:
    else rare mistakes would lie below all intervals. The time is that of ``n_samples + burn_in`` EM steps.

    Args:
        dataset: the annotations.
        known: (n_tasks,) classes to clamp, -1 = unknown.
        n_samples: draws that count.
        burn_in: draws before them.
        level: between 0 and 1.
        seed: of the draws.

    Raises:
        SettingError: fewer than 20 samples, or a level outside (0, 1).

    Examples:
        >>> import crowdcore as cc
        >>> found = cc.analysis.sampled_confusion(cc.load_dataset("demo"), n_samples=20, burn_in=5)
        >>> found.low.shape
        (40, 10, 10)
    """
    if not 0 < level < 1:
        raise SettingError("level", "lie between 0 and 1", level)
    if n_samples < 20:
        raise SettingError("n_samples", "be at least 20", n_samples)
    first, rng = DawidSkene().fit(dataset, known=known), np.random.default_rng(seed)
    n_tasks, n, shape = dataset.n_tasks, dataset.n_classes, (dataset.n_workers, dataset.n_classes, dataset.n_classes)
    z = _drawn(np.log(np.maximum(np.nan_to_num(first.posterior), 1e-300)), known, rng)
    labelled = np.flatnonzero(np.diff(dataset.task_start))
    draws, never, always = np.empty((n_samples, *shape)), np.zeros(shape), np.zeros(shape)
    for step in range(burn_in + n_samples):
        cell = (dataset.worker.astype(np.int64) * n + z[dataset.task]) * n + dataset.label
        counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        if step >= burn_in:
            never += counts == 0
            always += counts == counts.sum(2, keepdims=True)
            entry = rng.standard_gamma(counts + _PRIOR)
            rest = rng.standard_gamma(counts.sum(2, keepdims=True) - counts + _PRIOR)
            draws[step - burn_in] = entry / (entry + rest)
        confusion = np.log(np.maximum(rng.standard_gamma(counts + drawn_prior(counts, rng)), 1e-300))
        confusion -= np.logaddexp.reduce(confusion, axis=2, keepdims=True)
        scores = np.tile(np.log(rng.standard_gamma(np.bincount(z[labelled], minlength=n) + 1.0)), (n_tasks, 1))
        evidence = confusion[dataset.worker, :, dataset.label]
        scores[labelled] += np.add.reduceat(evidence, dataset.task_start[labelled], axis=0)
        z = _drawn(scores, known, rng)
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = np.quantile(draws, tails, axis=0, method="weibull")  # another draw lies between them with `level`
    low = np.where(never >= n_samples / 2, 0.0, low)
    high = np.where(always >= n_samples / 2, 1.0, high)
    assert first.confusion is not None
    unseen = np.isnan(first.confusion)
    how = f"{n_samples} draws of the true labels and the confusions"
    low, high = (np.where(unseen, np.nan, end) for end in (low, high))
    return ConfusionIntervals(first.method, how, level, first.confusion, low, high)


def _drawn(scores: FloatArray, known: IntArray | None, rng: np.random.Generator) -> IntArray:
    """(n_tasks,) one class per row of log scores (Gumbel's trick), or the known one."""
    z = (scores + rng.gumbel(size=scores.shape)).argmax(1)
    return z if known is None else np.where(known >= 0, known, z)
