"""Shared mistakes: the matrix, one of its cells, and who and what is behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.datasets import drawable, reference, workers

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import MistakeCell, SharedMistakes
    from crowdcore.figures.shared_mistakes import Layer

__all__ = [
    "LAYERS",
    "cell_tasks",
    "cell_workers",
    "in_words",
    "mistake_cell",
    "most_shared",
    "shared_mistakes",
    "shared_mistakes_figure",
    "with_intervals",
]

LAYERS = {
    "percent": "Share of workers",
    "workers": "Workers",
    "tasks": "Tasks",
    "annotations": "Annotations",
    "q-value": "Chance (q-value)",
}
RESAMPLES = 200
LEVEL = 0.05


@kept
def shared_mistakes(opened: CrowdDataset, which: str) -> SharedMistakes:
    """Figure 1's matrix with its test."""
    from crowdcore import analysis

    return analysis.shared_mistakes(opened, reference(opened, which))


@kept
def with_intervals(opened: CrowdDataset, which: str) -> SharedMistakes:
    """The same with bootstrap intervals, which take longer than all the rest."""
    from crowdcore import analysis

    return analysis.shared_mistakes(opened, reference(opened, which), resamples=RESAMPLES)


@kept
def mistake_cell(opened: CrowdDataset, which: str, true: int, given: int) -> MistakeCell:
    """Who gave the label ``given`` to tasks of class ``true``, and to which."""
    from crowdcore import analysis

    return analysis.mistake_cell(opened, reference(opened, which), true, given)


def most_shared(name: str, which: str) -> tuple[int, int]:
    """True class and given label of the mistake that most workers made."""
    workers_of = np.array(shared_mistakes(name, which).workers)
    np.fill_diagonal(workers_of, -1)
    true, given = np.unravel_index(int(workers_of.argmax()), workers_of.shape)
    return int(true), int(given)


@kept
def shared_mistakes_figure(opened: CrowdDataset, which: str, layer: str, marks: bool) -> go.Figure:
    """The heatmap; ``marks`` tells shared mistakes from those that chance explains."""
    from crowdcore import figures

    result = drawable(shared_mistakes(opened, which))
    return figures.shared_mistakes(result, cast("Layer", layer), significance=marks, level=LEVEL)


def cell_workers(name: str, which: str, true: int, given: int, hidden: bool) -> pd.DataFrame:
    """Workers behind a cell, those with most annotations there first; index = worker number."""
    import pandas as pd

    found, opened = mistake_cell(name, which, true, given), dataset(name)
    called = workers(name, hidden)
    total = opened.labels_per_worker[found.workers]
    return pd.DataFrame(
        {
            "worker": [called[w] for w in found.workers],
            "times": found.worker_times,
            "labels": total,
            "share": found.worker_times / total,
        },
        index=found.workers,
    )


def cell_tasks(name: str, which: str, true: int, given: int) -> pd.DataFrame:
    """Tasks behind a cell, those with most annotations there first; index = task number."""
    import pandas as pd

    found, opened = mistake_cell(name, which, true, given), dataset(name)
    total = opened.labels_per_task[found.tasks]
    return pd.DataFrame(
        {
            "task": opened.task_ids[found.tasks],
            "times": found.task_times,
            "labels": total,
            "share": found.task_times / total,
        },
        index=found.tasks,
    )


def in_words(name: str, which: str, true: int, given: int) -> str:
    """How sure the share of workers is, and whether chance explains it."""
    result = with_intervals(name, which)
    if true == given:
        return "The diagonal: labels that agree with the reference."
    words = []
    if result.low is not None and result.high is not None:
        words.append(f"95 % interval {result.low[true, given]:.1f} – {result.high[true, given]:.1f} %.")
    p, q, expected = (a[true, given] for a in (result.p_value, result.q_value, result.expected))
    if q != q:
        words.append("Whether chance explains it cannot be tested here.")
    else:
        verdict = "More than chance" if q <= LEVEL else "No more than chance explains"
        words.append(f"{verdict}: {expected:.1f} workers expected, p = {p:.2g}, q = {q:.2g}.")
    return " ".join(words)
