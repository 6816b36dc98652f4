"""Shared mistakes: the heatmap of who confuses what with what, and what lies behind each of its cells."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import View
from dashboard import state
from dashboard.components.cell import behind
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.pickers import named
from dashboard.components.recovered import explained, folded
from dashboard.components.table import table
from dashboard.components.text import as_text
from dashboard.services import datasets


def draw() -> None:
    """The page."""
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
            "With two classes every mistake on a class is the same one, so sharing it proves nothing. Who agrees too "
            "much is tested under **Workers**, **Together**.",
            icon=":material/group:",
        )
    top = exhibits.mistakes.most_shared(view)
    true, given = (state.one_of(key, view.classes) or best for key, best in zip(("true", "given"), top, strict=True))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        layer = named("Show", "layer", exhibits.mistakes.LAYERS, width=200)
        others = [name for name in datasets.references(state.get("dataset")) if name != view.reference]
        bound = state.bind("beside", state.one_of("beside", others))
        beside = st.selectbox("Compare with", others, placeholder="Another reference", width=240, **bound)
        bound = state.bind("marks", state.get("marks") != "no", say=("", "no"))
        marks = st.toggle("Mark mistakes shared beyond chance", disabled=not tested, **bound)
    grid = st.grid(2, min_column_width=400, gap="small")
    cell = view.class_number(true), view.class_number(given)
    for key, of in (("first", view), ("second", looked_at(beside) if beside else None)):
        if of:
            with grid.cell():
                drawn = exhibits.mistakes.shared_mistakes(of, layer, marks)
                show(drawn, key, file=file(of), cell=cell, notes=False)
    with grid.cell(column_span="all" if beside else 1):
        behind(view, true, given)


def file(view: View) -> str:
    """Name of the matrix's downloads."""
    return f"{state.get('dataset')}-shared-mistakes-{view.reference}"


@fragment
def everything() -> None:
    """What to bear in mind, and the list of all mistakes."""
    view = looked_at()
    every = exhibits.mistakes.shared_mistakes(view)
    for note in every.notes:
        st.caption(as_text(note))
    folded("Recovered by a run", explained, open=bool(state.get_many("runs")))
    folded("All mistakes as a table", lambda: table(every.table, "all", name=file(view), noun="mistake", rows=14))


page("mistakes", draw)
