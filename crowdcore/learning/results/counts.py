"""Labels of the workers by class, as a run counts them: the one source of confusions that it shows. No torch here."""

from __future__ import annotations

from typing import Literal

import numpy as np

from crowdcore.core.counts import soft_confusion_counts
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.results.result import TrainingResult


def worker_counts(
    result: TrainingResult, dataset: CrowdDataset, at: Literal["selected", "last"] | int = "selected"
) -> FloatArray | None:
    """(S, R, C, C) labels of each worker by class, each counted against the run's posterior without it.

    Results of earlier versions hold none: their labels are counted against the run's posterior as it is, or where it
    has none by its classifier.

    Args:
        result: of a run on this dataset.
        dataset: theirs.
        at: epoch; None is returned for others than the selected and the last, whose predictions are not kept.
    """
    if at not in ("selected", "last"):
        return None
    parts = {"worker_counts": result.worker_counts, "q": result.q} if at == "selected" else result.last
    if (kept := parts.get("worker_counts")) is not None:
        return np.asarray(kept, np.float64)
    rows = result.split == 0
    train = result.task[rows]
    position = np.full(dataset.n_tasks, -1, np.int32)
    position[train] = np.arange(len(train))
    used = position[dataset.task] >= 0
    columns = position[dataset.task][used], dataset.worker[used], dataset.label[used]
    if (q := parts.get("q")) is not None:
        soft = [one.astype(np.float64) for one in q]
        return np.stack([soft_confusion_counts(*columns, one, dataset.n_workers) for one in soft])
    from crowdcore.learning.counted import counts_of_seeds  # brings torch along, which stored counts do without

    p = result.probabilities[at][:, rows].astype(np.float64)
    return counts_of_seeds(columns, np.log(np.maximum(p, 1e-12)), dataset.n_workers)
