"""Next labels: which tasks to give to which workers, for a budget."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import review
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.pickers import optional, several, switch
from dashboard.components.text import as_text


@fragment
def draw() -> None:
    """Budget, capacity and available workers; the number of labels of each, and the assignments."""
    heading()
    if task := state.get("task"):
        state.put(task=None)
        st.switch_page("views/tasks.py", query_params=state.address("tasks", task=task))
    view = looked_at()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        budget = number("Budget (labels)", "budget", review.BUDGET, 1, "Total number of labels to ask for.")
        chosen = [name for name in state.get_many("available") if name in view.workers]
        shared = -(-3 * budget // max(1, len(chosen or view.workers)))  # thrice an equal share
        capacity = number(
            "Capacity (labels)", "capacity", shared, 0, "Maximum number of labels per worker; 0: no limit."
        )
        workers = several("Available workers", "available", view.listed, "All")
        about = "Workers whom Home flags as guessing, copying or acting with others, or worse than before."
        with st.popover("Filter", icon=":material/filter_alt:"):
            true = optional("True class", "true", view.classes, "Any class")
            given = optional("Given label", "given", view.classes, "Any label")
            flagged = switch("Ask flagged workers, too", "flagged", help=about)
    request = budget, capacity, 0.0, tuple(workers), flagged
    exhibit = review.next_labels(view, *request, true=true, given=given)
    st.markdown(exhibit.notes[0])
    each, which = st.columns([2, 3], gap="large")
    with each:
        st.subheader("Labels of each worker")
        show(review.next_labels(view, *request, "worker", true, given), "each", noun="worker", rows=14)
    with which:
        st.subheader("Assignments")
        show(exhibit, "assignments", file=f"{state.get('dataset')}-next-labels", noun="label", rows=14, notes=False)
    for warning in exhibit.notes[1:-1]:
        st.warning(as_text(warning), icon=":material/warning:")
    st.caption(exhibit.notes[-1])


def number(label: str, key: str, default: int, least: int, hint: str) -> int:
    """A whole number, kept in the address."""
    bound = state.bind(key, state.whole(key, default, least))
    return int(st.number_input(label, least, 10**6, help=hint, width=180, **bound))


page("next", draw)
