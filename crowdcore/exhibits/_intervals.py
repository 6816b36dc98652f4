"""Intervals of workers' confusions, with the uncertainty of the true labels where that takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdcore import analysis
from crowdcore.aggregation import DawidSkene
from crowdcore.exhibits.view import cached

if TYPE_CHECKING:
    from crowdcore.analysis import ConfusionIntervals, Reference
    from crowdcore.data.dataset import CrowdDataset

_SAMPLES, _BURN_IN = 400, 150
_WORK, _BYTES = 200_000, 256 << 20  # labels times classes, and draws, beyond which nobody would wait
_HELD = (
    " In simulated crowds they contained the true share in 93 to 97 % of the cells if workers labelled at least forty "
    "tasks of a class. With eight or fewer they are too wide and contained it in 99 %."
)
_CLEARLY = 0.02  # of a row; an estimate farther outside of its interval is worth a word


def ends(low: float, high: float, otherwise: str) -> str:
    """The ends of an interval of a coefficient, or what is said where there is none."""
    return f"{low:z.3f} – {high:z.3f}" if low == low else otherwise


@cached
def sampled(dataset: CrowdDataset, truth: Reference | None = None) -> ConfusionIntervals:
    """95 % intervals of Dawid & Skene's confusions, the true labels drawn; of large datasets with them fixed.

    Args:
        dataset: whose workers.
        truth: what is known of the tasks; None: nothing.
    """
    known, n = None if truth is None else truth.labels, dataset.n_classes
    if dataset.n_annotations * n > _WORK or 8 * _SAMPLES * dataset.n_workers * n * n > _BYTES:
        return analysis.credible_intervals(DawidSkene().fit(dataset, known=known))
    return analysis.sampled_confusion(dataset, known=known, n_samples=_SAMPLES, burn_in=_BURN_IN)


def in_words(found: ConfusionIntervals, *, uncertain: bool = True) -> str:
    """What the intervals hold, and where they do not fit the model.

    Args:
        found: the intervals.
        uncertain: whether the true labels are inferred, not known.
    """
    words = f"{100 * found.level:.0f} % intervals for each cell"
    if "draws" in found.how:
        drawn = "the true labels" if uncertain else "unknown true labels"
        words += f" by Dawid & Skene's model. They include the uncertainty of {drawn}."
        words += _HELD if uncertain else ""
    else:
        unknown = "the true labels" if uncertain else "unknown true labels"
        words += (
            f". They leave out the uncertainty of {unknown}: with so many labels or classes, drawing them takes long."
        )
    outside = np.maximum(found.low - found.estimate, found.estimate - found.high) > _CLEARLY
    if outside.any():
        words += (
            f" In {outside.sum()} cells the estimate is clearly outside its interval: there the model's smoothing or "
            "pooling outweighs this worker's labels."
        )
    return words
