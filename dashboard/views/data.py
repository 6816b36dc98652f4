"""Data: a dataset at a glance, and the way in for a file of one's own."""

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.importer import importer
from dashboard.components.table import formats, table
from dashboard.components.text import as_text, number, percent


def draw() -> None:
    """The page."""
    st.title(as_text(state.get("dataset")))
    tabs = ["Overview", "Open a file"]
    overview, own = st.tabs(tabs, **state.bind("view", state.one_of("view", tabs) or tabs[0]))
    with overview:
        if overview.open:
            glance()
    with own:
        if own.open:
            importing()


@fragment
def importing() -> None:
    """Upload, look, accept."""
    importer()


@fragment
def glance() -> None:
    """Numbers, agreement, balance."""
    dataset, reference = state.get("dataset"), state.get("reference")
    metrics()
    for note in services.dataset(dataset).notes:
        st.caption(as_text(note))
    grid = st.grid(2, min_column_width=380, gap="small")
    for name in ("annotations-per-worker", "annotations-per-task", "class-balance", "annotation-entropy"):
        with grid.cell():
            drawn(name)
    st.header("Agreement between workers")
    grid = st.grid(2, min_column_width=380, gap="small")
    with grid.cell():
        figure(
            services.agreement_figure(dataset),
            "agreement",
            name=f"{dataset}-agreement",
            alt="Agreement coefficients with their intervals",
            data=lambda: services.agreement(dataset).frame(),
        )
    with grid.cell():
        coefficients = services.agreement_table(dataset)
        st.dataframe(coefficients, hide_index=True, column_config=formats(coefficients))
        st.markdown(as_text(services.agreement(dataset).sentence))
    st.header("Classes")
    table(services.class_table(dataset, reference), "classes", name=f"{dataset}-classes", noun="class")


def metrics() -> None:
    """The numbers everyone asks for first."""
    found = services.summary(state.get("dataset"), state.get("reference"))
    noise = found.noise
    cells = {
        "Tasks labelled": f"{found.n_annotated:,}",
        "Workers": f"{found.n_active:,}",
        "Annotations": f"{found.n_annotations:,}",
        "Labels per task": number(found.n_annotations / max(found.n_annotated, 1), 2),
        "Wrong labels": percent(noise.wrong_annotations, 2),
        "Tasks nobody got right": percent(noise.tasks_without_truth, 2),
        "Mean worker accuracy": percent(found.worker_accuracy, 2),
        "Majority vote is right": percent(found.majority_vote_accuracy, 2),
    }
    grid = st.grid(4, min_column_width=150, gap="xsmall")
    for label, value in cells.items():
        with grid.cell():
            st.metric(label, value, border=True)


def drawn(name: str) -> None:
    """One of the overview's figures."""
    dataset, reference = state.get("dataset"), state.get("reference")
    figure(
        services.overview_figures(dataset, reference)[name],
        name,
        name=f"{dataset}-{name}",
        alt=name.replace("-", " ").capitalize(),
        data=lambda: services.overview_data(dataset, reference, name, hidden_names()),
    )


page("data", draw, without=importing)
