"""Crowds with known faults: honest ones, and ones with planted, attacking, changing and tiring workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.verdicts.drift import drift
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.workers import DRIFTING as SHARE
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset

HONEST: Mapping[str, Mapping[str, Any]] = {
    "4 classes, sparse": {},
    "4 classes, dense": {"n_tasks": 150, "per_task": 20},
    "4 classes, hard, own foils": {"n_tasks": 300, "difficulty": 2.0, "foils": 0.7, "skill": (0.45, 0.9)},
    "4 classes, dense, own foils": {"n_tasks": 200, "per_task": 20, "difficulty": 1.5, "foils": 0.5},
    "2 classes, sparse": {"n_classes": 2, "n_tasks": 500, "skill": (0.6, 0.95)},
    "2 classes, dense": {"n_classes": 2, "n_tasks": 300, "per_task": 20, "skill": (0.6, 0.95)},
    "2 classes, dense, hard": {"n_classes": 2, "n_tasks": 300, "per_task": 20, "skill": (0.6, 0.95), "difficulty": 2.0},
    "10 classes, 3 labels a task": {
        "n_classes": 10,
        "n_tasks": 1000,
        "n_workers": 50,
        "per_task": 3,
        "skill": (0.3, 0.95),
    },
    "2 classes, 10 % positive": {"n_classes": 2, "n_tasks": 600, "skill": (0.6, 0.95), "rare": 0.1},
}


PLANTED: Mapping[str, Mapping[str, Any]] = {
    "4 classes, sparse": {"n_tasks": 600, "n_workers": 15, "skill": (0.6, 0.95), "even": True},
    "4 classes, few labels": {"n_tasks": 250, "n_workers": 15, "skill": (0.6, 0.95), "even": True},
    "4 classes, dense": {"n_tasks": 200, "n_workers": 15, "per_task": 15, "skill": (0.6, 0.95)},
    "10 classes, sparse": {"n_classes": 10, "n_tasks": 900, "n_workers": 20, "skill": (0.6, 0.95), "even": True},
    "2 classes, sparse": {"n_classes": 2, "n_tasks": 1500, "n_workers": 15, "skill": (0.7, 0.95), "even": True},
}


SPAMMER, COPIER, COPIED, CONFUSED, DRIFTING = range(5)


def honest_crowd(
    seed: int | np.random.Generator,
    *,
    n_tasks: int = 250,
    n_workers: int = 20,
    n_classes: int = 4,
    per_task: int = 5,
    skill: tuple[float, float] = (0.5, 0.95),
    difficulty: float = 1.0,
    foils: float = 0.0,
    rare: float | None = None,
    prior: tuple[float, ...] | None = None,
    even: bool = False,
) -> CrowdDataset:
    """Workers of unequal skill, all better than chance, on tasks of unequal difficulty, with times in random order.

    ``P(right) = 1/C + (1 - 1/C) σ(s_r - d_i)``: s_r makes the accuracy on an ordinary task uniform in ``skill``, d_i is
    normal with deviation ``difficulty``. A share ``foils`` of the mistakes goes to the task's own wrong class.
    """
    rng = np.random.default_rng(seed)
    shares = prior if rare is None else np.r_[1 - rare, np.full(n_classes - 1, rare / (n_classes - 1))]
    gold = rng.choice(n_classes, n_tasks, p=shares)
    chance = 1 / n_classes
    informed = (rng.uniform(*skill, n_workers) - chance) / (1 - chance)
    ability = np.log(np.clip(informed, 0.01, 0.99) / (1 - np.clip(informed, 0.01, 0.99)))
    activity = np.zeros(n_workers) if even else np.log(rng.gamma(1.5, 1, n_workers) + 0.2)
    drawn = np.argsort(-(activity + rng.gumbel(size=(n_tasks, n_workers))), 1)[:, :per_task]
    task, worker = np.repeat(np.arange(n_tasks), drawn.shape[1]), drawn.ravel()
    hard = rng.normal(0, difficulty, n_tasks)
    right = rng.random(len(task)) < chance + (1 - chance) / (1 + np.exp(hard[task] - ability[worker]))
    step = rng.integers(1, n_classes, len(task))
    own = rng.integers(1, n_classes, n_tasks)[task]
    step = np.where(rng.random(len(task)) < foils, own, step)
    label = np.where(right, gold[task], (gold[task] + step) % n_classes)
    return CrowdDataset(
        f"honest-{seed}" if isinstance(seed, int) else "honest",
        tuple(f"class {c}" for c in range(n_classes)),
        pd.Index([f"t{i}" for i in range(n_tasks)]),
        pd.Index([f"w{r:02d}" for r in range(n_workers)]),
        task,
        worker,
        label,
        gold=gold,
        extra=pd.DataFrame({"timestamp": 1_700_000_000 + rng.permutation(len(task))}),
    )


def planted_crowd(seed: int, *, copied: float = 1.0, **settings: Any) -> CrowdDataset:
    """An honest crowd with a spammer, a copier, a confused and a drifting worker; see the numbers above."""
    crowd, rng = honest_crowd(seed, **settings), np.random.default_rng(seed + 1_000_000)
    assert crowd.extra is not None
    label, worker, when = crowd.label.copy(), crowd.worker, crowd.extra["timestamp"].to_numpy()
    guesses = rng.integers(crowd.n_classes, size=len(label))
    own = np.flatnonzero(worker == DRIFTING)
    late = own[when[own] > np.median(when[own])]
    label[worker == SPAMMER], label[late] = guesses[worker == SPAMMER], guesses[late]
    takes = (worker == CONFUSED) & (crowd.gold[crowd.task] == 0) & (rng.random(len(label)) < 0.6)
    label[takes] = 1
    source, kept = np.flatnonzero(worker == COPIED), np.flatnonzero(worker != COPIER)
    honest = np.where(rng.random(len(source)) < 0.75, crowd.gold[crowd.task[source]], guesses[source])
    copy = np.where(rng.random(len(source)) < copied, label[source], honest)
    rows = np.r_[kept, source]
    order = np.argsort(crowd.task[rows], kind="stable")
    return replace(
        crowd,
        name=f"planted-{seed}",
        task=crowd.task[rows][order],
        worker=np.r_[worker[kept], np.full(len(source), COPIER)][order],
        label=np.r_[label[kept], copy][order],
        extra=pd.DataFrame({"timestamp": np.r_[when[kept], when[source] + 1][order]}),
    )


ATTACKED: Mapping[str, Mapping[str, Any]] = {
    "4 classes, sparse": {"n_tasks": 600, "n_workers": 20, "skill": (0.6, 0.95), "even": True},
    "4 classes, dense, foils": {"n_tasks": 200, "per_task": 20, "skill": (0.6, 0.95), "foils": 0.5},
    "2 classes, sparse": {"n_classes": 2, "n_tasks": 1500, "n_workers": 20, "skill": (0.7, 0.95), "even": True},
}


def attacked_crowd(seed: int, attack: str, size: int, rate: float, **settings: Any) -> CrowdDataset:
    """An honest crowd, except that the first ``size`` workers attack."""
    crowd, workers = honest_crowd(seed, **settings), range(size)
    if attack == "copy":
        return simulate.copy_leader(crowd, workers[1:], 0, rate, seed)
    if attack == "push":
        return simulate.push_class(crowd, workers, 0, 1, rate, seed)
    return simulate.imitate_common(crowd, workers, rate, seed)


def caught(result: analysis.CoordinatedWorkers, size: int) -> tuple[float, bool]:
    """The largest share of the attackers in one group, and whether an honest worker is in any."""
    share = max(((group.members < size).sum() / size for group in result.groups), default=0.0)
    return float(share), any((group.members >= size).any() for group in result.groups)


def common_confusion(seed: int) -> CrowdDataset:
    """CoNAL's noise: confusions that all share to different degrees, beside individual ones."""
    return simulate.synthetic(n_tasks=1200, n_valid=0, n_test=0, n_workers=30, per_task=4, omega_spread=1.5, seed=seed)


