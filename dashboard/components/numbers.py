"""A dataset in numbers, and the way in for a file of one's own."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import ratings
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import hidden_names
from dashboard.components.guard import fragment
from dashboard.components.importer import importer
from dashboard.components.link import link
from dashboard.components.table import formats, numbers
from dashboard.components.text import as_text, number, percent
from dashboard.components.upload_list import upload_list
from dashboard.services import opening

SHARES = {
    "Wrong labels": "wrong annotations",
    "Tasks nobody got right": "tasks nobody got right",
    "Mean worker accuracy": "mean worker accuracy",
    "Majority vote is right": "majority vote is right",
}


@fragment
def importing() -> None:
    """Upload, look, accept; the uploads there are."""
    importer()
    upload_list()


@fragment
def glance() -> None:
    """Numbers, agreement, balance."""
    dataset, view, data = state.get("dataset"), looked_at(), exhibits.overview
    noticed = metrics()
    grid = st.grid(2, min_column_width=380, gap="small")
    for make in (data.annotations_per_worker, data.annotations_per_task, data.class_balance, data.annotation_entropy):
        drawn = make(view)
        with grid.cell():
            show(drawn, drawn.name, file=f"{dataset}-{drawn.name}")
    for note in noticed:
        st.caption(as_text(note))
    st.header("Agreement between workers")
    grid = st.grid(2, min_column_width=380, gap="small")
    with grid.cell():
        show(data.agreement(view), "agreement", file=f"{dataset}-agreement", notes=False)
    with grid.cell():
        found = data.agreement_coefficients(view)
        st.dataframe(found.table, hide_index=True, column_config=formats(found.table), placeholder="–")
        for note in found.notes:
            st.markdown(as_text(note))
    st.header("Classes")
    show(data.class_table(view), "classes", file=f"{dataset}-classes", noun="class")


@fragment
def glance_at_ratings() -> None:
    """Numbers and agreement of labels that are numbers, and the way to who is off by how much."""
    dataset = state.get("dataset")
    view = ratings.rating_view(opening.rated(dataset), state.get("reference"), hidden=hidden_names())
    grid = st.grid(2, min_column_width=380, gap="small")
    with grid.cell():
        show(ratings.summary(view), "summary", file=f"{dataset}-ratings", noun="measure", rows=12)
    with grid.cell():
        show(ratings.agreement(view), "agreement", file=f"{dataset}-ratings-agreement", noun="coefficient")
    with st.container(horizontal=True):
        link("ratings")
        link("tasks")


def metrics() -> tuple[str, ...]:
    """The numbers everyone asks for first; returns what was noticed while reading."""
    exhibit = exhibits.overview.overview(looked_at())
    found = dict(zip(exhibit.table["what"], exhibit.table["value"], strict=True))
    counts = {"Tasks labelled": "tasks labelled", "Workers": "workers", "Annotations": "annotations"}
    cells = {label: f"{found[what]:,.0f}" for label, what in counts.items()}
    cells["Labels per task"] = number(found["labels per task"], 2)
    cells |= {label: percent(found[what], 2) for label, what in SHARES.items()}
    numbers(((label, value, None) for label, value in cells.items()), columns=4)
    return exhibit.notes
