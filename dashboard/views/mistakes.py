"""Shared mistakes: heatmap of confused classes, and the workers and tasks behind each cell."""

from dataclasses import replace

import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import View
from dashboard import state
from dashboard.components.exhibit import folded, looked_at, show, show_notes
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, live
from dashboard.components.link import REVIEW, link
from dashboard.components.media import cards
from dashboard.components.pickers import optional, picker, switch
from dashboard.components.recovered import explained
from dashboard.components.text import as_text, count, number
from dashboard.services import datasets


def behind(view: View, true: str, given: str) -> None:
    """The chosen cell, which can be chosen here too."""
    with st.container(horizontal=True):
        picker("True class", "true", view.classes, true)
        picker("Given label", "given", view.classes, given)
    exhibit = exhibits.mistakes.mistake(view, true, given)
    cell = exhibit.table.iloc[0]
    share = f"{number(100 * cell['workers'] / cell['of'], 1)} %"
    words = (
        f"**{count(cell['workers'], 'worker')}** of {cell['of']} ({share}) gave **{as_text(given)}** to a task that is "
        f"**{as_text(true)}**: {count(cell['annotations'], 'annotation')} on **{count(cell['tasks'], 'task')}**."
    )
    with live("cell"):
        st.markdown(words)
    st.caption(as_text(exhibit.notes[0]))
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
    cards(what.table, lambda row: f"{row['times']} of {row['labels']} labels", "cell", true=true, given=given)
    show(what, "what", file=file, noun="task")


def draw() -> None:
    """Draw the page."""
    heading()
    board()
    everything()


@fragment
def board() -> None:
    """Heatmap and chosen cell; the most shared mistake until one is chosen."""
    view = looked_at()
    tested = len(view.classes) > 2
    if not tested:
        st.info(
            "With two classes, sharing a mistake proves nothing: see **Workers**, **Together**.",
            icon=":material/group:",
        )
    top = exhibits.mistakes.most_shared(view)
    true, given = (state.one_of(key, view.classes) or best for key, best in zip(("true", "given"), top, strict=True))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        # Of two classes everybody errs on both: no share of workers tells anything.
        layer = picker("Show", "layer", exhibits.mistakes.LAYERS, None if tested else "annotations", width=200)
        others = [name for name in datasets.references(state.get("dataset")) if name != view.reference]
        beside = optional("Compare with", "beside", others, "Another reference", width=240)
        marks = tested and switch("Mark mistakes shared beyond chance", "marks", usual=True)
    grid = st.grid(2, min_column_width=400, gap="small")
    cell = view.class_number(true), view.class_number(given)
    for key, of in (("first", view), ("second", looked_at(beside) if beside else None)):
        if of:
            with grid.cell():
                drawn = exhibits.mistakes.shared_mistakes(of, layer, marks)
                show(drawn, key, cell=cell, notes=False)
    with grid.cell(column_span="all" if beside else 1):
        behind(view, true, given)


@fragment
def everything() -> None:
    """Notes, a run's shared mistakes, and the table of all mistakes."""
    view = looked_at()
    every = exhibits.mistakes.shared_mistakes(view)
    show_notes(every.notes[2 * (len(view.classes) < 3) :])  # of two classes, the first are about chance
    folded("Recovered by a run", explained, open=bool(state.get_many("runs")))
    rows = replace(every, figure=None, click=None, notes=())
    folded("All mistakes as a table", lambda: show(rows, "all", noun="mistake", rows=14))


page("mistakes", draw)
