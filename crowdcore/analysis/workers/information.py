"""Mutual information between a worker's labels and the truth, with a test of independence."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, gammaincc, gammaln

from crowdcore.core.types import FloatArray, IntArray

_SUMMED = 50.0  # mean count up to which an expectation is summed exactly


def information(counts: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mutual information of truth and label in bits, adjusted for chance, and the most it could be.

    ``I = H(Σ_a ρ_a π_a) - Σ_a ρ_a H(π_a)`` with the rows π_a of a worker's confusion as counted and the prior ρ over
    the classes that the worker met. Counted from few labels, I is far above 0 even for a worker who guesses; its
    expectation E under guessing (the labels dealt out at random over the worker's tasks: hypergeometric counts, as
    in the adjusted mutual information of Vinh, Epps & Bailey 2010) is known, and taken out:
    ``H(ρ) (I - E) / (H(ρ) - E)``, cut to 0 … H(ρ). The mean over guessing workers is then near 0 and a perfect
    worker's H(ρ) at any number of labels.

    Args:
        counts: (n_workers, C, C) annotations, row = true class.
        prior: (C,) class shares ρ.

    Returns:
        (n_workers,) bits, and (n_workers,) H(ρ) over the classes met. NaN where fewer than two classes were met or
        the labels are too few to tell a guess from knowledge (H(ρ) = E).
    """
    n, k = counts.sum(2), counts.sum(1)
    total = n.sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(n > 0, prior, 0)
        weight /= weight.sum(1, keepdims=True)
        rows = np.where(n[:, :, None] > 0, counts / n[:, :, None], 0)
        mixed = np.einsum("ra,rab->rb", weight, rows)
        seen = entr(mixed).sum(1) - (weight * entr(rows).sum(2)).sum(1)
        by_chance = _chance_information(n, k, total, weight)
        limit = entr(weight).sum(1)
        room = limit - by_chance
        adjusted = np.clip(limit * (seen - by_chance) / room, 0, limit)
    tellable = ((n > 0).sum(1) > 1) & (room > 1e-9)
    return np.where(tellable, adjusted, np.nan) / np.log(2), np.where(tellable, limit, np.nan) / np.log(2)


def _chance_information(n: FloatArray, k: FloatArray, total: FloatArray, weight: FloatArray) -> FloatArray:
    """(n_workers,) expected plug-in information (nats) when labels with margins k meet classes with margins n."""
    share = k / total
    rows = _expected_entropy(total[:, :, None], k[:, None, :], n[:, :, None]).sum(2)
    # Second order for the mixture: its variance is that of a weighted mean of rows drawn without replacement.
    spread = (total[:, 0] * np.where(n > 0, weight**2 / n, 0).sum(1) - 1) / (total[:, 0] - 1)
    mixed = entr(share).sum(1) - np.where(k > 0, 1 - share, 0).sum(1) * spread / 2
    return np.asarray(np.maximum(mixed - (weight * rows).sum(1), 0))


def _expected_entropy(total: FloatArray, k: FloatArray, n: FloatArray) -> FloatArray:
    """E[-(X/n) log(X/n)] for hypergeometric X: n draws from ``total`` labels of which k count; 0 where k or n is 0."""
    total, k, n = np.broadcast_arrays(total, k, n)
    out = np.zeros(total.shape)
    mean = n * k / total
    large = mean > _SUMMED
    p = k[large] / total[large]
    out[large] = entr(p) - (1 - p) / (2 * n[large]) * (total[large] - n[large]) / (total[large] - 1)
    cell: IntArray = np.flatnonzero((mean > 0) & ~large)
    N, k, n = (np.ascontiguousarray(v).ravel()[cell] for v in (total, k, n))
    x: FloatArray = np.maximum(0, n + k - N)
    mass = np.exp(_log_choose(k, x) + _log_choose(N - k, n - x) - _log_choose(N, n))
    flat = out.reshape(-1)
    while len(cell):
        flat[cell] += mass * entr(x / n)
        mass = mass * (k - x) * (n - x) / ((x + 1) * (N - k - n + x + 1))
        x = x + 1
        going = (x <= np.minimum(k, n)) & ((mass > 1e-18) | (x < n * k / N))
        cell, N, k, n, x, mass = cell[going], N[going], k[going], n[going], x[going], mass[going]
    return out


def _log_choose(n: FloatArray, k: FloatArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def independence_p_value(counts: FloatArray) -> FloatArray:
    """(n_workers,) p-value of "the labels do not depend on the true class", small for a worker who knows anything.

    Pearson's X² of a worker's table with its exact mean and variance when the labels are dealt out at random over the
    worker's tasks (Dawson 1954), as a gamma distribution of these; unlike the χ² distribution it holds for sparse
    tables. 1 for a worker who always gives the same label; NaN with fewer than two classes met or four labels.

    Args:
        counts: (n_workers, C, C) annotations, row = true class.
    """
    n, k = counts.sum(2), counts.sum(1)
    N = n.sum(1)
    rows, columns = (n > 0).sum(1), (k > 0).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = n[:, :, None] * k[:, None, :] / N[:, None, None]
        x2 = np.where(expected > 0, (counts - expected) ** 2 / expected, 0).sum((1, 2))
        v1, v2 = ((m - 1) * (N - m) / (N - 1) for m in (rows, columns))
        w1, w2 = (
            (N * np.where(margin > 0, 1 / margin, 0).sum(1) - m**2) / (N - 2) for margin, m in ((n, rows), (k, columns))
        )
        mean = N / (N - 1) * (rows - 1) * (columns - 1)
        variance = 2 * N / (N - 3) * (v1 - w1) * (v2 - w2) + N**2 / (N - 1) * w1 * w2
        p = gammaincc(mean**2 / variance, mean * x2 / variance)
    p = np.where(variance > 1e-12, p, 1.0)  # the margins leave only one table: nothing was shown
    return np.where((rows > 1) & (N > 3), p, np.nan)
