"""The way in for a file of one's own: upload, see what was understood, accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import services, state
from dashboard.components.table import table
from dashboard.components.text import as_text, count
from dashboard.components.variants import merging, open_questions

if TYPE_CHECKING:
    from crowdcore.data import Import

__all__ = ["importer"]

REPEATS = {"keep": "Keep and count all", "first": "Keep the first", "last": "Keep the last", "majority": "Majority"}
_OF_NAMES = ("merge_classes", "merge_workers", "multi_select")  # mean nothing once another column is chosen


def importer() -> None:
    """Draw the steps as far as the user has got."""
    st.markdown(
        "A table with one row per label (**task, worker, label**, optionally **gold**) as CSV, TSV, JSON lines or "
        "Parquet; a table of tasks × workers; a Label Studio or Prodigy export; or a ZIP of a dataset folder."
    )
    path = chosen_file()
    if path is None:
        st.caption("The file stays on this machine, in the app's workspace.")
        return
    mapping: dict[str, Any] = st.session_state.setdefault("mapping", {}).setdefault(path, {})
    found = services.examine(path, tuple(sorted(mapping.items())))
    if isinstance(found, tuple):
        columns, roles = found
        missing = " and the ".join(role for role in ("task", "worker", "label") if role not in roles)
        st.warning(f"The columns do not say which holds the {missing}. Choose below.", icon=":material/help:")
        ask(path, mapping, columns, roles)
        return
    report(found)
    merging(found.report, mapping, path)
    with st.expander("Columns and repeats", expanded=False):
        ask(path, mapping, found.report.columns, found.report.roles)
    changes = len(found.report.changes)
    label = f"Accept {count(changes, 'change')} and open" if changes else "Open it"
    if st.button(label, type="primary", icon=":material/check:"):
        state.put(dataset=services.accept(found, path, tuple(sorted(mapping.items()))))
        st.rerun()


def chosen_file() -> str | None:
    """The path of the file that was just uploaded, or that the address names."""
    file, taken = st.file_uploader("File", key="upload", label_visibility="collapsed"), st.session_state.get("received")
    if file is not None and file.file_id != taken:
        state.put(file=services.digest_of(services.receive(file.name, file)))
        st.session_state["received"] = file.file_id
    elif file is None and taken is not None:
        state.put(file=None)
        del st.session_state["received"]
    digest = state.get("file")
    return services.receive_again(digest) if digest else None


def ask(path: str, mapping: dict[str, Any], columns: tuple[str, ...], roles: dict[str, str]) -> None:
    """Which column plays which role, and what to do with repeats."""

    def chosen(role: str, key: str) -> None:
        value = st.session_state[key]
        for name in (role, *(_OF_NAMES if role in services.MAPPED else ())):
            mapping.pop(name, None)
        if value:
            mapping[role] = value

    with st.container(horizontal=True):
        for role in services.MAPPED:
            key = f"role-{role}-{path}"
            value = mapping.get(role) or roles.get(role)
            state.show(key, value if value in columns else None)
            st.selectbox(role.capitalize(), columns, index=None, key=key, on_change=chosen, args=(role, key))
        key = f"role-repeats-{path}"
        state.show(key, mapping.get("repeats", "keep"))
        st.selectbox(
            "Repeats", list(REPEATS), format_func=REPEATS.__getitem__, key=key, on_change=chosen, args=("repeats", key)
        )


def report(found: Import) -> None:
    """What was understood, what would change, what looks odd."""
    told = found.report
    how = ", ".join(part for part in (told.format, told.encoding) if part)
    roles = ", ".join(f"{role} from {column!r}" for role, column in told.roles.items())
    st.header(f"{as_text(told.source)}: what was understood")
    st.caption(as_text(f"{how}. {roles}." if roles else f"{how}."))
    grid = st.grid(5, min_column_width=120, gap="xsmall")
    for label, value in {
        "Tasks": told.n_tasks,
        "Workers": told.n_workers,
        "Annotations": told.n_annotations,
        "Classes": len(told.classes),
        "Tasks with gold": told.n_gold,
    }.items():
        with grid.cell():
            st.metric(label, f"{value:,}", border=True)
    shown = ", ".join(told.classes[:20]) + (" …" if len(told.classes) > 20 else "")
    st.caption(as_text(f"Classes ({told.classes_from}): {shown}"))
    if told.changes:
        listed = "\n".join(f"- {as_text(change)}" for change in told.changes)
        st.warning(f"Importing would drop or merge rows:\n\n{listed}", icon=":material/content_cut:")
    elif open_questions(told):
        st.info("Nothing is dropped or merged yet: see below which names may be one.", icon=":material/call_merge:")
    else:
        st.success("Nothing would be dropped or merged.", icon=":material/check_circle:")
    others = told.frame()
    others = others[others["level"] != "change"].reset_index(drop=True)
    if len(others):
        table(others, "findings", name="findings", noun="finding")
