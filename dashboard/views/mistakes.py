"""Shared mistakes: the heatmap of who confuses what with what, and what lies behind each of its cells."""

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.media import cards
from dashboard.components.pickers import named, picker
from dashboard.components.table import table
from dashboard.components.text import as_text, count, number


def draw() -> None:
    """The page."""
    st.title("Shared mistakes")
    board()


@fragment
def board() -> None:
    """Heatmap, chosen cell, and the list of all mistakes."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    top = services.most_shared(dataset, reference)
    true, given = (
        default if chosen is None else chosen
        for chosen, default in zip((state.index_of(key, classes) for key in ("true", "given")), top, strict=True)
    )
    others = [r for r in services.references(dataset) if r != reference]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        layer = named("Show", "layer", services.LAYERS, width=200)
        beside = st.selectbox(
            "Compare with",
            others,
            placeholder="Another reference",
            width=240,
            **state.bind("beside", state.one_of("beside", others)),
        )
        marks = st.toggle(
            "Mark mistakes shared beyond chance", **state.bind("marks", state.get("marks") != "no", say=("", "no"))
        )
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        heatmap(reference, (true, given), layer, marks)
    if beside:
        with grid.cell():
            heatmap(beside, (true, given), layer, marks)
    with grid.cell(column_span="all" if beside else 1):
        behind(true, given)
    result = services.shared_mistakes(dataset, reference)
    for note in (result.null, *result.notes):
        st.caption(as_text(note))
    st.subheader("All mistakes")
    frame = result.frame()
    table(frame, "all", name=f"{dataset}-shared-mistakes-{reference}", noun="mistake")


def heatmap(reference: str, cell: tuple[int, int], layer: str, marks: bool) -> None:
    """One heatmap whose cells can be clicked."""
    dataset = state.get("dataset")
    classes = services.dataset(dataset).classes

    def chosen(row: int, column: int) -> None:
        state.put(true=classes[row], given=classes[column])

    figure(
        services.shared_mistakes_figure(dataset, reference, layer, marks),
        f"shared-{reference}",
        name=f"{dataset}-shared-mistakes-{reference}",
        alt=f"Share of workers who gave each label to tasks of each true class; reference {reference}",
        data=lambda: services.shared_mistakes(dataset, reference).frame(),
        cell=cell,
        on_cell=chosen,
    )


def behind(true: int, given: int) -> None:
    """The chosen cell in words, its workers and its tasks."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    result = services.shared_mistakes(dataset, reference)
    with st.container(horizontal=True):
        picker("True class", "true", classes, true)
        picker("Given label", "given", classes, given)
    who = services.cell_workers(dataset, reference, true, given, hidden_names())
    what = services.cell_tasks(dataset, reference, true, given)
    st.markdown(
        f"**{count(len(who), 'worker')}** of {result.n_workers} ({number(result.percent[true, given], 1)} %) "
        f"gave **{as_text(classes[given])}** to a task that is **{as_text(classes[true])}**: "
        f"{count(what['times'].sum(), 'annotation')} on **{count(len(what), 'task')}**."
    )
    st.caption(services.in_words(dataset, reference, true, given))
    if not len(who):
        st.info("No worker gave this label here. Choose another cell: the darker ones are empty too.")
        return
    of_workers, of_tasks = st.tabs([f"Workers ({len(who)})", f"Tasks ({len(what)})"])
    name = f"{dataset}-{reference}-{classes[true]}-as-{classes[given]}"
    with of_workers:
        table(who, "who", name=f"{name}-workers", noun="worker")
    with of_tasks:
        captions = [f"{times} of {labels} labels" for times, labels in zip(what["times"], what["labels"], strict=True)]
        cards(dataset, what.index.tolist(), captions, "cell", true=classes[true], given=classes[given])
        table(what, "what", name=f"{name}-tasks", noun="task")


page("mistakes", draw)
