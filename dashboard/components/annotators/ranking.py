"""Who is good, who is not, and what the labels would be without some."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import View
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.media import cards
from dashboard.components.text import as_text, count, percent


def ranking() -> None:
    """The workers with their intervals, as a figure and as a table; then the what-if."""
    view = looked_at()
    show(exhibits.workers.worker_ranking(view), "ranking", notes=False)
    found = exhibits.workers.worker_quality(view)
    show(found, "quality", noun="worker", rows=14, limits="")
    st.header("What if you left some out?")
    without = [name for name in state.get_many("without") if name in view.workers]
    st.multiselect("Leave out", view.listed, placeholder="Choose workers", **state.bind("without", without))
    flagged = found.table.loc[found.table["signal"] != "", "worker"].tolist()
    if not without:
        look = "looks" if len(flagged) == 1 else "look"
        hint = f" {', '.join(map(str, flagged[:6]))} {look} unreliable: see the column “signal”." if flagged else ""
        st.caption(as_text(f"Choose workers to see how the majority vote changes without them.{hint}"))
        return
    consequences(view, tuple(without))


def consequences(view: View, without: tuple[str, ...]) -> None:
    """How the majority vote changes without some workers."""
    found = exhibits.workers.what_if(view, without).table.iloc[0]
    grid = st.grid(4, min_column_width=150, gap="xsmall")
    for what in ("annotations left out", "labels changed", "tasks left without label"):
        with grid.cell():
            st.metric(what.capitalize(), f"{found[what]:,.0f}", border=True)
    change = found["accuracy after"] - found["accuracy before"]
    with grid.cell():
        delta = None if change != change else f"{100 * change:+z.2f} points"
        st.metric("Majority vote is right", percent(found["accuracy after"], 2), delta, border=True)
    changed = exhibits.workers.what_if_tasks(view, without)
    tasks = changed.table
    if len(tasks):
        st.caption(f"{count(len(tasks), 'task')} whose majority vote changes:")
        captions = [f"{a} → {b or 'none'}" for a, b in zip(tasks["before"], tasks["after"], strict=True)]
        cards(state.get("dataset"), tasks.index.tolist(), captions, "what-if")
        show(changed, "changed", file=f"{state.get('dataset')}-what-if", noun="task")
