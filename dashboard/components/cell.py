"""What lies behind one cell of the shared mistakes: a sentence, the workers, the tasks."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.frame import hidden_names
from dashboard.components.media import cards
from dashboard.components.pickers import picker
from dashboard.components.table import table
from dashboard.components.text import as_text, count, number

__all__ = ["behind"]


def behind(true: int, given: int) -> None:
    """The chosen cell, which can be chosen here too."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    result = services.shared_mistakes(dataset, reference)
    with st.container(horizontal=True):
        picker("True class", "true", classes, true)
        picker("Given label", "given", classes, given)
    cell = services.mistake_cell(dataset, reference, true, given)
    st.markdown(
        f"**{count(len(cell.workers), 'worker')}** of {result.n_workers} "
        f"({number(result.percent[true, given], 1)} %) gave **{as_text(classes[given])}** to a task that is "
        f"**{as_text(classes[true])}**: {count(len(cell.annotations), 'annotation')} on "
        f"**{count(len(cell.tasks), 'task')}**."
    )
    st.caption(services.in_words(dataset, reference, true, given))
    if not len(cell.workers):
        st.info("No worker gave this label here. Choose a coloured cell.", icon=":material/touch_app:")
        return
    sides = {"workers": f"Workers ({len(cell.workers)})", "tasks": f"Tasks ({len(cell.tasks)})"}
    side = state.one_of("behind", list(sides)) or "workers"
    st.segmented_control(
        "Behind this cell",
        list(sides),
        required=True,
        format_func=sides.__getitem__,
        label_visibility="collapsed",
        **state.bind("behind", side),
    )
    name = f"{dataset}-{reference}-{classes[true]}-as-{classes[given]}-{side}"
    if side == "workers":
        table(services.cell_workers(dataset, reference, true, given, hidden_names()), "who", name=name, noun="worker")
        return
    what = services.cell_tasks(dataset, reference, true, given)
    captions = [f"{times} of {labels} labels" for times, labels in zip(what["times"], what["labels"], strict=True)]
    cards(dataset, what.index.tolist(), captions, "cell", true=classes[true], given=classes[given])
    table(what, "what", name=name, noun="task")
