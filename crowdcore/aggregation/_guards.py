"""What a fit's labels show without gold: classes lost or inflated, and confidence that the labels contradict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdcore.aggregation._dependence import measure
from crowdcore.aggregation._votes import vote_shares, winners
from crowdcore.core.counts import vote_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_BLOCK = 1 << 14  # tasks that are looked at at once
_TASKS, _SHARE = 10, 0.05  # a class that wins the votes on fewer tasks, or a smaller share of them, can't be lost
_LOST = 0.3  # a class keeps at least this share of the tasks that it wins by votes
_INFLATED = 2.5  # a class gets at most so many times the tasks that it wins by votes, or the votes that it has
_RISE = 0.05  # … and this share of all tasks more
_AS_GOOD = 1e-3  # nats per annotation by which a restart may be behind the best
_DIFFERENT = 0.05  # share of the tasks on which it may differ
_SURE = 0.9  # mean confidence from which dependence is worth a warning
_REPEATED = 0.15  # share of the labels that say nothing new


def collapse(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> tuple[str, ...]:
    """Sentences about classes whose share of the labels leaves their share of the votes; none where all is well.

    Args:
        dataset: the annotations.
        posterior: (n_tasks, C), NaN rows without evidence.
        known: (n_tasks,) true classes that were given, -1 = unknown; those tasks are not judged.
    """
    judged = dataset.annotated & ~np.isnan(posterior[:, 0])
    if known is not None:
        judged &= known < 0
    n_tasks = int(judged.sum())
    won, given, found = np.zeros((3, dataset.n_classes))
    for first in range(0, dataset.n_tasks, _BLOCK):
        kept = judged[first : first + _BLOCK]
        rows = slice(*dataset.task_start[[first, first + len(kept)]])
        votes = vote_counts(dataset.task[rows] - first, dataset.label[rows], len(kept), dataset.n_classes)[kept]
        won += winners(votes, "share").sum(0)
        given += vote_shares(votes).sum(0)
        found += posterior[first : first + _BLOCK][kept].sum(0)
    lost = (np.minimum(won, given) >= max(_TASKS, _SHARE * n_tasks)) & (found < _LOST * won)
    inflated = (found > _INFLATED * np.maximum(won, given)) & (found - np.maximum(won, given) > _RISE * n_tasks)
    remedy = "Compare with the majority vote, add smoothing, or give some true labels."
    return tuple(
        f"Class {dataset.classes[c]} {'is all but lost' if lost[c] else 'is inflated'}: {found[c]:.0f} of {n_tasks} "
        f"tasks have it, against {won[c]:.0f} by majority vote. {remedy}"
        for c in np.flatnonzero(lost | inflated)
    )


def guard(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None, probabilistic: bool) -> tuple[str, ...]:
    """What speaks against a fit: lost or inflated classes, or confidence that dependent labels contradict.

    Args:
        dataset: the annotations.
        posterior: (n_tasks, C), NaN rows without evidence.
        known: (n_tasks,) true classes that were given, -1 = unknown.
        probabilistic: the posterior claims to be one (vote shares don't).
    """
    found = collapse(dataset, posterior, known)
    if not probabilistic:
        return found
    highest = posterior.max(1, initial=0)
    if (unknown := np.isnan(highest)).any():
        highest = highest[~unknown]
    confidence = float(highest.mean()) if len(highest) else 0.0
    del highest
    if confidence < _SURE:
        return found
    dependence = measure(dataset, posterior)
    if not dependence.significant or 1 - dependence.share < _REPEATED:
        return found
    return (
        *found,
        f"The mean confidence of {confidence:.3f} is too high: workers agree on a task beyond what the fit "
        f"explains (η = {dependence.eta:.3f}), so that {100 * (1 - dependence.share):.0f} % of the labels repeat "
        "others. Temper the posterior (aggregation.temper, --temper).",
    )


def disagreement(ends: Sequence[tuple[float, IntArray]]) -> tuple[str, ...]:
    """A sentence where restarts that are as good as the best infer other labels.

    Args:
        ends: objective per annotation and labels (n_tasks,) of each run.
    """
    if not ends:
        return ()
    best, labels = max(ends, key=lambda end: end[0])
    different = max(float((labels != other).mean()) for value, other in ends if value >= best - _AS_GOOD)
    if different <= _DIFFERENT:
        return ()
    return (
        f"Restarts disagree: a run with as good an objective labels {100 * different:.0f} % of the tasks differently. "
        "Give some true labels, or use auto.",
    )
