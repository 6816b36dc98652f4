"""Labellings in pairs: a matrix of how often each two differ, and the tasks behind the chosen pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.figure import figure
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.pickers import picker
from dashboard.components.table import table
from dashboard.components.text import as_text, count, percent

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore.analysis import LabelDisagreement


def differing(
    found: LabelDisagreement,
    drawn: go.Figure,
    pair: tuple[int, int],
    tasks_of: Callable[[str, str], pd.DataFrame],
    name: str,
    what: str,
    reviewable: bool = False,
) -> None:
    """The matrix, the chosen pair in words, and its tasks as a table and as cards.

    Args:
        found: the labellings in pairs, two or more.
        drawn: their matrix.
        pair: rows of the two to look at while nobody has chosen.
        tasks_of: makes the table of the tasks on which two of them (by name) differ; index = task number.
        name: begin of the downloads' file names.
        what: what the labellings are, in the plural.
        reviewable: whether their names are references, so that the page Review can show the tasks.
    """
    names = list(found.names)
    first, second = (state.index_of(key, names) for key in ("first", "second"))
    first, second = (pair[0] if first is None else first, pair[1] if second is None else second)

    def chosen(row: int, column: int) -> None:
        state.put(first=names[row], second=names[column])

    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        figure(
            drawn,
            "disagreement",
            name=f"{name}-label-disagreement",
            alt=f"Share of tasks that each pair of {what} labels differently",
            data=found.frame,
            cell=(first, second),
            on_cell=chosen,
        )
    with grid.cell():
        with st.container(horizontal=True):
            picker("First", "first", names, first)
            picker("Second", "second", names, second)
        _behind(found, first, second, tasks_of, name)
    if found.differ[first, second]:
        tasks = tasks_of(names[first], names[second])
        captions = [f"{x} or {y}" for x, y in zip(tasks["first"], tasks["second"], strict=True)]
        cards(state.get("dataset"), list(tasks.index), captions, "differ")
        if reviewable:
            link("review", "Review and mark these tasks", by="task", reference=names[first], against=names[second])


def _behind(found: LabelDisagreement, a: int, b: int, tasks_of: Callable[[str, str], pd.DataFrame], name: str) -> None:
    """How often a pair differs, who is right there, and the tasks."""
    first, second = found.names[a], found.names[b]
    st.markdown(
        f"**{as_text(first)}** and **{as_text(second)}** differ on **{count(found.differ[a, b], 'task')}** "
        f"of {found.compared[a, b]:,} ({percent(found.share[a, b])})."
    )
    st.caption(exhibits.aggregation.pair_in_words(found, a, b))
    if found.differ[a, b]:
        table(tasks_of(first, second), "differing", name=f"{name}-{first}-or-{second}", noun="task", rows=7)
