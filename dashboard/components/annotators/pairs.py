"""Who makes the same mistakes on the same tasks as whom."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard.components.exhibit import looked_at, show
from dashboard.components.text import count


def pairs() -> None:
    """Pairs that agree beyond what skills and tasks explain, and those wrong alike."""
    view = looked_at()
    found = exhibits.workers.worker_pairs(view)
    if not len(found.table):
        st.info(
            "Tested was agreement, right or wrong alike, given skill and difficulty: no pair stands out, and no two "
            "workers were wrong alike on two tasks or more."
        )
        return
    beyond = int((found.table["q_beyond"] <= exhibits.workers.LEVEL).sum())
    if view.dataset.sentences is not None:
        st.info(
            "Agreement beyond chance is not tested here: the tokens of a sentence are not independent tasks, so all q "
            "values below are too small.",
            icon=":material/info:",
        )
    elif beyond:
        st.warning(
            f"Tested was agreement, right or wrong alike, given skill and difficulty: **{count(beyond, 'pair')}** of "
            f"workers {'agrees' if beyond == 1 else 'agree'} more than both explain (q ≤ 0.05). They may copy, have "
            "shared a teacher, or be one person.",
            icon=":material/group:",
        )
    else:
        st.success(
            "Tested was agreement, right or wrong alike, given skill and difficulty: no pair stands out.",
            icon=":material/check_circle:",
        )
    show(found, "pairs", noun="pair", rows=14)
