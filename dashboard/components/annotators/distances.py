"""Who confuses the classes like whom: the clustered distance matrix and its groups."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.pickers import named, optional
from dashboard.components.table import table
from dashboard.components.text import as_text, number

__all__ = ["alike"]

GROUPS = {"": "By the tree", **{str(n): str(n) for n in range(1, 13)}}


def alike() -> None:
    """Matrix with tree on the left, the chosen pair and the groups on the right."""
    dataset, reference, hidden = state.get("dataset"), state.get("reference"), hidden_names()
    with st.container(horizontal=True):
        kind = named("Distance", "kind", services.KINDS, width=260)
        chosen = named("Groups", "groups", GROUPS, width=160)
    groups = int(chosen) if chosen else None
    order = services.order(dataset, reference, kind, groups)
    names = services.workers(dataset, hidden)
    place = {worker: position for position, worker in enumerate(order.order.tolist())}
    pair = state.index_of("worker", names), state.index_of("other", names)
    zoom = f"zoom-{dataset}-{reference}-{kind}-{groups}"

    def clicked(row: int, column: int) -> None:
        state.put(worker=names[order.order[row]], other=names[order.order[column]])

    def zoomed(x: tuple[float, float], y: tuple[float, float]) -> None:
        st.session_state[zoom] = x, y

    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        figure(
            services.distance_figure(dataset, reference, kind, groups, hidden, st.session_state.get(zoom)),
            "distance",
            name=f"{dataset}-distance-{kind}-{reference}",
            alt="Distances between annotators, similar ones side by side",
            data=lambda: services.distance_table(dataset, reference, kind, hidden),
            cell=None if pair[0] is None or pair[1] is None else (place[pair[0]], place[pair[1]]),
            on_cell=clicked,
            on_window=zoomed if len(names) > services.CELLS else None,
        )
    with grid.cell():
        with st.container(horizontal=True):
            optional("Annotator", "worker", names, "Choose one")
            optional("Beside", "other", names, "Choose another")
        if pair[0] is not None and pair[1] is not None:
            both(kind, pair[0], pair[1])
        else:
            st.caption("Choose two annotators, or click a cell, to compare them.")
        found = services.group_table(dataset, reference, kind, groups, hidden)
        table(found, "groups", name=f"{dataset}-groups-{kind}-{reference}", noun="worker", rows=12)
    st.caption(as_text(f"Order and groups: {order.method}."))


def both(kind: services.Kind, a: int, b: int) -> None:
    """The chosen pair in words, with a link to the first one."""
    dataset, reference = state.get("dataset"), state.get("reference")
    names = services.workers(dataset, hidden_names())
    if a == b:
        st.markdown(f"**{as_text(names[a])}**")
    else:
        found = services.distance(dataset, reference, kind)
        shared = f"{found.overlap[a, b]} of {len(found.classes)} classes"
        st.markdown(
            f"**{as_text(names[a])}** and **{as_text(names[b])}**: distance {number(found.matrix[a, b])}, "
            f"both have labelled {shared}. {services.pair_facts(dataset, reference, a, b)}"
        )
    with st.container(horizontal=True):
        for worker in dict.fromkeys((a, b)):
            view = state.address("annotators", view="One worker", worker=names[worker])
            st.page_link(
                "views/annotators.py", label=as_text(names[worker]), query_params=view, icon=":material/person:"
            )
