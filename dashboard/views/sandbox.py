"""Sandbox: plant a crowd whose mistakes are known, and see which methods find them again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from crowdcore.learning.learners import suggested_methods, untrainable
from crowdcore.learning.recovery.plan import usual_settings, usual_simulator
from dashboard import state
from dashboard.components.exhibit import show, show_notes
from dashboard.components.frame import heading, page
from dashboard.components.guard import attempt, fragment
from dashboard.components.link import link
from dashboard.components.pickers import several
from dashboard.components.planting import planting
from dashboard.components.run_board import follow_runs
from dashboard.components.run_chosen import cancel_all
from dashboard.components.table import download, table
from dashboard.components.text import as_text, count
from dashboard.components.train_form import train_on
from dashboard.services import opening, sandbox
from dashboard.services.runs import all_runs, training_fault

SUGGESTED = ("conal start=best-of", "crowd-layer start=best-of", "trace")


def training() -> None:
    """Planted crowds, methods, settings, estimate, start."""
    names = _crowds()
    if not names:
        return
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    kinds = {usual_simulator(opening.labelled(name)) for name in names}
    if len(kinds) > 1:
        st.caption("Choose crowds with the same kind of labels: classes, tags or ratings.")
        return
    opened = opening.labelled(names[0])
    why = untrainable(opened)
    if why:
        st.info(as_text(why), icon=":material/block:")
        return
    suggested = SUGGESTED if kinds == {"synthetic"} else suggested_methods(opened)
    fragment(lambda: train_on(names, suggested, usual_settings(opened)))()


def _crowds() -> list[str]:
    """Picker of planted crowds, with their files."""
    known = sandbox.planted_before()
    chosen = _chosen(known)
    if gone := len(state.get_many("planted")) - len(chosen):
        st.caption(f"{count(gone, 'planted crowd')} in this link cannot be found here.")
    if not known:
        st.info("Nothing has been planted yet. Press **Plant** above.", icon=":material/potted_plant:")
        return []
    several("Planted crowds", "planted", known, "Choose crowds to train on, or to see who recovered them", chosen)
    if not chosen:
        st.caption("Plant a crowd, or choose one that was planted before.")
        return []
    words = sandbox.crowd_words(chosen)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for name in chosen[:6]:
            link("overview", as_text(words[name]), icon="database", dataset=name, reference=None)
            about = "Its files; truth.npz holds what generated them"
            made = partial(sandbox.archive, name)
            download("ZIP", made, f"{name}.zip", key=f"zip-{name}", type="tertiary", help=about)
        if len(chosen) > 6:
            st.caption(f"and {len(chosen) - 6} more", width="content")
    return chosen


def _chosen(known: Sequence[str]) -> list[str]:
    """Planted crowds of the address that are here."""
    return [name for name in state.get_many("planted") if name in known]


PAGES, RATED = ("compare", "confusions", "omega", "train"), ("compare", "ratings", "train")


def results() -> None:
    """Show the runs of the chosen crowds and their results."""
    names = _chosen(sandbox.planted_before())
    if not names or training_fault() or len({usual_simulator(opening.labelled(name)) for name in names}) > 1:
        return
    runs, words = sandbox.runs_on(names), sandbox.crowd_words(names)
    if not runs:
        return
    st.header("Who recovered what")
    on = {run.id: words[name] for name, run in runs if len(names) > 1}
    follow_runs([run for _, run in runs if run.state != "finished"], all_runs(), on)
    if waiting := [run.id for _, run in runs if not run.has_ended]:
        stop = ":material/stop_circle:"
        st.button("Cancel all", icon=stop, type="tertiary", on_click=attempt, args=(cancel_all, waiting))
    _recovered()


@fragment
def _recovered() -> None:
    """Figure and table of recovery errors, and links to pages that show runs beside the truth."""
    names = _chosen(sandbox.planted_before())
    with st.spinner("Comparing with the truth …"):
        exhibit = sandbox.errors(names)
    if exhibit is None:
        return
    if exhibit.figure is not None:
        show(exhibit, "recovery", file="recovery", notes=False)
    table(exhibit.table, "recovery", name="recovery", noun="method", rows=min(len(exhibit.table), 12))
    show_notes(exhibit.notes)
    runs = [run.id for run in sandbox.newest(names[:1]).values()]
    with st.container(horizontal=True):  # pages that open the same runs
        for page in RATED if opening.kind(names[0]) == "ratings" else PAGES:
            link(page, runs=runs, dataset=names[0], reference=None)


def draw() -> None:
    """Draw the page."""
    heading()
    planting()
    st.caption(
        "Plant a crowd whose mistakes are known, and see which methods find them again. It is kept as a dataset."
    )
    st.header("Train")
    training()
    results()


page("sandbox", draw)
