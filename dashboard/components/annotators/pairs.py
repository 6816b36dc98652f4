"""Who makes the same mistakes on the same tasks as whom."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.frame import hidden_names
from dashboard.components.table import table
from dashboard.components.text import as_text, count

__all__ = ["pairs"]

LEVEL = 0.05


def pairs() -> None:
    """Pairs that share mistakes, those beyond the crowd's own habit first."""
    dataset, reference = state.get("dataset"), state.get("reference")
    found = services.pair_table(dataset, reference, hidden_names())
    if not len(found):
        st.info("No two annotators were wrong alike on two tasks or more.")
        return
    beyond = int((found["q_beyond"] <= LEVEL).sum())
    if beyond:
        st.warning(
            f"**{count(beyond, 'pair')}** of annotators with more mistakes in common than is usual in this crowd "
            "(q ≤ 0.05). They may copy, have shared a teacher, or be one person.",
            icon=":material/group:",
        )
    else:
        st.success("No two annotators share more mistakes than is usual in this crowd.", icon=":material/check_circle:")

    def chosen(row: int) -> None:
        state.put(worker=str(found["worker_a"][row]), other=str(found["worker_b"][row]), view="Distances")

    table(found, "pairs", name=f"{dataset}-pairs-{reference}", noun="pair", rows=14, on_row=chosen)
    for note in services.pair_notes(dataset, reference):
        st.caption(as_text(note))
