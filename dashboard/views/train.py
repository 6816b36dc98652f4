"""Train: learn from a crowd in the background, and watch it."""

import streamlit as st

from crowdcore.learning.learners import embeddable, plantable, untrainable
from dashboard import state
from dashboard.components.embedding_form import embedding_form
from dashboard.components.frame import heading, page
from dashboard.components.link import link
from dashboard.components.run_board import board, one_run, search_board
from dashboard.components.run_curves import curves, onwards
from dashboard.components.search_form import search_form
from dashboard.components.text import as_text
from dashboard.components.train_form import form
from dashboard.services import opening
from dashboard.services.runs import runs_of, training_fault


def draw() -> None:
    """The page."""
    heading()
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    opened = opening.labelled(state.get("dataset"))
    why = untrainable(opened)
    if why:
        noun = embeddable(opened)
        embedding_form(noun) if noun else nothing_to_learn(why)
        if not runs_of(state.get("dataset")):
            return
    else:
        forms()
    st.header("Runs")
    # Streamlit knows a fragment by its place: were one moved by what comes and goes above, as when a run ends, a
    # click on its way to it would be lost.
    runs, drawn, searches, one = (st.container() for _ in range(4))
    with runs:
        shown = board()
    plain = [run for run in shown if run.spec.search is None]
    if plain:
        with drawn:
            curves(plain)
            onwards(plain)
    with searches:
        for run in shown:
            if run.spec.search is not None:
                search_board(run)
    if shown:
        with one:
            one_run(shown)


def forms() -> None:
    """What to train, or what to search."""
    names = ["Train", "Search settings"]
    train, search = st.tabs(names, **state.bind("view", state.one_of("view", names) or names[0]))
    with train:
        if train.open:
            form()
    with search:
        if search.open:
            search_form()


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
