"""Correct predictions per task, on the test tasks that all results share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results.result import TrainingResult

TEST = 2
"""The test split among the splits of a result."""
Kept = Literal["selected", "last"]


@dataclass(frozen=True, eq=False)
class JudgedTasks:
    """Results on the same n test tasks with gold.

    Attributes:
        task: (n,) task numbers of the dataset.
        right: name -> (S, n) whether each seed has each task right.
        ensemble: name -> (n,) whether the mean of the seeds' probabilities has it right.
    """

    task: IntArray
    right: Mapping[str, BoolArray]
    ensemble: Mapping[str, BoolArray]


def ensemble(posterior: FloatArray) -> FloatArray:
    """(S, n, C) class probabilities -> (n, C) float64 mean over seeds, the prediction of all replicas together."""
    return np.asarray(posterior.mean(0, dtype=np.float64))


def judge_tasks(results: Mapping[str, TrainingResult], at: Kept | Mapping[str, Kept] = "selected") -> JudgedTasks:
    """Judge results by gold on the test tasks that all have; none where their data differ.

    Args:
        results: name -> result.
        at: the epoch, of all or of each.
    """
    same = len({r.fingerprint for r in results.values()}) == 1
    shared = reduce(np.intersect1d, (_judged(r) for r in results.values())) if same else np.empty(0, np.int64)
    right: dict[str, BoolArray] = {}
    together: dict[str, BoolArray] = {}
    for name, r in results.items():
        rows = np.flatnonzero(np.isin(r.task, shared) & (r.split == TEST))
        rows = rows[np.argsort(r.task[rows])]
        epoch = at if isinstance(at, str) else at[name]
        posterior = r.probabilities[epoch][:, rows]
        right[name] = posterior.argmax(-1) == r.gold[rows]
        together[name] = ensemble(posterior).argmax(-1) == r.gold[rows]
    return JudgedTasks(shared, right, together)


def gold_on_test(result: TrainingResult | RatingsResult) -> IntArray | FloatArray:
    """(n,) gold of the test tasks that have it."""
    known = ~np.isnan(result.gold) if isinstance(result, RatingsResult) else result.gold >= 0
    return np.asarray(result.gold[(result.split == TEST) & known])


def basis(results: Sequence[TrainingResult | RatingsResult]) -> str:
    """Why nothing can be said of these results' test accuracy or error, one sentence; "" where it can."""
    if any(len(gold_on_test(r)) for r in results):
        return ""
    names = ", ".join(dict.fromkeys(r.dataset for r in results))
    what = "error" if any(isinstance(r, RatingsResult) for r in results) else "accuracy"
    if any((r.split == TEST).any() for r in results):
        return f"The test split of {names} has no gold labels, so {what} cannot be measured."
    return f"{names} has no test split, so {what} cannot be measured. Give some tasks with gold the split 'test'."


def _judged(result: TrainingResult) -> IntArray:
    return np.asarray(result.task[(result.split == TEST) & (result.gold >= 0)])
