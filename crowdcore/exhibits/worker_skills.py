"""Workers by a run: skills, distances and errors, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crowdcore import figures
from crowdcore.exhibits.confusions import confusions, errors, has_truth, order
from crowdcore.exhibits.exhibit import Exhibit, escaped
from crowdcore.exhibits.recovered import RunView, recovered, skill_comparison
from crowdcore.figures.theme import PALETTE, method_color

_WORDS = {
    "skill": "Skill: mean of the diagonal.",
    "distance from common": "Distance from common: mean squared difference, cell by cell.",
    "common noise": "Common noise: mean ω of the worker's annotations.",
    "observed skill": "Observed skill: over the classes that the worker labelled.",
}
"""Column -> its meaning."""


def recovered_workers(view: RunView, sort: str = "annotations", beside: RunView | None = None) -> Exhibit:
    """One row per worker: skills, distance from common, common noise; index = worker number; a click chooses it.

    Args:
        sort: one of `confusions.SORTS`.
        beside: another run, whose skills are shown too.
    """
    recovery, compared = recovered(view), skill_comparison(view)
    columns: dict[str, object] = {
        "worker": list(view.workers),
        "annotations": recovery.n_annotations,
        "observed skill": compared.observed,
    }
    for words, values, spread in (
        ("skill", recovery.skill, recovery.skill_spread),
        ("distance from common", recovery.distance, recovery.distance_spread),
        ("common noise", recovery.common_share, recovery.common_share_spread),
    ):
        if values is not None:
            columns[words] = values
            if len(recovery.seeds) > 1:
                columns[f"{words} ±"] = spread
    if recovery.group is not None:
        columns["group"] = recovery.group + 1
    if beside is not None:
        columns["skill of the other run"] = recovered(beside).skill
    own = errors(view, view)[0]
    if not np.isnan(own).all():
        columns["error" if has_truth(view) else "distance from observed"] = own
    if has_truth(view):
        true = confusions(view, "truth").matrices
        columns["true skill"] = np.trace(true, axis1=1, axis2=2) / len(recovery.classes)
    table = pd.DataFrame(columns).iloc[order(view, sort)]
    about = [f"Numbers: {recovery.combined}.", *(text for column, text in _WORDS.items() if column in table)]
    about += ["±: standard deviation over seeds."] if len(recovery.seeds) > 1 else []
    notes = (" ".join(about),)
    title = f"What {view.run_name} says of each worker ({recovery.combined})"
    return Exhibit("workers", title, None, table, notes, "", view.to_worker)


def skills(views: Sequence[RunView], worker: int | None = None) -> Exhibit:
    """Learnt skills of runs, or of the seeds of one, beside the observed ones.

    Args:
        views: of one dataset and reference.
        worker: number of a worker to mark.
    """
    names = [view.run_name for view in views]
    if len(set(names)) < len(names):
        names = [f"{view.run_name}, seed {view.shown_seed}" for view in views]
    colors = [method_color(view.result.method) for view in views]
    if len(set(colors)) < len(colors):
        colors = [PALETTE[k % len(PALETTE)] for k in range(len(views))]
    comparisons = [skill_comparison(view) for view in views]
    drawn = {escaped(n): view.drawable(of) for n, view, of in zip(names, views, comparisons, strict=True)}
    tables = [view.in_order(view.renamed(of).frame()) for view, of in zip(views, comparisons, strict=True)]
    if len(tables) > 1:
        tables = [table.assign(run=name) for name, table in zip(names, tables, strict=True)]
    notes = [
        f"Correlation of learnt with observed skill ({of.reference}; {f'{view.run_name}, ' * (len(views) > 1)}"
        f"{of.combined}): {_plain(of.correlation)}, weighted by annotations {_plain(of.weighted)}, by ranks "
        f"{_plain(of.rank_correlation)}."
        for view, of in zip(views, comparisons, strict=True)
    ]
    return Exhibit(
        "skills",
        "Skill of each worker, learnt and observed",
        figures.skills(drawn, colors=colors, highlight=worker),
        pd.concat(tables, ignore_index=True),
        tuple(notes),
        "Learnt skill of each worker beside the observed one",
    )


def _plain(value: float) -> str:
    return "–" if value != value else f"{value:z.2f}"
