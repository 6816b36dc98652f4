"""Ratings: crowds whose labels are numbers; who is off by how much, and what the crowd has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import aggregation
from crowdcore.exhibits import Exhibit, ratings
from dashboard import services, state
from dashboard.components.exhibit import show
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.pickers import named
from dashboard.components.text import as_text, count

if TYPE_CHECKING:
    from crowdcore.data import RatingDataset

VIEWS = {"bias": "Workers", "shared": "Shared bias", "pairs": "Who errs alike", "truth": "True ratings"}


def draw() -> None:
    """The page."""
    st.title("Ratings")
    st.caption("For crowds whose labels are numbers. Train, Runs, Compare and Report are for them, too.")
    board()


@fragment
def board() -> None:
    """Which ratings, compared with what, and what they show."""
    folders = services.rating_datasets()
    open_own = {"view": "Open a file"}
    st.page_link("views/data.py", label="Open a file of your own", icon=":material/upload_file:", query_params=open_own)
    if not folders:
        return
    names = sorted(folders, key=lambda name: name != state.get("dataset"))  # first, what other pages are about
    with st.container(horizontal=True):
        chosen = named("Ratings", "ratings", {name: services.title(name) for name in names})
        place = st.container(horizontal=True, vertical_alignment="bottom")
    dataset = opened(chosen, folders[chosen])
    if dataset is None:
        return
    references = [*(["gold"] if dataset.has_gold else []), *aggregation.ratings.names()]
    with place:
        truth = named("Compared with", "truth", {name: name for name in references})
        hidden = state.get("names", "hidden" if services.uploaded(chosen) else "") == "hidden"
        st.toggle("Hide worker names", **state.bind("names", hidden, say=("hidden", "shown")))
    view = ratings.rating_view(dataset, truth, hidden=hidden)
    st.caption(
        f"{count(dataset.n_tasks, 'task')} · {count(dataset.n_workers, 'worker')} · "
        f"{count(dataset.n_annotations, 'rating')} from {dataset.low:g} to {dataset.high:g}"
    )
    if dataset.features is not None:
        address = {**state.address("train"), "dataset": chosen}
        st.page_link("views/train.py", label="Train", icon=":material/model_training:", query_params=address)
    which = state.one_of("view", list(VIEWS)) or "bias"
    st.segmented_control("View", list(VIEWS), format_func=VIEWS.__getitem__, **state.bind("view", which))
    if which == "shared":
        draw_one(ratings.shared_bias(view), "shared")
    elif which == "pairs":
        draw_one(ratings.errors_alike(view), "pairs")
    elif which == "truth":
        show(ratings.aggregators(view), "aggregators", file=f"{dataset.name}-ratings-aggregation", noun="method")
    else:
        draw_one(ratings.worker_bias(view), "workers")
        left, right = st.columns(2)
        with left:
            show(ratings.summary(view), "summary", file=f"{dataset.name}-ratings", noun="measure", rows=12)
        with right:
            show(ratings.agreement(view), "agreement", file=f"{dataset.name}-ratings-agreement", noun="coefficient")


def draw_one(exhibit: Exhibit, key: str) -> None:
    """A figure, and its table below."""
    show(exhibit, key, file=exhibit.name)
    listed = st.expander("As a table", key=f"{key}-table", on_change="rerun")
    if listed.open:
        with listed:
            show(Exhibit(exhibit.name, exhibit.title, None, exhibit.table), f"{key}-rows", file=exhibit.name)


def opened(name: str, path: str) -> RatingDataset | None:
    """The ratings; where some would be left out, only after the user agrees."""
    found = services.examine_ratings(path)
    changes = found.report.changes
    if changes:
        told = st.container()
        agreed = st.toggle("Go on without them", **state.bind("accept", state.get("accept") == "yes"))
        for finding in changes:
            if agreed:
                told.caption(as_text(finding.done))
            else:
                told.warning(as_text(str(finding)), icon=":material/report:")
        if not agreed:
            return None
    return services.as_uploaded(found.dataset(accept=True), name)


page("ratings", draw, classes=False)
