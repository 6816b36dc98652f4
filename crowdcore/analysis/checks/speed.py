"""How long each label took."""

from __future__ import annotations

import numpy as np

from crowdcore.analysis.verdicts.drift import times
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset


def answer_seconds(dataset: CrowdDataset) -> FloatArray | None:
    """(n_annotations,) the column ``seconds``, else the time since the worker's label before; None without any.

    NaN where a label has no time, and for each worker's first label. Pauses make the time since the label before too
    long, never too short.
    """
    if dataset.extra is not None and "seconds" in dataset.extra:
        seconds = dataset.extra["seconds"].to_numpy(np.float64)
        return None if np.isnan(seconds).all() else seconds
    moment = times(dataset)
    if moment is None:
        return None
    order = np.lexsort((moment, dataset.worker))
    since = np.diff(moment[order], prepend=np.nan)
    since[np.diff(dataset.worker[order], prepend=-1) != 0] = np.nan
    seconds = np.full(dataset.n_annotations, np.nan)
    seconds[order] = since
    return None if np.isnan(seconds).all() else seconds
