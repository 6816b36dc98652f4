"""Shared mistakes: the heatmap of who confuses what with what, and what lies behind each of its cells."""

import streamlit as st

from dashboard import services, state
from dashboard.components.cell import behind
from dashboard.components.figure import figure
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.pickers import named
from dashboard.components.table import table
from dashboard.components.text import as_text


def draw() -> None:
    """The page."""
    st.title("Shared mistakes")
    board()
    everything()


@fragment
def board() -> None:
    """Heatmap and chosen cell; the most shared mistake until one is chosen."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    chosen = (state.index_of(key, classes) for key in ("true", "given"))
    top = services.most_shared(dataset, reference)
    true, given = (best if number is None else number for number, best in zip(chosen, top, strict=True))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        layer = named("Show", "layer", services.LAYERS, width=200)
        others = [name for name in services.references(dataset) if name != reference]
        bound = state.bind("beside", state.one_of("beside", others))
        beside = st.selectbox("Compare with", others, placeholder="Another reference", width=240, **bound)
        bound = state.bind("marks", state.get("marks") != "no", say=("", "no"))
        marks = st.toggle("Mark mistakes shared beyond chance", **bound)
    grid = st.grid(2, min_column_width=400, gap="small")
    for key, name in (("first", reference), ("second", beside)):
        if name:
            with grid.cell():
                heatmap(key, name, (true, given), layer, marks)
    with grid.cell(column_span="all" if beside else 1):
        behind(true, given)


def heatmap(key: str, reference: str, cell: tuple[int, int], layer: str, marks: bool) -> None:
    """One heatmap whose cells can be clicked."""
    dataset = state.get("dataset")
    classes = services.dataset(dataset).classes
    figure(
        services.shared_mistakes_figure(dataset, reference, layer, marks),
        key,
        name=f"{dataset}-shared-mistakes-{reference}",
        alt=f"Share of workers who gave each label to tasks of each true class; reference {reference}",
        data=lambda: services.with_intervals(dataset, reference).frame(),
        cell=cell,
        on_cell=lambda row, column: state.put(true=classes[row], given=classes[column]),
    )


@fragment
def everything() -> None:
    """What to bear in mind, and the list of all mistakes."""
    dataset, reference = state.get("dataset"), state.get("reference")
    result = services.shared_mistakes(dataset, reference)
    for note in (result.null, *result.notes):
        st.caption(as_text(note))
    listed = st.expander("All mistakes as a table", key="all-mistakes", on_change="rerun")
    if listed.open:
        with listed:
            table(
                services.with_intervals(dataset, reference).frame(),
                "all",
                name=f"{dataset}-shared-mistakes-{reference}",
                noun="mistake",
                rows=14,
            )


page("mistakes", draw)
