"""Who confuses the classes like whom: the clustered distance matrix and its groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.link import link
from dashboard.components.pickers import named, optional
from dashboard.components.text import as_text

if TYPE_CHECKING:
    from crowdcore.analysis.workers.distance import Distance
    from crowdcore.exhibits import View

GROUPS = {"": "By the tree", **{str(n): str(n) for n in range(1, 13)}}
LINKED = 100  # workers up to which each group has a link: an address must stay short
CELLS = 300  # workers up to which every pair is drawn as a cell


def alike() -> None:
    """Matrix with tree on the left, the chosen pair and the groups on the right."""
    view = looked_at()
    with st.container(horizontal=True):
        kind = named("Distance", "kind", exhibits.workers.KINDS, width=260)
        chosen = named("Groups", "groups", GROUPS, width=160)
    groups = int(chosen) if chosen else None
    one, other = (state.one_of(key, view.workers) for key in ("worker", "other"))
    zoom = f"zoom-{state.get('dataset')}-{view.reference}-{kind}-{groups}"

    def zoomed(x: tuple[float, float], y: tuple[float, float]) -> None:
        st.session_state[zoom] = x, y

    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        drawn = exhibits.workers.worker_distances(view, kind, groups, st.session_state.get(zoom))
        cell = exhibits.workers.distance_cell(view, kind, groups, one, other) if one and other else None
        show(drawn, "distance", cell=cell, on_window=zoomed if len(view.workers) > CELLS else None)
    with grid.cell():
        with st.container(horizontal=True):
            optional("Worker", "worker", view.listed, "Choose one")
            optional("Beside", "other", view.listed, "Choose another")
        if one and other:
            both(view, kind, one, other)
        else:
            st.caption("Choose two workers, or click a cell, to compare them.")
        listed = exhibits.workers.worker_groups(view, kind, groups)
        show(listed, "groups", noun="worker", rows=12)
        members = listed.table.groupby("group")["worker"].agg(list)
        with st.container(horizontal=True):
            for group, names in members.items() if len(view.workers) <= LINKED and len(members) <= len(GROUPS) else ():
                link("review", f"Mistakes of group {group}", show="wrong", workers=names)


def both(view: View, kind: Distance, one: str, other: str) -> None:
    """The chosen pair in words, with links to the two."""
    if one == other:
        st.markdown(f"**{as_text(one)}**")
    else:
        words = exhibits.workers.worker_pair(view, one, other, kind).notes[0]
        st.markdown(f"**{as_text(one)}** and **{as_text(other)}**. {as_text(words)}")
    with st.container(horizontal=True):
        for name in dict.fromkeys((one, other)):
            link("annotators", as_text(name), icon="person", view="One worker", worker=name)
        if one != other:
            link("review", "Tasks on which both make the same mistake", show="alike", workers=[one, other])
