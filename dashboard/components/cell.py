"""What lies behind one cell of the shared mistakes: a sentence, the workers, the tasks."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import View
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.guard import live
from dashboard.components.link import REVIEW, link
from dashboard.components.media import cards
from dashboard.components.pickers import picker
from dashboard.components.text import as_text, count, number


def behind(view: View, true: str, given: str) -> None:
    """The chosen cell, which can be chosen here too."""
    with st.container(horizontal=True):
        picker("True class", "true", view.classes, view.class_number(true))
        picker("Given label", "given", view.classes, view.class_number(given))
    found = exhibits.mistakes.mistake(view, true, given)
    cell = found.table.iloc[0]
    words = (
        f"**{count(cell['workers'], 'worker')}** of {cell['of']} ({number(cell['percent'], 1)} %) gave "
        f"**{as_text(given)}** to a task that is **{as_text(true)}**: {count(cell['annotations'], 'annotation')} on "
        f"**{count(cell['tasks'], 'task')}**."
    )
    with live("cell"):
        st.markdown(words)
    st.caption(as_text(found.notes[0]))
    if not cell["workers"]:
        st.info("No worker gave this label here. Choose a coloured cell.", icon=":material/touch_app:")
        return
    sides = {"workers": f"Workers ({cell['workers']:,})", "tasks": f"Tasks ({cell['tasks']:,})"}
    link("review", REVIEW, true=true, given=given)
    side = state.one_of("behind", list(sides)) or "workers"
    st.segmented_control(
        "Behind this cell",
        list(sides),
        required=True,
        format_func=sides.__getitem__,
        label_visibility="collapsed",
        **state.bind("behind", side),
    )
    file = f"{state.get('dataset')}-{view.reference}-{true}-as-{given}-{side}"
    if side == "workers":
        show(exhibits.mistakes.mistake_workers(view, true, given), "who", file=file, noun="worker")
        return
    what = exhibits.mistakes.mistake_tasks(view, true, given)
    times = zip(what.table["times"], what.table["labels"], strict=True)
    captions = [f"{n} of {labels} labels" for n, labels in times]
    cards(state.get("dataset"), what.table.index.tolist(), captions, "cell", true=true, given=given)
    show(what, "what", file=file, noun="task")
