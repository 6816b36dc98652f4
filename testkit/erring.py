"""Crowds that err individually: own mistakes, unequal tasks, foils, wrong gold, half copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset


def draw(chance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One label per row of probabilities."""
    return np.minimum((chance.cumsum(1) < rng.random((len(chance), 1))).sum(1), chance.shape[1] - 1)


def crowd(task: FloatArray, worker: FloatArray, label: FloatArray, gold: FloatArray, n_workers: int) -> CrowdDataset:
    order = np.argsort(task, kind="stable")
    classes = tuple(f"class {c}" for c in range(int(gold.max()) + 1))
    ids = pd.RangeIndex(len(gold)).astype(str), pd.RangeIndex(n_workers).astype(str)
    return CrowdDataset("simulated", classes, *ids, task[order], worker[order], label[order], gold=gold)


KINDS = ("uniform", "own rows", "pair flips", "some single-answer")


def own_rows(kind: str, n_workers: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
    """(R, C, C) distribution of each worker's mistakes on a class; the diagonal is 0."""
    width = n_classes - 1
    if kind == "pair flips":
        rows = np.eye(width)[rng.integers(width, size=(n_workers, n_classes))]
    elif kind == "own rows":
        rows = rng.dirichlet(np.full(width, 0.3), (n_workers, n_classes))
    else:
        rows = np.full((n_workers, n_classes, width), 1 / width)
    wrong = np.zeros((n_workers, n_classes, n_classes))
    wrong[:, ~np.eye(n_classes, dtype=bool)] = rows.reshape(n_workers, -1)
    return wrong


FOOLED = {"clean": (0.0, 0.0), "1 % wrong gold": (0.01, 0.0), "2 % wrong gold": (0.02, 0.0), "10 % foils": (0.0, 0.1)}


PAIRS = {"20 workers, 200 × 20, 8 classes": (200, 20, 8, 20), "20 workers, 120 × 20, 5 classes": (120, 20, 5, 20)}


PAIRS |= {"39 workers, 200 × 39, 2 classes": (200, 39, 2, 39), "30 workers, 800 × 8, 4 classes": (800, 30, 4, 8)}


PAIRS |= {"59 workers, 1,000 × 3, 8 classes": (1000, 59, 8, 3)}


TASKS = {"alike": (0.0, 1.0, 0.0), "unequal": (2.0, 1.5, 0.0), "unequal, foils": (2.0, 1.5, 0.2)}


def individual(
    design: tuple[int, int, int, int], kind: str, common: float, fooled: tuple[float, float], rng: np.random.Generator
) -> tuple[CrowdDataset, BoolArray]:
    """A crowd, and the (C, C) cells whose mistake is common."""
    n_workers, n_tasks, n, per_task = design
    shared = np.eye(n, dtype=bool)[(np.arange(n) + rng.integers(1, n, n)) % n]
    error = rng.beta(2, 5, n_workers)[:, None, None]
    wrong = (1 - common) * own_rows(kind, n_workers, n, rng) + common * shared
    confusion = error * wrong + (1 - error) * np.eye(n)
    if kind == "some single-answer":
        lazy = rng.random(n_workers) < 0.2
        confusion[lazy] = np.eye(n)[rng.integers(n, size=lazy.sum())][:, None, :]
    gold = np.r_[np.arange(n), rng.integers(n, size=n_tasks - n)]
    worker = rng.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)[:, :per_task].ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    wrong_gold, foils = fooled
    foil, misled = other(gold, n, rng), rng.random(n_tasks) < foils
    chance = confusion[worker, gold[task]]
    chance = np.where(misled[task][:, None], 0.5 * chance + 0.5 * np.eye(n)[foil[task]], chance)
    label = draw(chance, rng)
    bad = rng.choice(n_tasks, round(wrong_gold * n_tasks), replace=False)
    gold[bad] = other(gold[bad], n, rng)
    return crowd(task, worker, label, gold, n_workers), shared


def other(labels: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    return (labels + rng.integers(1, n, len(labels))) % n


def unequal(
    design: tuple[int, int, int, int], tasks: tuple[float, float, float], rng: np.random.Generator
) -> CrowdDataset:
    """Independent workers; difficulty and skill on the logit scale, some tasks with a foil of their own."""
    (n_tasks, n_workers, n, per_task), (hard, skill, foils) = design, tasks
    gold = np.r_[np.arange(n), rng.integers(n, size=n_tasks - n)]
    keys = np.log(rng.beta(1.5, 3, n_workers)) + rng.gumbel(size=(n_tasks, n_workers))
    worker, task = np.argsort(-keys, 1)[:, :per_task].ravel(), np.repeat(np.arange(n_tasks), per_task)
    has = rng.random(n_tasks) < foils
    d = rng.normal(0, hard, n_tasks) + 1.5 * has
    right = expit(rng.normal(1.2, skill, n_workers)[worker] - d[task])[:, None]
    wrong = own_rows("own rows", n_workers, n, rng)[worker, gold[task]]
    foil = np.eye(n)[other(gold, n, rng)[task]]
    wrong = np.where(has[task][:, None], 0.8 * foil + 0.2 * wrong, wrong)
    return crowd(task, worker, draw(right * np.eye(n)[gold[task]] + (1 - right) * wrong, rng), gold, n_workers)


def with_copier(dataset: CrowdDataset, share: float, rng: np.random.Generator) -> tuple[CrowdDataset, int, int]:
    """Let one of the two busiest workers copy a random share of the other's labels."""
    source, copier = np.argsort(-np.bincount(dataset.worker, minlength=dataset.n_workers), kind="stable")[:2]
    of = dataset.worker == source
    by_key = dict(zip(dataset.task[of].tolist(), dataset.label[of].tolist(), strict=True))
    label = dataset.label.copy()
    for j in np.flatnonzero((dataset.worker == copier) & (rng.random(dataset.n_annotations) < share)):
        label[j] = by_key.get(int(dataset.task[j]), label[j])
    copied = crowd(dataset.task, dataset.worker, label, dataset.gold, dataset.n_workers)
    return copied, int(min(source, copier)), int(max(source, copier))


def laymen(
    rng: np.random.Generator,
    *,
    n_tasks: int = 200,
    n_workers: int = 20,
    per_task: int = 20,
    experts: float = 0.25,
    clear: float = 0.6,
) -> CrowdDataset:
    """Two classes; laymen answer by a look, right for a share ``clear`` of the tasks; experts know the class."""
    gold = rng.integers(2, size=n_tasks)
    look = np.where(rng.random(n_tasks) < clear, gold, 1 - gold)
    faithful, expert = rng.uniform(0.73, 0.97, n_workers), np.arange(n_workers) < round(experts * n_workers)
    worker = rng.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)[:, :per_task].ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    target = np.where(expert[worker], gold[task], look[task])
    follows = rng.random(len(task)) < np.where(expert, 0.95, faithful)[worker]
    return crowd(task, worker, np.where(follows, target, 1 - target), gold, n_workers)
