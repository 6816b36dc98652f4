"""The confusion that each worker should be trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv

from crowdcore.analysis.mistakes.significance import benjamini_hochberg
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.types import AnyArray, FloatArray, IntArray

_FLOOR = 0.02  # rate that is never worth training
_TIMES = 2.5  # labels below which nobody speaks of "again and again"
_TAIL = 0.05  # of the lower limit, one-sided


@dataclass(frozen=True, eq=False)
class Confused:
    """The surest confusion of each worker; arrays (n_workers,), -1 and NaN where there is none to test.

    Attributes:
        true: class a.
        given: class b.
        times: (expected) labels b on tasks of class a.
        of: (expected) labels on tasks of class a.
        low: one-sided 95 % Clopper–Pearson limit of the worker's rate.
        others: the rate of all other workers.
        q_value: after Benjamini–Hochberg over all workers' cells.
        back: (expected) labels a on tasks of class b, where that is as large and sure, else NaN.
        back_of: (expected) labels on tasks of class b.
    """

    true: IntArray
    given: IntArray
    times: FloatArray
    of: FloatArray
    low: FloatArray
    others: FloatArray
    q_value: FloatArray
    back: FloatArray
    back_of: FloatArray


def confused_cells(peers: Peers, n_workers: int, least: float, level: float) -> Confused:
    """Test every cell (a, b) of every worker: is it one mistake, made again and again, and not everyone's?

    Of n_a labels n_ab are b. The p-value is the larger one of two: ``P(Bin(n_a, p_0) >= n_ab)``, where p_0 is the
    others' rate in the same cell, or 0.02 if that is larger; and ``P(Bin((n_ab + m) / v, s) >= n_ab / v)``, where m are
    the worker's other mistakes (with three classes or more without those that mix up the same pair), and s is the
    share of n_ab + m that would fall into the cell if the worker made all these mistakes equally often. That
    compares two rates given their sum, so that m is not taken for more than was seen; v is 1 less their common rate, as
    mistakes vary less the more frequent they are. Counts are expected ones where the truth is a belief. Cells that
    could not reach p <= 0.05 are not tested. A worker's cell is the least probable of those with ``n_ab >= least ·
    n_a``; ``level`` says which q-value makes the same the other way round sure.
    """
    known = ~np.isnan(peers.judge[:, 0])
    judge, n_classes = peers.judge[known], peers.judge.shape[1]
    cell = peers.worker[known].astype(np.int64) * n_classes + peers.label[known]
    counts = np.stack([np.bincount(cell, judge[:, a], n_workers * n_classes) for a in range(n_classes)])
    counts = counts.reshape(n_classes, n_workers, n_classes).transpose(1, 0, 2).astype(np.float64)
    rows = counts.sum(2, keepdims=True)
    rest, rest_rows = counts.sum(0) - counts, rows.sum(0) - rows
    others = np.divide(rest, rest_rows, out=np.zeros_like(rest), where=rest_rows > 1e-9)
    wrong = ~np.eye(n_classes, dtype=bool)

    def elsewhere(of: AnyArray) -> FloatArray:
        """(R, C, C) the sum over a worker's mistakes but for a cell and, with three classes or more, its reverse."""
        of = of * wrong
        back = of.transpose(0, 2, 1) * (n_classes > 2)
        return np.asarray(of.sum((1, 2), keepdims=True) - of - back)

    rate, n = np.clip(np.maximum(others, _FLOOR), 0, 1 - 1e-9), np.broadcast_to(rows, counts.shape)
    m, of_m = elsewhere(counts), elsewhere(n)
    share = n / np.maximum(n + of_m, 1e-9)
    tested = wrong & (n > 0) & (rate**n <= 0.05) & (betainc(np.maximum(n, 1e-9), m + 1, share) <= 0.05)
    some = np.nonzero(tested & (counts > rate * n))
    p_value = np.where(tested, 1.0, np.nan)
    k, n, m, of_m = counts[some], n[some], m[some], of_m[some]
    v = 1 - np.minimum((k + m) / (n + of_m), 0.95)
    p_value[some] = np.maximum(betainc(k, np.maximum(n - k, 0) + 1, rate[some]), betainc(k / v, m / v + 1, share[some]))
    q_value = benjamini_hochberg(p_value)
    large = tested & (counts >= least * rows) & (counts >= _TIMES)
    flat = np.where(large, p_value, np.inf).reshape(n_workers, -1).argmin(1)
    true, given = np.divmod(flat, n_classes)
    at = np.arange(n_workers), true, given
    there, turned = large[at], (np.arange(n_workers), given, true)
    mutual = there & large[turned] & (q_value[turned] <= level)
    times = np.asarray(counts[at], np.float64)
    of = np.asarray(rows[np.arange(n_workers), true, 0], np.float64)
    low = np.where(times > 0, betaincinv(np.maximum(times, 1e-9), np.maximum(of - times, 0) + 1, _TAIL), 0.0)
    return Confused(
        np.where(there, true, -1),
        np.where(there, given, -1),
        times,
        of,
        np.where(there, low, np.nan),
        others[at],
        np.where(there, q_value[at], np.nan),
        np.where(mutual, counts[turned], np.nan),
        np.where(mutual, rows[np.arange(n_workers), given, 0], np.nan),
    )
