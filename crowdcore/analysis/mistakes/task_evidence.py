"""Whether a shared mistake rests on many tasks: the test over workers with the tasks taken as a sample, too.

A wrong gold label, or a task with a foil of its own, puts many workers into one cell at once. The test over workers
takes them for so many witnesses; here what they say on one task is one piece of evidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from crowdcore.analysis.mistakes.significance import SharingTest
from crowdcore.core.kernels_mistakes import CarriedSums
from crowdcore.core.types import FloatArray

_LEAST = 1e-300  # smallest p-value that has a normal quantile


class TaskEvidence(NamedTuple):
    """What the tasks leave of the test over workers.

    Attributes:
        p_value: (C, C) at least that over workers; NaN where not tested.
        carriers: (C, C) how many tasks carry the cell, ``(Σ_i c_i)² / Σ_i c_i²``: their number where each adds as
            much to the sum of ranks, 1 where one adds nearly all, 0 on the diagonal and where nobody made the mistake.
    """

    p_value: FloatArray
    carriers: FloatArray


def task_evidence(test: SharingTest, carried: CarriedSums) -> TaskEvidence:
    """Add the variance between tasks to the test's own.

    A worker's score for a cell rests in equal parts s on the annotations that made the mistake, so task i carries
    ``c_i``, the sum of its annotations' parts. Of the n_i labels of each task of the class, κ n_i is what the task
    would carry if all were alike (``κ = Σ c_i / Σ n_i``). Tasks that mislead add to the variance V of the test's sum
    the excess ``E = max(0, Σ_i (c_i - κ n_i)² - Σ (s - κ)²)``, where the second sum runs over annotations, and the
    normal quantile z of the p-value becomes ``z √(V / (V + E))``. So k tasks alike can hardly reach more than √k.

    Args:
        test: over workers.
        carried: sums of c_i, c_i² and so on, of the test's scores.
    """
    n_classes = len(test.variance)
    shape = (n_classes, n_classes)
    total, squares, weighted, parts = (
        x.reshape(shape) for x in (carried.total, carried.squares, carried.weighted, carried.parts)
    )
    labels, labels_squared = carried.labels[:, None], carried.labels_squared[:, None]
    share = total / np.maximum(labels, 1)
    between = squares - 2 * share * weighted + share**2 * labels_squared
    within = parts - share**2 * labels
    variance = test.variance[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.sqrt(variance / (variance + np.maximum(between - within, 0)))
        carriers = np.where(squares > 0, total**2 / squares, 0.0)
    quantile = ndtri(np.maximum(test.p_value, _LEAST))
    return TaskEvidence(np.maximum(test.p_value, ndtr(quantile * kept)), carriers)
