"""The workers by what a run made of them: skills, distances and errors, as a table and as a figure."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from crowdcore.core.drawable import drawable
from dashboard.services.datasets import workers
from dashboard.services.panels import OBSERVED, TRUTH, has_truth, order_of, panel, side_by_side
from dashboard.services.recovered import EACH, View, recovered, skill_comparison
from dashboard.services.recovery_errors import errors
from dashboard.services.runs import result, run as run_of, run_title

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = ["recovered_workers", "skills_figure", "skills_table"]


def recovered_workers(name: str, which: str, view: View, beside: str, sort: str, hidden: bool) -> pd.DataFrame:
    """One row per worker in the order of ``sort``: skills, distance from common, common noise; index = worker."""
    import pandas as pd

    found, compared = recovered(name, view), skill_comparison(name, which, view)
    columns: dict[str, object] = {
        "worker": workers(name, hidden),
        "annotations": found.n_annotations,
        "observed skill": compared.observed,
    }
    for words, values, spread in (
        ("skill", found.skill, found.skill_spread),
        ("distance from common", found.distance, found.distance_spread),
        ("common noise", found.common_share, found.common_share_spread),
    ):
        if values is not None:
            columns[words] = values
            if len(found.seeds) > 1:
                columns[f"{words} ±"] = spread
    if found.group is not None:
        columns["group"] = found.group + 1
    if beside:
        columns["skill of the other run"] = recovered(name, view._replace(run=beside)).skill
    own = errors(name, which, view)[0]
    if not np.isnan(own).all():
        columns["error" if has_truth(name) else "distance from observed"] = own
    if has_truth(name):
        true = panel(name, which, view._replace(run=TRUTH)).matrices
        columns["true skill"] = np.trace(true, axis1=1, axis2=2) / len(found.classes)
    return pd.DataFrame(columns).iloc[order_of(name, view, sort)]


def skills_figure(name: str, which: str, view: View, beside: str, worker: int | None, hidden: bool) -> go.Figure:
    """Learnt skills of one run, of its seeds one by one, or of two runs, on those that the labels show."""
    from crowdcore import figures
    from crowdcore.figures.theme import PALETTE, method_color

    called = workers(name, hidden)
    runs = [of for of in side_by_side(name, view, beside) if of.run not in {OBSERVED, TRUTH}]
    titles = [run_title(run_of(of.run)) + (f", seed {of.seed}" if view.seed == EACH else "") for of in runs]
    titles = [f"{t} ({of.run[:4]})" if titles.count(t) > 1 else t for t, of in zip(titles, runs, strict=True)]
    colors = [method_color(result(of.run).method) for of in runs]
    if len(set(colors)) < len(colors):
        colors = [PALETTE[k % len(PALETTE)] for k in range(len(runs))]
    return figures.skills(
        {
            html.escape(title, quote=False): drawable(skill_comparison(name, which, of), called)
            for title, of in zip(titles, runs, strict=True)
        },
        colors=colors,
        highlight=worker,
    )


def skills_table(name: str, which: str, view: View, hidden: bool) -> pd.DataFrame:
    """The numbers of `skills_figure` for one run."""
    return skill_comparison(name, which, view).frame().assign(worker=workers(name, hidden))
