"""A dataset at a glance: counts, noise, agreement, balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.datasets import drawable, reference, workers

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import Agreement, Summary

__all__ = [
    "agreement",
    "agreement_figure",
    "agreement_table",
    "class_table",
    "overview_data",
    "overview_figures",
    "summary",
    "worker_table",
]


@kept
def summary(opened: CrowdDataset, which: str) -> Summary:
    """Counts, noise rates, balance and entropies."""
    from crowdcore import analysis

    return analysis.summary(opened, reference(opened, which))


@kept
def agreement(opened: CrowdDataset) -> Agreement:
    """Agreement coefficients with their intervals."""
    from crowdcore import analysis

    return analysis.agreement(opened)


def agreement_table(name: str) -> pd.DataFrame:
    """Coefficient, value, 95 % interval and the overlap it rests on."""
    import pandas as pd

    rows = agreement(name).coefficients
    return pd.DataFrame(
        {
            "coefficient": [c.name for c in rows],
            "value": [c.value for c in rows],
            "95 % interval": [f"{c.low:.3f} – {c.high:.3f}" if c.low == c.low else c.state for c in rows],
            "tasks": [c.tasks for c in rows],
        }
    )


def class_table(name: str, which: str) -> pd.DataFrame:
    """Per class: how often it is true and given, and the entropy of the labels its tasks get."""
    found = summary(name, which)
    return found.balance.frame().assign(**{"entropy (nats)": found.entropy.entropy})


def worker_table(name: str, hidden: bool) -> pd.DataFrame:
    """Annotations of each worker, most first; index = worker number."""
    import pandas as pd

    total = dataset(name).labels_per_worker
    order = np.argsort(-total, kind="stable")
    called = np.array(workers(name, hidden), dtype=object)
    return pd.DataFrame({"worker": called[order], "annotations": total[order]}, index=order)


@kept
def overview_figures(opened: CrowdDataset, which: str) -> dict[str, go.Figure]:
    """Histograms of annotations per worker and per task, class balance, entropies."""
    from crowdcore import figures

    found = drawable(summary(opened, which))
    return {
        "annotations-per-worker": figures.labels_per_worker(found),
        "annotations-per-task": figures.labels_per_task(found),
        "class-balance": figures.class_balance(found.balance),
        "annotation-entropy": figures.annotation_entropy(found.entropy),
    }


@kept
def agreement_figure(opened: CrowdDataset) -> go.Figure:
    """Each coefficient with its interval."""
    from crowdcore import figures

    return figures.agreement(drawable(agreement(opened)))


def overview_data(name: str, which: str, figure: str, hidden: bool) -> pd.DataFrame:
    """The table behind one of `overview_figures`."""
    import pandas as pd

    found = summary(name, which)
    if figure == "annotations-per-worker":
        return worker_table(name, hidden)
    if figure == "annotations-per-task":
        tasks = found.tasks_by_annotations
        return pd.DataFrame({"annotations": np.arange(len(tasks)), "tasks": tasks})
    return class_table(name, which)
