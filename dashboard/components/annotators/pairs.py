"""Who makes the same mistakes on the same tasks as whom."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crowdcore import exhibits
from dashboard.components.exhibit import looked_at, show
from dashboard.components.text import as_text


def pairs() -> None:
    """Pairs that are named, and others that are wrong alike."""
    view = looked_at()
    with st.spinner("Comparing pairs of workers …", show_time=True):
        found = exhibits.workers.worker_pairs(view)
    if not len(found.table):
        st.info(
            "Tested was agreement, right or wrong alike, given skill and difficulty: no pair stands out, and no two "
            "workers were wrong alike on two tasks or more."
        )
        return
    said = as_text(found.notes[0])
    if view.dataset.sentences is not None:
        st.info(said, icon=":material/info:")
    elif found.table["named"].any():
        st.warning(said, icon=":material/group:")
    else:
        st.success(said, icon=":material/check_circle:")
    show(replace(found, notes=found.notes[1:]), "pairs", noun="pair", rows=14)
