"""The uploads there are: open one, read its file again, rename it, delete it."""

from __future__ import annotations

import streamlit as st

from crowdcore.data.uploads import Upload, delete_upload
from dashboard import state
from dashboard.components.run_choice import when
from dashboard.components.text import as_text, count, size
from dashboard.services import uploads
from dashboard.services.runs import runs_of

SHOWN = 20


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
