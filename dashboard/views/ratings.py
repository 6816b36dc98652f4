"""Ratings: bias of each worker, errors in common, the crowd's shared bias, and true ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from crowdcore.exhibits import Exhibit, ratings
from crowdcore.exhibits.ratings import RatingView
from dashboard import state
from dashboard.components.exhibit import folded, looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, live
from dashboard.components.link import link
from dashboard.components.rated_tasks import in_numbers
from dashboard.components.text import as_text

VIEWS: dict[str, tuple[Callable[[RatingView], Exhibit], str]] = {
    "shared": (ratings.shared_bias, "Click a dot to see the tasks behind it."),
    "pairs": (ratings.errors_alike, "Click a cell to see the tasks that both rated."),
    "workers": (ratings.worker_bias, "Click a dot to see the worker's ratings."),
}
"""View -> its exhibit, and a hint on what a click does; the last is shown by default."""


@fragment
def draw() -> None:
    """Figure of the ratings against the reference, a link to what was clicked, and the table."""
    heading()
    view, key = looked_at(), state.get("view")
    if key == "truth":
        true_ratings(view)
        return
    key = key if key in VIEWS else "workers"
    make, hint = VIEWS[key]
    exhibit = make(view)
    if exhibit.figure is None:
        st.info(as_text(exhibit.notes[0]), icon=":material/help:")
        return
    show(exhibit, key, file=exhibit.name)
    with live(f"{key}-clicked"):
        if target := clicked(view, key):
            link("tasks", as_text(target[0]), **target[1])
        else:
            st.caption(hint)
    table = Exhibit(exhibit.name, exhibit.title, None, exhibit.table)
    folded("As a table", lambda: show(table, f"{key}-rows", file=exhibit.name))
    if key == "workers":
        in_numbers(view)


def true_ratings(view: RatingView) -> None:
    """Error of each aggregator where there is gold, and the reference's rating of each task."""
    errors = ratings.aggregators(view)
    if errors.table["RMSE"].notna().any():
        show(errors, "aggregators", file=f"{view.dataset.name}-ratings-aggregation", noun="method")
    else:
        st.info(as_text(f"{errors.notes[0]} Another reference gives other ratings."), icon=":material/help:")
    rated = replace(ratings.rated_tasks(view, "spread"), click=None, notes=())
    st.header(as_text(rated.title))
    show(rated, "rated", noun="task", rows=12)


def clicked(view: RatingView, key: str) -> tuple[str, dict[str, str]] | None:
    """Label and address of the ratings behind what was clicked."""
    worker, other = (state.one_of(name, view.workers) for name in ("worker", "other"))
    if key == "workers":
        return (f"All ratings of {worker}", {"worker": worker}) if worker else None
    if key == "pairs":
        return (f"Tasks of {worker} and {other}", {"worker": worker, "other": other}) if worker and other else None
    table = ratings.shared_bias(view).table
    part = state.index_of("part", [str(n) for n in range(len(table))])
    if part is None:
        return None
    least, most = (f"{table[end].iloc[part]:g}" for end in ("truth from", "truth to"))
    where = {"column": view.truth.name, "least": least, "most": most}
    return f"Tasks of {view.truth.name} from {least} to {most}", where


page("ratings", draw)
