"""Runs: learn from a crowd in the background, watch it, and tick what other pages show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crowdcore.data.uploads import dataset_title
from crowdcore.learning.learners import embeddable, plantable, untrainable
from dashboard import state
from dashboard.components import run_table
from dashboard.components.embedding_form import embedding_form
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.link import link
from dashboard.components.run_board import follow_runs, search_board
from dashboard.components.run_chosen import about_chosen
from dashboard.components.run_curves import curves
from dashboard.components.search_form import search_form
from dashboard.components.text import as_text
from dashboard.components.train_form import form
from dashboard.services import opening
from dashboard.services.runs import all_runs, own, training_fault

if TYPE_CHECKING:
    from crowdcore.runs import Run


def draw() -> None:
    """The page."""
    heading()
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    dataset = state.get("dataset")
    with st.spinner("Looking up the runs …"):
        listed = all_runs()
    here = own(listed, dataset)
    opened = opening.labelled(dataset)
    if why := untrainable(opened):
        noun = embeddable(opened)
        embedding_form(noun) if noun else nothing_to_learn(why)
    else:
        forms(begins=not here)
    # Streamlit knows a fragment by its place: were one moved by what comes and goes above, as when a run ends, a
    # click on its way to it would be lost.
    table, rows, drawn, searches, chosen = (st.container() for _ in range(5))
    ticked: list[Run] = []
    with table:
        if here or state.get_many("datasets") or state.get_many("runs"):
            ticked = run_table.board(listed)
        elif listed:
            others = list(dict.fromkeys(run.spec.dataset for run in listed))
            link("train", "Runs of other datasets", icon="table_rows", datasets=others)
        if not here and not why:
            st.info(
                f"Nothing has been trained on {as_text(dataset_title(dataset))} yet. Choose methods above and press "
                "**Start**: you can close the page while they train, and come back to compare what they learnt.",
                icon=":material/model_training:",
            )
    shown = [run for run in ticked if run in here]
    with rows:
        follow_runs(shown, listed)
    if plain := [run for run in shown if run.spec.search is None]:
        with drawn:
            curves(plain)
    with searches:
        for run in shown:
            if run.spec.search is not None:
                search_board(run)
    with chosen:
        fragment(lambda: about_chosen(ticked))()


def forms(begins: bool) -> None:
    """What to train, or what to search, folded once there are runs."""
    opened = st.session_state.setdefault("train-open", {})
    begins = opened.setdefault(state.get("dataset"), begins or bool(state.chosen("methods") or state.chosen("view")))
    names, icon = ["Train", "Search settings"], ":material/model_training:"
    shown = st.expander("Train", expanded=begins, key=f"train-form-{begins}", on_change="rerun", icon=icon)
    if shown.open:
        with shown:
            view = state.one_of("view", names) or names[0]
            st.segmented_control("What", names, label_visibility="collapsed", required=True, **state.bind("view", view))
            form() if view == names[0] else search_form()


def nothing_to_learn(why: str) -> None:
    """What would make this dataset one that can be trained on."""
    st.info(why, icon=":material/image_not_supported:")
    with st.container(horizontal=True):
        link("overview", "Open a file", icon="upload_file", view="Open a file")
        if plantable(opening.labelled(state.get("dataset"))):
            link("sandbox", crowd="conal")  # which plants on the dataset's own tasks
        else:
            link("aggregate")


page("train", draw, ratings=draw)
