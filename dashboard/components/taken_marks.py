"""Marks that were made elsewhere: from a CSV, or from these data before they changed."""

from dataclasses import replace

import streamlit as st

from crowdcore.marks import keep_marks
from crowdcore.taken_marks import TakenMarks, marks_of_earlier_data, marks_of_file
from dashboard import state
from dashboard.components.guard import attempt, refusals
from dashboard.components.table import table
from dashboard.components.text import as_text, count
from dashboard.services import opening
from dashboard.services.kept_uploads import owner


def take_marks() -> None:
    """Offer marks on earlier data of this name, if there are some, and a place for a file."""
    dataset = state.get("dataset")
    earlier = marks_of_earlier_data(opening.dataset(dataset))
    if earlier.marks or len(earlier.faults):
        st.info("There are marks on an earlier version of these data.", icon=":material/history:")
        _offer(dataset, earlier, "earlier")
    with st.expander("Import marks from a file", icon=":material/upload:"):
        st.caption(
            "A CSV with the columns task and right class, and, if need be, mark (right, wrong, unclear), worker, "
            "comment and by, as the table of marks below is downloaded. Of several rows of a task, the last counts."
        )
        file = st.file_uploader("File of marks", "csv", key=f"marks-file-{dataset}", label_visibility="collapsed")
        if file is not None:
            with refusals():
                _offer(dataset, _read(dataset, file.name, file.getvalue()), "file")


def _read(dataset: str, file: str, content: bytes) -> TakenMarks:
    """Marks of an uploaded CSV; whoever uploads it has marked where the file does not say who."""
    found = marks_of_file(opening.dataset(dataset), file, content)
    return replace(found, marks=tuple(replace(mark, by=mark.by or owner()) for mark in found.marks))


def _offer(dataset: str, taken: TakenMarks, key: str) -> None:
    """What cannot be taken, and a button for the rest."""
    for note in taken.notes:
        st.caption(as_text(note))
    if len(taken.faults):
        st.warning(f"{count(len(taken.faults), 'mark')} cannot be taken:", icon=":material/report:")
        table(taken.faults, f"faults-{key}", name=f"{dataset}-marks-not-taken", noun="fault", rows=6)
    taken_before = st.session_state.get(f"marks-taken-{key}") == (dataset, _which(taken))
    if taken_before:
        st.success("The marks were imported.", icon=":material/check_circle:")
    elif taken.marks:
        st.button(
            f"Take {count(len(taken.marks), 'mark')}",
            key=f"take-{key}",
            on_click=_take,
            args=(dataset, taken, key),
            icon=":material/playlist_add:",
        )


def _which(taken: TakenMarks) -> list[tuple[str, ...]]:
    return [(mark.task, mark.truth, mark.worker, mark.comment) for mark in taken.marks]


def _take(dataset: str, taken: TakenMarks, key: str) -> None:
    attempt(keep_marks, opening.dataset(dataset), taken.marks)
    st.session_state[f"marks-taken-{key}"] = dataset, _which(taken)