def own_confusions(seed: int) -> CrowdDataset:
    """Each worker takes each class for another, individual one in two of five tasks."""
    tasks = simulate.synthetic(n_tasks=300, n_valid=0, n_test=0, n_workers=10, seed=seed)
    return simulate.tanno(tasks, n_workers=12, seed=seed)


CHANGED = 0  # the worker who becomes a guesser


def two_rounds(seed: int, how: str, settings: Mapping[str, Any], *, changes: bool = False) -> CrowdDataset:
    """A crowd with the column ``round``; with ``changes``, one worker gets worse and one mistake ends."""
    ds, rng = honest_crowd(seed, **settings), np.random.default_rng([seed, 1])
    second = rng.random(ds.n_tasks)[ds.task] < (0.2 if how == "short" else 0.5)
    if how == "again":  # both answers to a task in either order
        other = (
            ds.label + (rng.random(len(ds.task)) < 0.15) * rng.integers(1, ds.n_classes, len(ds.task))
        ) % ds.n_classes
        order, first = np.argsort(np.tile(ds.task, 2), kind="stable"), rng.random(len(ds.task)) < 0.5
        task, worker, label = (np.r_[a, b][order] for a, b in ((ds.task,) * 2, (ds.worker,) * 2, (ds.label, other)))
        second = np.r_[first, ~first][order]
        ds = replace(ds, task=task, worker=worker, label=label, extra=None, truth=None, file_row=None)
    label = ds.label.copy()
    if changes:
        followers = (np.arange(ds.n_workers) % 5 < 2) & (np.arange(ds.n_workers) != CHANGED)
        misled = ~second & (ds.gold[ds.task] == 0) & followers[ds.worker] & (rng.random(len(label)) < 0.6)
        guessed = second & (ds.worker == CHANGED)
        label = np.where(misled, 1, np.where(guessed, rng.integers(ds.n_classes, size=len(label)), label))
    return replace(ds, label=label.astype(np.int32), extra=pd.DataFrame({"round": np.where(second, 2, 1)}))


def in_sessions(crowd: CrowdDataset, sessions: int) -> tuple[CrowdDataset, IntArray]:
    """The crowd with each worker's labels in that many sessions, in the same order, and each label's session."""
    assert crowd.extra is not None
    rank = crowd.extra["timestamp"].groupby(crowd.worker).rank(method="first").to_numpy() - 1
    session = (rank * sessions / np.bincount(crowd.worker)[crowd.worker]).astype(int)
    times = pd.DataFrame({"timestamp": 1_700_000_000 + 86_400 * session + 10 * rank})
    return replace(crowd, extra=times), session


def uneven(crowd: CrowdDataset, session: IntArray, seed: int) -> CrowdDataset:
    """An honest crowd of workers who guess more in some of their sessions."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0, 0.4, (crowd.n_workers, session.max() + 1))[crowd.worker, session]
    guessed = rng.integers(crowd.n_classes, size=len(share))
    return replace(crowd, label=np.where(rng.random(len(share)) < share, guessed, crowd.label))


def falling(crowd: CrowdDataset, reference: str) -> BoolArray:
    """(n_workers,) True for workers reported as having become worse."""
    changes = drift(crowd, peer_beliefs(crowd, analysis.resolve_reference(crowd, reference)))
    assert changes is not None
    return np.nan_to_num(changes.adjusted, nan=1) <= SHARE * 0.05
