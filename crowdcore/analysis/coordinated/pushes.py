"""Workers who make one mistake far more often than their skill, their tasks and the other workers explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, ndtri

from crowdcore.analysis.mistakes.significance import benjamini_hochberg
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.kernels import vote_counts
from crowdcore.core.types import FloatArray, IntArray

_FLOOR = 0.05  # rate of a mistake that nobody needs to explain
_FEWEST = 5.0  # labels on a class from which a worker's rate says how rates vary
_KEPT = 0.6  # of the workers, by rate: those above may be the ones who push
_Z = float(ndtri(_KEPT))
# A normal variable below z has mean -_RATIO and variance 1 - z _RATIO - _RATIO².
_RATIO = float(np.exp(-(_Z**2) / 2) / np.sqrt(2 * np.pi)) / _KEPT
_FENCE = 2.0  # standard deviations above the mean up to which workers are taken to vary


@dataclass(frozen=True, eq=False)
class Pushes:
    """Mistakes (worker, a, b) beyond the limit, arrays aligned, by worker.

    Attributes:
        worker: number.
        true: class a.
        given: class b.
        times: (expected) labels b on tasks of class a.
        of: (expected) labels on tasks of class a.
        limit: rate that skill, tasks and the other workers explain.
        q_value: after Benjamini-Hochberg over all mistakes that could be tested.
        alike: chance that two workers' own mistakes are the same one.
    """

    worker: IntArray
    true: IntArray
    given: IntArray
    times: FloatArray
    of: FloatArray
    limit: FloatArray
    q_value: FloatArray
    alike: float


def pushes(peers: Peers, n_workers: int, level: float = 0.05) -> Pushes:
    """Test every mistake (a, b) of every worker: is it more frequent than skill, tasks and the other workers explain?

    With n_ab of n_a labels, ``p = P(Bin(n_a, p_0) >= n_ab)``, where p_0 is the largest of

    - how far workers vary: their rates as angles, ``θ = arcsin √((n_ab + 3/8) / (n_a + 3/4))`` (Anscombe 1948), have
      noise ``1 / (4 n_a + 2)``; from the lower 60 % of the workers, as if θ were normal, follow its mean
      and the deviation beyond that noise, and two deviations above the mean is the limit, so that two in five workers
      may push without moving it;
    - the worker's skill: the rate of mistakes on other classes divided by C - 1, and the rate of b on classes other
      than a and b;
    - the tasks: how often the other workers give b on the tasks of class a that the worker did;
    - 0.05.

    Args:
        peers: what is believed of each annotation's task without the annotation.
        level: share of mistakes within the limit among those named, on average.
    """
    from crowdcore.core.kernels_pushes_numba import expected_labels  # compiled loops are loaded when needed

    n_classes = peers.judge.shape[1]
    votes = vote_counts(peers.task, peers.label, len(peers.crowd), n_classes)
    task, worker, label = (numbers.astype(np.int64) for numbers in (peers.task, peers.worker, peers.label))
    counts, by_others = expected_labels(task, worker, label, peers.judge, votes, n_workers)
    rows = counts.sum(2, keepdims=True)
    wrong = ~np.eye(n_classes, dtype=bool) if n_classes > 2 else np.zeros((n_classes, n_classes), bool)
    mistakes = counts * wrong
    limit = np.maximum(np.maximum(_fence(counts, rows), by_others), _FLOOR)
    limit = np.clip(np.maximum(limit, _own_habit(mistakes, rows)), 0, 1 - 1e-9)
    tested = wrong & (limit**rows <= level) & (rows > 0)
    p_value = np.where(tested, 1.0, np.nan)
    some = np.nonzero(tested & (counts > limit * rows))
    k, n = counts[some], np.broadcast_to(rows, counts.shape)[some]
    p_value[some] = betainc(k, np.maximum(n - k, 0) + 1, limit[some])
    q_value = benjamini_hochberg(p_value)
    worker, true, given = found = np.nonzero(tested & (q_value <= level))
    rest = mistakes.copy()
    rest[found] = 0.0
    return Pushes(
        worker,
        true,
        given,
        counts[found],
        rows[worker, true, 0],
        limit[found],
        q_value[found],
        _alike(rest.sum(0), tested.sum(0)),
    )


def _fence(counts: FloatArray, rows: FloatArray) -> FloatArray:
    """(C, C) the highest rate that is taken for a worker's own way."""
    angle = np.where(rows >= _FEWEST, np.arcsin(np.sqrt((counts + 0.375) / (rows + 0.75))), np.nan)
    angle = np.sort(angle, axis=0)  # NaN last
    there = (~np.isnan(angle)).sum(0)
    kept = np.arange(len(angle))[:, None, None] < np.ceil(_KEPT * there)
    angle = np.where(kept, angle, 0.0)
    n = np.maximum(kept.sum(0), 1)
    mean = angle.sum(0) / n
    variance = np.where(kept, (angle - mean) ** 2, 0.0).sum(0) / np.maximum(n - 1, 1)
    deviation = np.sqrt(variance / (1 - _Z * _RATIO - _RATIO**2))
    noise = np.where(rows >= _FEWEST, 1 / (4 * rows + 2), 0.0).sum(0) / np.maximum(there, 1)
    beyond = np.sqrt(np.maximum(deviation**2 - noise, 0.0))
    top = np.minimum(mean + _RATIO * deviation + _FENCE * beyond, np.pi / 2)
    return np.asarray(np.where(there >= 2, np.sin(top) ** 2, 1.0))


def _own_habit(mistakes: FloatArray, rows: FloatArray) -> FloatArray:
    """(n_workers, C, C) the larger of the worker's rates of any one mistake on other classes, and of b on them."""
    n_classes = mistakes.shape[1]
    made = mistakes.sum(2, keepdims=True)
    elsewhere, elsewhere_rows = made.sum(1, keepdims=True) - made, rows.sum(1, keepdims=True) - rows
    habit = elsewhere / np.maximum(elsewhere_rows, 1e-9) / max(n_classes - 1, 1)
    column = mistakes.sum(1, keepdims=True) - mistakes
    others = elsewhere_rows - rows.transpose(0, 2, 1)  # tasks of neither a nor b
    return np.asarray(np.maximum(habit, np.where(others > 1e-9, column / np.maximum(others, 1e-9), 0.0)))


def _alike(rest: FloatArray, tested: FloatArray) -> float:
    """Chance that two mistakes agree, drawn half from the tested ones and half as all but the found ones fall."""
    share = (rest / max(rest.sum(), 1e-9) + tested / max(tested.sum(), 1)) / 2
    return float((share**2).sum() / max(share.sum(), 1e-9) ** 2)
