"""Who acts together, what they push, and what the labels would be without them."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.link import link
from dashboard.components.table import table
from dashboard.components.text import as_text, count


def coordinated() -> None:
    """Groups with what changes without them, then the chosen group."""
    view = looked_at()
    if view.dataset.sentences is not None:
        st.info(
            "Coordinated workers are not searched for here: the tokens of a sentence are not independent tasks. Spans "
            "shows who makes which errors, Pairs who agrees with whom.",
            icon=":material/format_ink_highlighter:",
        )
        link("spans")
        return
    with st.spinner("Searching for workers who act together …", show_time=True):
        found = exhibits.coordinated.coordinated_workers(view)
    groups = len(found.table)
    if not groups:
        st.success(as_text(found.notes[0]), icon=":material/check_circle:")
        for note in found.notes[1:]:
            st.caption(as_text(note))
        return
    st.warning(
        f"**{count(groups, 'group')}** of workers {'acts' if groups == 1 else 'act'} together more than chance allows. "
        "They may copy, have shared a teacher, or be one person.",
        icon=":material/group:",
    )
    show(found, "coordinated")
    table(found.table, "coordinated-groups", name=f"{state.get('dataset')}-coordinated", noun="group")
    names = [str(number) for number in range(1, groups + 1)]
    chosen = state.one_of("together", names) or names[0]
    st.header("One group")
    with st.container(width=260):
        st.selectbox("Group", names, **state.bind("together", chosen))
    one_group(view, int(chosen))


def one_group(view: exhibits.View, together: int) -> None:
    """Links to the group's labels, the change of the common confusion, and the labels that change."""
    members = exhibits.coordinated.members(view, together)
    with st.container(horizontal=True):
        link("review", "Review their labels against the reference", show="wrong", workers=list(members))
        if len(members) == 2:
            link("review", "Tasks on which both make the same mistake", show="alike", workers=list(members))
        link("annotators", "Without them", icon="person_off", view="Ranking", without=list(members))
    true, given = (state.one_of(key, view.classes) for key in ("true", "given"))
    cell = (view.class_number(true), view.class_number(given)) if true and given else None
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        dark = st.context.theme.type == "dark"
        show(exhibits.coordinated.coordinated_confusion(view, together, dark=dark), "common", cell=cell)
        if cell is None:
            st.caption("Click a cell to see the group's labels behind it.")
        else:
            label = as_text(f"The group's labels “{given}” on tasks that are {true}")
            link("review", label, true=true, given=given, workers=list(members))
    with grid.cell():
        st.caption("Majority-vote labels that change without the group:")
        show(exhibits.workers.what_if_tasks(view, members), "without-group", noun="task", rows=12)
