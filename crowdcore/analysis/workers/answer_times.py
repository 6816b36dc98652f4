"""How long each label took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.analysis.verdicts.drift import BREAK_MINUTES, times
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.times import SECONDS, durations

BY_GAPS = (
    "There is no column “seconds”: an answer's time is the gap since the same worker's previous label, without breaks "
    "of more than 30 minutes and without labels that share their time."
)
"""How answers are timed where only their moments are known."""
_STEPS = (86_400.0, 3_600.0, 60.0, 1.0)  # s, to which times may be rounded


@dataclass(frozen=True, eq=False)
class AnswerTimes:
    """Answer times, and why some labels have none.

    Attributes:
        seconds: (n_annotations,) NaN where it cannot be told.
        batch: (n_annotations,) bool, labels with the same time as another one of their worker.
        first: labels that begin a worker's session: no gap to the label before, or a break.
        step: seconds to which the times are rounded; 0 for the column ``seconds`` and for finer times.
        source: what they were taken from, in words.
    """

    seconds: FloatArray
    batch: BoolArray
    first: int
    step: float
    source: str


def answer_times(dataset: CrowdDataset, break_minutes: float = BREAK_MINUTES) -> AnswerTimes | None:
    """How long each label took: the column ``seconds``, else the gap to the same worker's label before.

    A gap says how long an answer took only within a session and where labels are stored one by one. So the first label
    of a worker and of each session has no answer time, and labels that share their time with another one of the
    worker (uploaded together, or rounded to one time) have none either.

    Args:
        dataset: with the column ``seconds`` or ``timestamp``.
        break_minutes: a longer gap begins a new session.

    Returns:
        None without either column.
    """
    none = np.zeros(dataset.n_annotations, bool)
    if dataset.extra is not None and SECONDS in dataset.extra:
        seconds = durations(dataset.extra[SECONDS])
        return None if np.isnan(seconds).all() else AnswerTimes(seconds, none, 0, 0.0, "the column seconds")
    moment = times(dataset)
    if moment is None:
        return None
    known = np.flatnonzero(~np.isnan(moment))
    order = known[np.lexsort((moment[known], dataset.worker[known]))]
    same = np.diff(dataset.worker[order], prepend=-1) == 0
    gap = np.where(same, np.diff(moment[order], prepend=0.0), np.inf)
    batch, first = none, gap > 60 * break_minutes
    tied = np.flatnonzero(gap == 0)
    batch[order[tied]] = batch[order[tied - 1]] = True
    seconds = np.full(dataset.n_annotations, np.nan)
    seconds[order] = np.where(first | batch[order], np.nan, gap)
    step = next((step for step in _STEPS if not (moment[known] % step).any()), 0.0)
    return AnswerTimes(
        seconds, batch, int((first & ~batch[order]).sum()), step, "gaps since the worker's previous label"
    )
