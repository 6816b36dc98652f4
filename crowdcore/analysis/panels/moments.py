"""Correlation of judges' errors: sums over groups of items, correlations, and effective votes with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdcore.analysis.statistics import bootstrap_weights, percentile_interval
from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_MOST_JUDGES = 400
_MOST_CELLS = 4_000_000_000
_CHUNK = 4_000_000  # annotations laid out at a time
_GROUPS = 200  # of items, drawn with replacement for intervals
_ENTRIES = 40_000_000  # numbers that the groups' sums may take
_FEW = 30  # items below which a pair has no correlation
_SURE = 1e-3  # probability below which a class is not counted


def vote_table(dataset: CrowdDataset) -> AnyArray:
    """(n_tasks, n_workers) label of each judge on each item, -1 = none; the first of repeated ones.

    Raises:
        DataError: more workers than a panel has.
    """
    n, m = dataset.n_tasks, dataset.n_workers
    if m > _MOST_JUDGES or n * m > _MOST_CELLS:
        raise DataError(
            f"{dataset.name} has {m:,} workers and {n:,} tasks: a panel has at most {_MOST_JUDGES} judges",
            "Keep the judges alone, or look at the pages for workers.",
        )
    kind = np.int8 if dataset.n_classes < 128 else np.int32
    votes = np.full((n, m), -1, kind)
    for end in range(dataset.n_annotations, 0, -_CHUNK):
        some = slice(max(end - _CHUNK, 0), end)
        task, worker, label = (part[some][::-1] for part in (dataset.task, dataset.worker, dataset.label))
        votes[task, worker] = label
    return votes


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over groups of items (G); the first axis: raw, and within true classes.

    Attributes:
        product: (2, G, m, m) products of two judges' errors less their means.
        square: (2, G, m, m) squares of the first one's, over items that both judged.
        shared: (m, m) items that both judged.
        items: (G,) items of each group.
    """

    product: FloatArray
    square: FloatArray
    shared: IntArray
    items: IntArray

    def correlation(self, kind: int, weight: FloatArray | None = None) -> FloatArray:
        """(…, m, m) correlation of errors, 0 raw or 1 within classes; each group counts by its weight (…, G)."""
        w = np.ones(len(self.items), np.float32) if weight is None else np.asarray(weight, np.float32)
        product, square = (np.tensordot(w, part[kind], 1) for part in (self.product, self.square))
        both = np.asarray(square * np.swapaxes(square, -1, -2), np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where((both > 1e-9) & (self.shared >= _FEW), product / np.sqrt(both), np.nan)
        m = r.shape[-1]
        r[..., np.arange(m), np.arange(m)] = 1.0
        return np.asarray(np.clip(r, -1, 1))


def error_moments(votes: AnyArray, truth: AnyArray, seed: int = 0) -> Moments:
    """Sum the products of errors over random groups of items of equal size.

    Args:
        votes: (n, m) labels, -1 = none.
        truth: (n,) true classes, or (n, C) their probabilities; each class then counts by its probability.
        seed: of the groups.
    """
    n, m = votes.shape
    groups = int(np.clip(min(_ENTRIES // (4 * m * m), n), 2, _GROUPS))
    order = np.random.default_rng(seed).permutation(n)
    rows = [order[g::groups] for g in range(groups)]
    classes, means = _error_rates(votes, truth, rows)
    product, square = np.zeros((2, 2, groups, m, m), np.float32)
    shared = np.zeros((m, m))
    for g, some in enumerate(rows):
        labels = votes[some]
        given = (labels >= 0).astype(np.float32)
        shared += given.T @ given
        parts = [(labels != truth[some, None], classes[truth[some]], None)] if truth.ndim == 1 else []
        for c in range(truth.shape[1]) if truth.ndim > 1 else ():
            weight = truth[some, c].astype(np.float32)
            if weight.max(initial=0) > _SURE:
                parts.append((labels != c, np.full(len(some), classes[c]), weight))
        for wrong, of, weight in parts:
            for kind in (0, 1):
                off = np.where(given > 0, wrong - (means[:1] if kind == 0 else means[of]), 0).astype(np.float32)
                weighted = off if weight is None else off * weight[:, None]
                product[kind, g] += weighted.T @ off
                square[kind, g] += (weighted * off).T @ given
    return Moments(product, square, shared.astype(np.int64), np.array([len(some) for some in rows]))


def _error_rates(votes: AnyArray, truth: AnyArray, rows: Sequence[IntArray]) -> tuple[IntArray, FloatArray]:
    """Row of ``means`` of each class, and ``means`` (1 + classes, m): error rates in all, then within each class."""
    m, n_classes = votes.shape[1], int(truth.max(initial=0)) + 1 if truth.ndim == 1 else truth.shape[1]
    wrong, n = np.zeros((2, n_classes, m))
    for some in rows:
        labels = votes[some]
        for c in np.unique(truth[some]) if truth.ndim == 1 else range(n_classes):
            weight = (truth[some] == c) if truth.ndim == 1 else truth[some, c]
            given = (labels >= 0) * weight[:, None]
            n[c] += given.sum(0)
            wrong[c] += (given * (labels != c)).sum(0)
    rates = np.vstack([wrong.sum(0), wrong]) / np.maximum(np.vstack([n.sum(0), n]), 1e-9)
    return np.arange(1, n_classes + 1), rates.astype(np.float32)


def kish(correlation: FloatArray) -> FloatArray:
    """(…, m, m) -> (…) ``m / (1 + (m - 1) ρ)``: independent votes that vary as much as the panel's mean; ρ ≥ 0."""
    m = correlation.shape[-1]
    return np.asarray(m / (1 + (m - 1) * np.maximum(mean_correlation(correlation), 0)))


def mean_correlation(correlation: FloatArray) -> FloatArray:
    """(…, m, m) -> (…) mean over the pairs whose correlation is known; 0 where none is."""
    m = correlation.shape[-1]
    pairs = correlation[..., *np.triu_indices(m, 1)]
    known = ~np.isnan(pairs)
    return np.asarray(np.where(known, pairs, 0).sum(-1) / np.maximum(known.sum(-1), 1))


def participation(correlation: FloatArray) -> FloatArray:
    """(…, m, m) -> (…) ``(Σ λ)² / Σ λ²`` of the eigenvalues: directions in which the errors vary."""
    mean = np.asarray(mean_correlation(correlation))[..., None, None]
    values = np.linalg.eigvalsh(np.where(np.isnan(correlation), mean, correlation)).clip(0)
    return np.asarray(values.sum(-1) ** 2 / (values**2).sum(-1))


@dataclass(frozen=True)
class EffectiveVotes:
    """Number of independent votes that a panel counts as.

    Attributes:
        errors: raw, or within true classes.
        truth: what counted as the truth.
        kish, kish_low, kish_high: by the mean correlation, with its 95 % interval over items; NaN, as the others, where
            no two judges have errors on 30 items of both.
        participation, participation_low, participation_high: by the eigenvalues.
    """

    errors: str
    truth: str
    kish: float
    kish_low: float
    kish_high: float
    participation: float
    participation_low: float
    participation_high: float


KINDS = ("raw", "within classes")


def effective_votes(
    moments: Moments, truth: str, n_resamples: int = 200, seed: int = 0
) -> tuple[EffectiveVotes, EffectiveVotes]:
    """Count effective votes raw and within classes, with percentile intervals of resampled groups of items.

    Noise lowers the participation ratio, and that of resamples twice, so its interval is shifted by the difference.
    """
    groups, m = len(moments.items), len(moments.shared)
    step = max(1, 20_000_000 // (m * m))
    weight = bootstrap_weights(np.ones(groups, np.int64), n_resamples, np.random.default_rng(seed)).T
    votes = []
    for kind, name in enumerate(KINDS):
        r = moments.correlation(kind)
        if np.isnan(r[np.triu_indices(m, 1)]).all():
            votes.append(EffectiveVotes(name, truth, *[np.nan] * 6))
            continue
        drawn = [moments.correlation(kind, weight[at : at + step]) for at in range(0, n_resamples, step)]
        numbers: list[float] = []
        for measure in (kish, participation):
            value = float(measure(r))
            samples = np.concatenate([measure(part) for part in drawn])
            low, high = percentile_interval(samples + value - np.median(samples), 0.95)
            numbers += [value, float(np.clip(low, 1, value)), float(np.clip(high, value, m))]
        votes.append(EffectiveVotes(name, truth, *numbers))
    return votes[0], votes[1]
