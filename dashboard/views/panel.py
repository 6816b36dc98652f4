"""Panel: how many votes the judges count as, whose errors go together, and who can go."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import panel
from dashboard import state
from dashboard.components.exhibit import follow, looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.text import as_text


@fragment
def draw() -> None:
    """The picture; then the sentence on whom to drop, the items of a cell, and each judge."""
    heading()
    follow()
    view = looked_at()
    errors, alone = panel.panel_errors(view), panel.panel_alone(view)
    if errors.figure is None:
        st.info(as_text(errors.notes[0]), icon=":material/balance:")
        return
    told = panel.headline(view)
    st.markdown(f"**{as_text(told[0])}**")
    left, right = st.columns([3, 2], gap="small")
    with left:
        show(errors, "errors", notes=False)
    with right:
        show(alone, "alone", notes=False)
    st.markdown(as_text(told[-1]))
    for note in (*told[1:-1], *errors.notes[len(told) :], *alone.notes):
        st.caption(as_text(note))
    worker, other = (state.one_of(key, view.workers) for key in ("worker", "other"))
    if worker and other:
        items = panel.panel_items(view, worker, other)
        st.header(as_text(items.title))
        show(items, "items", noun="item", leads=True)
    judges, votes = panel.panel_judges(view), panel.panel_votes(view)
    for exhibit, key, noun in ((judges, "judges", "judge"), (votes, "votes", "measure")):
        st.header(as_text(exhibit.title))
        show(exhibit, key, file=f"{state.get('dataset')}-{exhibit.name}", noun=noun, rows=12, notes=False, leads=True)
        for note in exhibit.notes:
            st.caption(as_text(note))


page("panel", draw)
