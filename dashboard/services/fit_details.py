"""One fit of an aggregator: its confusions, how well the data determine them, and its labels to take along."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.aggregate import escaped
from dashboard.services.datasets import workers
from dashboard.services.fits import fitted

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import ConfusionIntervals

__all__ = [
    "busiest",
    "common_confusions",
    "common_figure",
    "common_table",
    "intervals_in_words",
    "labels_csv",
    "worker_intervals",
    "worker_intervals_figure",
    "worker_intervals_table",
]

CLEARLY = 0.02


def common_confusions(name: str, fit: str) -> list[str]:
    """What the confusions that workers share are called, if the fit found any."""
    common = fitted(name, fit).common_confusion
    if common is None:
        return []
    return ["Common"] if common.ndim == 2 else [f"Common of group {g + 1}" for g in range(len(common))]


@kept
def common_figure(opened: CrowdDataset, fit: str, group: int) -> go.Figure:
    """One of the confusions that workers share."""
    from crowdcore import figures

    found = fitted(opened, fit)
    assert found.common_confusion is not None
    common = found.common_confusion if found.common_confusion.ndim == 2 else found.common_confusion[group]
    classes = [escaped(c) for c in opened.classes]
    return figures.confusion(common, classes, title="Common confusion", subtitle=escaped(fit))


def common_table(name: str, fit: str, group: int) -> pd.DataFrame:
    """The numbers of `common_figure`."""
    import pandas as pd

    found = fitted(name, fit).common_confusion
    assert found is not None
    common = found if found.ndim == 2 else found[group]
    true, given = (axis.ravel() for axis in np.indices(common.shape))
    names = np.array(dataset(name).classes, object)
    return pd.DataFrame({"true": names[true], "given": names[given], "percent": 100 * common.ravel()})


def busiest(name: str) -> int:
    """The worker with most annotations."""
    return int(dataset(name).labels_per_worker.argmax())


def worker_intervals(name: str, fit: str, worker: int) -> ConfusionIntervals | None:
    """Credible intervals of one worker's confusion (the only worker in it); None for methods without confusions."""
    from crowdcore import analysis

    found = fitted(name, fit)
    if found.counts is None or found.confusion is None:
        return None
    return analysis.credible_intervals(
        replace(found, counts=found.counts[[worker]], confusion=found.confusion[[worker]])
    )


def worker_intervals_figure(name: str, fit: str, worker: int, hidden: bool) -> go.Figure:
    """One worker's confusion, each cell with its interval."""
    from crowdcore import figures

    intervals, counts = worker_intervals(name, fit, worker), fitted(name, fit).counts
    assert intervals is not None and counts is not None
    opened = dataset(name)
    called = workers(name, hidden)[worker]
    labels = f"{opened.labels_per_worker[worker]:,} labels"
    return figures.confusion_intervals(
        replace(intervals, reference=escaped(fit)),
        0,
        [escaped(c) for c in opened.classes],
        counts[worker],
        title=f"{escaped(called)} ({labels})",
    )


def worker_intervals_table(name: str, fit: str, worker: int) -> pd.DataFrame:
    """Every cell of one worker's confusion that rests on something: percent, interval, expected labels."""
    import pandas as pd

    intervals, counts = worker_intervals(name, fit, worker), fitted(name, fit).counts
    assert intervals is not None and counts is not None
    true, given = np.nonzero(np.isfinite(intervals.estimate[0]))
    names = np.array(dataset(name).classes, object)
    return pd.DataFrame(
        {
            "true": names[true],
            "given": names[given],
            "percent": 100 * intervals.estimate[0, true, given],
            "low": 100 * intervals.low[0, true, given],
            "high": 100 * intervals.high[0, true, given],
            "expected labels": counts[worker, true, given],
        }
    )


def intervals_in_words(name: str, fit: str, worker: int) -> str:
    """What the intervals rest on, and where they do not fit the model."""
    found = worker_intervals(name, fit, worker)
    assert found is not None
    words = (
        f"{100 * found.level:.0f} % intervals: {found.how}; the doubt about the true labels themselves comes on top."
    )
    outside = np.maximum(found.low - found.estimate, found.estimate - found.high) > CLEARLY
    if outside.any():
        words += (
            f" In {outside.sum()} cells the estimate lies clearly outside its interval: there the model's smoothing, "
            "or what it shares between workers or cells, weighs more than this worker's labels."
        )
    return words


def labels_csv(name: str, fit: str) -> bytes:
    """Labels and posterior as a CSV that no spreadsheet takes for formulas."""
    from crowdcore.data.writers import write_aggregated

    found = fitted(name, fit)
    with tempfile.TemporaryDirectory() as folder:
        path = write_aggregated(dataset(name), found.labels, Path(folder) / "labels.csv", posterior=found.posterior)
        return path.read_bytes()
