"""Which methods are trained on planted crowds: the ordinary runs, which every other page can open."""

from __future__ import annotations

import streamlit as st

from crowdcore.learning.learners import suggested_methods, untrainable
from crowdcore.learning.recovery.plan import usual_settings, usual_simulator
from dashboard import state
from dashboard.components.guard import fragment
from dashboard.components.table import download
from dashboard.components.text import as_text, count
from dashboard.components.train_form import train_on
from dashboard.services import opening, sandbox
from dashboard.services.runs import training_fault

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
    """The planted crowds that this is about, with their files."""
    known = sandbox.planted_before()
    asked = state.get_many("planted")
    chosen = [name for name in asked if name in known]
    if len(chosen) < len(asked):
        st.caption(f"{count(len(asked) - len(chosen), 'planted crowd')} in this link cannot be found here.")
    if not known:
        st.info(
            "Nothing has been planted yet. Press **Plant** above: the crowd is kept as a dataset, which every page can "
            "open.",
            icon=":material/potted_plant:",
        )
        return []
    st.multiselect(
        "Planted crowds",
        known,
        placeholder="Choose crowds to train on, or to see who recovered them",
        wrap=True,
        **state.bind("planted", chosen),
    )
    if not chosen:
        st.caption("Plant a crowd, or choose one that was planted before.")
        return []
    words = sandbox.crowd_words(chosen)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for name in chosen[:6]:
            st.page_link(
                "views/data.py", label=as_text(words[name]), icon=":material/database:", query_params={"dataset": name}
            )
            download(
                "ZIP",
                lambda name=name: sandbox.archive(name),  # type: ignore[misc]
                f"{name}.zip",
                "application/zip",
                key=f"zip-{name}",
                type="tertiary",
                icon=":material/download:",
                help="Its files; truth.npz holds what generated them",
            )
        if len(chosen) > 6:
            st.caption(f"and {len(chosen) - 6} more", width="content")
    return chosen
