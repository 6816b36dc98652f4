"""Who makes the same mistakes on the same tasks as whom."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard.components.exhibit import looked_at, show
from dashboard.components.text import count

__all__ = ["pairs"]


def pairs() -> None:
    """Pairs that share mistakes, those beyond the crowd's own habit first."""
    found = exhibits.workers.worker_pairs(looked_at())
    if not len(found.table):
        st.info("No two annotators were wrong alike on two tasks or more.")
        return
    beyond = int((found.table["q_beyond"] <= exhibits.workers.LEVEL).sum())
    if beyond:
        st.warning(
            f"**{count(beyond, 'pair')}** of annotators with more mistakes in common than is usual in this crowd "
            "(q ≤ 0.05). They may copy, have shared a teacher, or be one person.",
            icon=":material/group:",
        )
    else:
        st.success("No two annotators share more mistakes than is usual in this crowd.", icon=":material/check_circle:")
    show(found, "pairs", noun="pair", rows=14)
