"""A dataset in numbers, and the way in for a file of one's own."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.data.uploads import Upload, delete_upload
from crowdcore.exhibits import ratings
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import hidden_names
from dashboard.components.guard import fragment
from dashboard.components.importer import importer
from dashboard.components.link import link
from dashboard.components.run_choice import when
from dashboard.components.table import formats, numbers
from dashboard.components.text import as_text, count, number, percent, size
from dashboard.services import opening, uploads
from dashboard.services.runs import runs_of

SHARES = {
    "Wrong labels": "wrong annotations",
    "Tasks nobody got right": "tasks nobody got right",
    "Mean worker accuracy": "mean worker accuracy",
    "Majority vote is right": "majority vote is right",
}
SHOWN = 20  # uploads


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


def upload_list() -> None:
    """List the uploads, the newest first."""
    found = uploads.list_uploads()
    if not found:
        return
    st.header("Uploads")
    everything = len(found) <= SHOWN or st.toggle(f"Show all {len(found):,}", key="all-uploads")
    for upload in found if everything else found[:SHOWN]:
        _row(upload)


def _row(upload: Upload) -> None:
    key = upload.dataset or upload.file
    with st.container(horizontal=True, vertical_alignment="center", key=f"upload-{key}"):
        if upload.dataset:
            address = {"dataset": upload.dataset}
            st.page_link("views/overview.py", label=as_text(upload.name), icon=":material/table:", query_params=address)
        else:
            st.markdown(as_text(upload.name))
        about = [when(upload.when), *([size(upload.size)] if upload.size else [])]
        st.caption(as_text(" · ".join(about if upload.dataset else [*about, "not opened yet"])))
        with st.popover("Manage", type="tertiary", help="Read the file again, rename it or delete it"):
            _manage(upload, key)


def _manage(upload: Upload, key: str) -> None:
    name = st.text_input("Name", upload.name, key=f"name-{key}")
    with st.container(horizontal=True):
        if st.button("Rename", key=f"rename-{key}", icon=":material/edit:", disabled=name == upload.name):
            uploads.rename_upload(upload, name)
            st.rerun()
        if upload.file and st.button("Read the file again", key=f"again-{key}", icon=":material/replay:"):
            # Read as it was when it was taken in; from there it can be read otherwise.
            st.session_state.setdefault("mapping", {})[uploads.receive_again(upload.file)] = dict(upload.mapping)
            state.put(file=upload.file)
            st.rerun()
        if st.button("Delete", key=f"delete-{key}", icon=":material/delete:"):
            _confirm(upload)


@st.dialog("Delete this upload?")
def _confirm(upload: Upload) -> None:
    st.markdown(f"**{as_text(upload.name)}** will be deleted. This cannot be undone.")
    with st.spinner("Looking for its runs …"):  # the first look at the record of runs takes seconds
        runs = len(runs_of(upload.dataset)) if upload.dataset else 0
    if runs:
        refer = "refers" if runs == 1 else "refer"
        st.warning(
            f"{count(runs, 'run')} {refer} to it. Their results stay, but can no longer be shown beside the data, "
            "and the runs cannot be resumed.",
            icon=":material/model_training:",
        )
    if st.button("Delete for good", type="primary", icon=":material/delete:"):
        delete_upload(upload)
        if state.get("dataset") == upload.dataset:
            state.put(dataset=None, view="Open a file")
        if state.get("file") == upload.file:
            state.put(file=None)
        st.rerun()
