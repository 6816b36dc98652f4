"""Ratings: crowds whose labels are numbers; who is off by how much, and what the crowd has in common."""

from __future__ import annotations

import streamlit as st

from crowdcore.data.uploads import dataset_title
from crowdcore.exhibits import Exhibit, ratings
from crowdcore.exhibits.ratings import RatingView
from dashboard import state
from dashboard.components.exhibit import folded, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, live
from dashboard.components.link import link
from dashboard.components.rated_tasks import in_numbers, looked_at
from dashboard.components.text import as_text
from dashboard.services import datasets


@fragment
def draw() -> None:
    """What the ratings show, compared with the reference."""
    heading()
    view, which = looked_at(), state.get("view")
    if which == "shared":
        draw_one(ratings.shared_bias(view), "shared", "Click a dot to see the tasks behind it.", part_of(view))
    elif which == "pairs":
        draw_one(ratings.errors_alike(view), "pairs", "Click a cell to see the tasks that both rated.", pair_of(view))
    elif which == "truth":
        show(ratings.aggregators(view), "aggregators", file=f"{view.dataset.name}-ratings-aggregation", noun="method")
    else:
        draw_one(ratings.worker_bias(view), "workers", "Click a dot to see the worker's ratings.", worker_of(view))
        in_numbers(view)


def draw_one(exhibit: Exhibit, key: str, hint: str, tasks: tuple[str, dict[str, str]] | None) -> None:
    """A figure, the link to the tasks behind what was clicked, and the table."""
    show(exhibit, key, file=exhibit.name)
    with live(f"{key}-clicked"):
        if tasks is None:
            if exhibit.figure is not None:
                st.caption(hint)
        else:
            link("tasks", as_text(tasks[0]), **tasks[1])
    table = Exhibit(exhibit.name, exhibit.title, None, exhibit.table)
    folded("As a table", lambda: show(table, f"{key}-rows", file=exhibit.name))


def worker_of(view: RatingView) -> tuple[str, dict[str, str]] | None:
    """The link to the ratings of the worker chosen."""
    worker = state.one_of("worker", view.workers)
    return (f"All ratings of {worker}", {"worker": worker}) if worker else None


def pair_of(view: RatingView) -> tuple[str, dict[str, str]] | None:
    """The link to the tasks that the two workers chosen rated."""
    worker, other = (state.one_of(key, view.workers) for key in ("worker", "other"))
    return (f"Tasks of {worker} and {other}", {"worker": worker, "other": other}) if worker and other else None


def part_of(view: RatingView) -> tuple[str, dict[str, str]] | None:
    """The link to the tasks whose truth lies in the part of the range chosen."""
    table = ratings.shared_bias(view).table
    part = state.index_of("part", [str(n) for n in range(len(table))])
    if part is None:
        return None
    least, most = (f"{table[end].iloc[part]:g}" for end in ("truth from", "truth to"))
    where = {"column": view.truth.name, "least": least, "most": most}
    return f"Tasks of {view.truth.name} from {least} to {most}", where


def of_classes() -> None:
    """Where the labels are classes: the datasets whose labels are numbers."""
    st.title("Ratings")
    st.info(
        f"The labels of {as_text(state.get('dataset'))} are classes, and this page is about numbers. Choose a dataset "
        "of ratings, or open a file of your own.",
        icon=":material/star_half:",
    )
    for name in datasets.rating_datasets():
        link("ratings", as_text(dataset_title(name)), dataset=name, reference=None)


page("ratings", of_classes, ratings=draw)
