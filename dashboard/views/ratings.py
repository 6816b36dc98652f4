"""Ratings: crowds whose labels are numbers; who is off by how much, and what the crowd has in common."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import Exhibit, ratings
from dashboard import services, state
from dashboard.components.exhibit import show
from dashboard.components.frame import hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.link import link
from dashboard.components.text import as_text

VIEWS = {"bias": "Workers", "shared": "Shared bias", "pairs": "Who errs alike", "truth": "True ratings"}


def draw() -> None:
    """The page."""
    st.title("Ratings")
    st.caption("For crowds whose labels are numbers. Train, Runs, Compare and Report are for them, too.")
    board()


@fragment
def board() -> None:
    """What the ratings show, compared with the reference."""
    dataset = services.rated(state.get("dataset"))
    view = ratings.rating_view(dataset, state.get("reference"), hidden=hidden_names())
    if dataset.features is not None:
        link("train")
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


def of_classes() -> None:
    """Where the labels are classes: the datasets whose labels are numbers."""
    st.title("Ratings")
    st.info(
        f"The labels of {as_text(state.get('dataset'))} are classes, and this page is about numbers. Choose a dataset "
        "of ratings, or open a file of your own on the Data page.",
        icon=":material/star_half:",
    )
    with st.container(horizontal=True):
        for name in services.rating_datasets():
            link("ratings", as_text(services.title(name)), dataset=name, reference=None)


page("ratings", of_classes, ratings=draw)
