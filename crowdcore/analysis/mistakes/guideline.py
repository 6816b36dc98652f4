"""Mistakes of the guideline: confusions that several workers make far more often than the typical worker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betainc

from crowdcore.analysis.statistics import benjamini_hochberg, divide, holm
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.analysis.verdicts.skill import tell_apart
from crowdcore.core.types import BoolArray, FloatArray

CARRIERS = 3
"""Workers who surely make a mistake, from which it is the guideline's."""
_FLOOR = 0.05  # rate of a mistake that needs no explanation
_SHARE, _TIMES = 0.2, 2.5  # share of a class, and labels, from which a mistake is one of a worker's
_MANY = 0.1  # share of the workers who carry a mistake of two classes, from which it is the guideline's
_NEAR = 0.25  # median class's share of mistakes with its neighbours, beyond chance, from which classes are grades


@dataclass(frozen=True, eq=False)
class GuidelineMistakes:
    """Who carries which mistake of the guideline.

    Attributes:
        cells: (C, C) bool, whether a mistake (true, given) is the guideline's.
        carriers: (n_workers, C, C) bool, who surely makes it.
        graded: whether classes are grades, so that mistakes mostly go to the neighbours.
    """

    cells: BoolArray
    carriers: BoolArray
    graded: bool = False


def guideline_mistakes(
    peers: Peers, places: FloatArray | None = None, *, checked: bool, level: float = 0.05
) -> GuidelineMistakes:
    """Find the mistakes that `CARRIERS` workers or more surely make: nobody's own fault.

    A worker carries (a, b) if so many labels b on tasks of class a are improbable at the larger one of three rates: the
    median worker's in this cell, which carriers do not raise while they are fewer than half; the worker's own rate of
    any one other mistake, so that a weak worker carries none; and 0.05. Binomial tails, Benjamini–Hochberg over all
    cells of all workers at ``level``.

    Of ordered classes the second rate is the largest one at which the worker errs in that direction on another class:
    a strict or lenient worker takes neighbours for each other all along the scale, which is a lean (`worker_lean`).

    Of two classes a worker who says one of them too readily makes one mistake only, as a guideline asks for. There, a
    carrier must tell the classes apart, a tenth of the workers must be carriers, and if both mistakes are then made by
    some, each is a lean of its own.

    Labels cannot distinguish workers who agreed on a mistake from a guideline that asks for it: what this says is that
    it is one mistake of many people, so that to accuse or train one of them is wrong.

    Args:
        peers: what judges each label.
        places: (C,) place of each class in their order; None if they have none.
        checked: whether gold or marks judge; without, most of those who judge the carriers must be no carriers.
        level: share of false carriers.
    """
    n = peers.judge.shape[1]
    counts, _ = peers.counted
    rows = counts.sum(2, keepdims=True)
    share = divide(counts, np.where(rows >= 1, rows, 0))
    there = ~np.isnan(share)
    ranked = np.sort(np.where(there, share, np.inf), axis=0)
    middle = np.maximum((there.sum(0) - 1) // 2, 0)
    typical = np.take_along_axis(ranked, middle[None], 0)[0]
    wrong = counts * ~np.eye(n, dtype=bool)
    elsewhere = wrong.sum((1, 2), keepdims=True) - wrong
    room = (rows.sum(1, keepdims=True) - rows) * (n - 1) + rows * max(n - 2, 0)
    habit, graded = divide(elsewhere, np.maximum(room, 1e-9)), False
    if places is not None:
        step, graded = places - places[:, None], are_grades(counts, places)
        for towards in (step > 0, step < 0):
            lean = ((wrong * towards).sum(2) + _FLOOR) / (rows[:, :, 0] + 1)
            most = np.sort(lean, 1)[:, -2:]
            other = np.where(lean == most[:, 1:], most[:, :1], most[:, 1:])
            habit = np.where(towards, np.maximum(habit, other[:, :, None]), habit)
    usual = np.maximum(np.where(np.isfinite(typical), typical, 1.0), _FLOOR)
    rate = np.clip(np.maximum(usual, habit), 0, 1 - 1e-9)
    tested = ~np.eye(n, dtype=bool) & (rate**rows <= level) & (rows > 0)
    p_value = np.where(tested, 1.0, np.nan)
    some = np.nonzero(tested & (counts > rate * rows))
    k, of = counts[some], np.broadcast_to(rows, counts.shape)[some]
    p_value[some] = betainc(k, np.maximum(of - k, 0) + 1, rate[some])
    sure: FloatArray = np.nan_to_num(benjamini_hochberg(p_value), nan=1.0)
    carriers = (sure <= level) & (counts >= _SHARE * rows) & (counts >= _TIMES)
    cells = carriers.sum(0) >= CARRIERS
    if n == 2:
        carriers &= tell_apart(counts)[:, None, None]
        cells = carriers.sum(0) >= np.maximum(CARRIERS, _MANY * tested.sum(0))
        cells &= ~cells.T
    if not checked and cells.any():
        cells[cells] = _among_carriers(peers, carriers[:, cells]) <= 0.5
    return GuidelineMistakes(cells, carriers & cells, graded)


def are_grades(counts: FloatArray, places: FloatArray) -> bool:
    """Whether mistakes mostly go to the neighbours, so that classes with an order are grades, and no mere numbers.

    Args:
        counts: (n_workers, C, C) labels b on tasks of class a.
        places: (C,) place of each class in their order.
    """
    n = len(places)
    near, wrong = np.abs(places - places[:, None]) == 1, counts.sum(0) * ~np.eye(n, dtype=bool)
    chance = near.sum(1) / (n - 1)
    beyond = divide(divide((wrong * near).sum(1), wrong.sum(1)) - chance, 1 - chance)
    return bool(wrong.any() and np.median(beyond[~np.isnan(beyond)]) > _NEAR)


def _among_carriers(peers: Peers, carriers: BoolArray) -> FloatArray:
    """(K,) share of the carriers (n_workers, K) among those who label a task beside one: teams judge themselves."""
    n, n_workers = len(peers.crowd), len(carriers)
    every = np.bincount(peers.task, minlength=n)
    start = np.concatenate([[0], every.cumsum()])
    labelled = csr_array((np.ones(len(peers.worker)), peers.worker, start), (n, n_workers))
    share = []
    for one in carriers.T:
        of = labelled @ one.astype(np.float64)
        share.append((of @ of - of.sum()) / max(of @ every - of.sum(), 1))
    return np.array(share)


def guideline_cells(shared_p: FloatArray, own: GuidelineMistakes, *, checked: bool, level: float = 0.01) -> BoolArray:
    """(C, C) mistakes of the guideline: repeated by several workers, or made by more workers than chance explains.

    As somebody is to act on them, the second test bounds the chance of any false one (Holm). It takes all wrong classes
    for equally likely, so it says nothing of grades, where neighbours are mistaken most. Where no gold judges, tasks on
    which most workers make a repeated mistake (a, b) count as b: those who are right then seem to share (b, a), which
    is not counted.

    Args:
        shared_p: (C, C) p-values of `SharedMistakes` against the most probable classes, NaN where not tested.
        own: who repeats which mistake.
        checked: whether gold or marks judge.
        level: chance of a false one by the second test; in honest crowds no mistake that it finds is true.
    """
    mirrored = own.cells.T & (not checked)
    adjusted = holm(shared_p.ravel()).reshape(shared_p.shape)
    if own.graded:
        return own.cells
    return np.asarray(own.cells | ((np.nan_to_num(adjusted, nan=1.0) <= level) & ~mirrored))
