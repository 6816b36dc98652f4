"""Who is good, who is not, and what the labels would be without some."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.frame import hidden_names
from dashboard.components.media import cards
from dashboard.components.table import table
from dashboard.components.text import as_text, count, percent

__all__ = ["ranking"]


def ranking() -> None:
    """The table of workers, then the what-if."""
    dataset, reference, hidden = state.get("dataset"), state.get("reference"), hidden_names()
    names = services.workers(dataset, hidden)
    found = services.quality_table(dataset, reference, hidden)

    def chosen(worker: int) -> None:
        state.put(worker=names[worker], view="One worker")

    table(found, "quality", name=f"{dataset}-workers-{reference}", noun="worker", rows=14, on_row=chosen)
    for note in services.quality(dataset, reference).notes:
        st.caption(as_text(note))
    st.header("What if some were left out?")
    without = [name for name in state.get_many("without") if name in names]
    st.multiselect("Leave out", names, placeholder="Choose annotators", **state.bind("without", without))
    flagged = found.loc[found["signal"] != "", "worker"].tolist()
    if not without:
        hint = f" The signals point at {', '.join(map(str, flagged[:6]))}." if flagged else ""
        st.caption(as_text(f"Choose annotators to see how the majority vote changes without them.{hint}"))
        return
    consequences(tuple(names.index(name) for name in without))


def consequences(without: tuple[int, ...]) -> None:
    """How the majority vote changes without some workers."""
    dataset, reference = state.get("dataset"), state.get("reference")
    found = services.what_if(dataset, reference, without)
    grid = st.grid(4, min_column_width=150, gap="xsmall")
    cells = {
        "Annotations left out": f"{found.n_annotations:,}",
        "Labels changed": f"{len(found.changed):,}",
        "Tasks left without label": f"{len(found.unlabelled):,}",
    }
    for label, value in cells.items():
        with grid.cell():
            st.metric(label, value, border=True)
    change = found.accuracy_after - found.accuracy_before
    with grid.cell():
        delta = None if change != change else f"{100 * change:+.2f} points"
        st.metric("Majority vote is right", percent(found.accuracy_after, 2), delta, border=True)
    tasks = services.what_if_table(dataset, reference, without)
    if len(tasks):
        st.caption(f"{count(len(tasks), 'task')} whose majority vote changes:")
        captions = [f"{a} → {b or 'none'}" for a, b in zip(tasks["before"], tasks["after"], strict=True)]
        cards(dataset, tasks.index.tolist(), captions, "what-if")
        table(tasks, "changed", name=f"{dataset}-what-if", noun="task")
