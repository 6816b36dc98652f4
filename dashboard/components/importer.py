"""Import a file: upload it, see what was understood, answer questions, accept."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core import confined
from crowdcore.core.confined import ConfinedError
from crowdcore.core.errors import CrowdError
from crowdcore.data.uploads import digest_of
from dashboard import state
from dashboard.components.findings import findings, refused
from dashboard.components.reading_form import Known, ask_kind, ask_scale, otherwise, reading
from dashboard.components.table import numbers
from dashboard.components.text import as_text, count
from dashboard.services import uploads

if TYPE_CHECKING:
    from crowdcore.data import Import, ImportReport
    from crowdcore.data.report import Role

_SHORT = 40  # letters of a name in an example


def importer() -> None:
    """Draw the steps up to the one that the user has reached."""
    st.markdown(
        "A table with a row for each label (**task, worker, label**, optionally **gold**), a column for each worker, "
        "counts or preferences: CSV, Excel, JSON or Parquet. Exports of annotation tools, folders of images or of a "
        "file for each worker as ZIP. You see what was understood before it is opened."
    )
    path = chosen_file()
    if path is None:
        confined.server.start()  # what examines files is loaded by the time that one comes
        st.caption("The file stays on this machine, in the app's workspace.")
        return
    mapping: dict[str, Any] = st.session_state.setdefault("mapping", {}).setdefault(path, {})
    place = st.container()
    try:
        read = understood(path, mapping)
    except CrowdError as error:
        with place:
            ask_kind(path, mapping, None if getattr(error, "code", "") == "many-numbers" else "classes")
        stuck(error, path, mapping)
        return
    rated = read is not None and read.report.rating_range is not None
    with place:
        ask_kind(path, mapping, "ratings" if rated else "classes")
    if read is not None:
        offer(read, path, mapping)


def understood(path: str, mapping: dict[str, Any]) -> Import | None:
    """Read a file; None while the range of its ratings is unknown, and ask for it."""
    how = tuple(sorted(mapping.items()))
    if mapping.get("kind") == "ratings":
        values = uploads.rating_values(path, how)
        if not ask_scale(path, mapping, values):
            otherwise(Known(path, values.columns, values.roles), mapping)
            return None
    return uploads.examine(path, how)


def stuck(error: CrowdError, path: str, mapping: dict[str, Any]) -> None:
    """Show a refusal with its remedies, the table's first rows, and all other settings."""
    how = tuple(sorted(mapping.items()))
    head = None if isinstance(error, ConfinedError) else uploads.first_rows(path, how)
    columns = tuple(map(str, head.columns)) if head is not None else getattr(error, "columns", ())
    known = Known(path, columns, getattr(error, "roles", {}))
    refused(error, known, mapping)
    if head is not None:
        st.caption("The first rows, as they are cut into columns now:")
        st.dataframe(head, hide_index=True, key=f"head-{path}")
    if not isinstance(error, ConfinedError):
        otherwise(known, mapping)


def offer(read: Import, path: str, mapping: dict[str, Any]) -> None:
    """Show what was understood and what is doubtful, other ways to read the file, and the import button."""
    info = read.report
    workers = uploads.worker_columns(read)
    known = Known(path, info.columns, info.roles, workers, info.classes)
    accepted: set[Hashable] = st.session_state.setdefault("accepted", {}).setdefault(path, set())
    report(info, path)
    answered = findings(info, known, mapping, accepted)
    merging(info, mapping, path)
    doubt = any(f.level == "warning" or f.code == "multi-select" for f in info.findings)
    if not info.changes and not doubt and all(v.merged for v in info.variants):
        st.success("Nothing would be dropped or merged.", icon=":material/check_circle:")
    otherwise(known, mapping, {finding.code for finding in info.findings})
    ratings = info.rating_range is not None
    if not ratings:
        ask_split(path, mapping, info)
    changes = len(info.changes) - len(info.questions)
    label = f"Accept {count(changes, 'change')} and open" if changes else "Open it"
    if not answered:
        st.caption("Answer the question above first." if len(info.questions) == 1 else "Answer the questions first.")
    if st.button(label, type="primary", icon=":material/check:", disabled=not answered):
        name = uploads.accept(read, path, tuple(sorted(mapping.items())))
        state.put(dataset=name)
        st.session_state["uploaded"] = {*st.session_state.get("uploaded", ()), name}  # who has the file knows the names
        page = "ratings" if ratings else "overview"
        st.switch_page(f"views/{page}.py", query_params=state.address(page))


def chosen_file() -> str | None:
    """The path of the file that was just uploaded, or that the address names."""
    file, taken = st.file_uploader("File", key="upload", label_visibility="collapsed"), st.session_state.get("received")
    if file is not None and file.file_id != taken:
        state.put(file=digest_of(uploads.receive(file.name, file)))
        st.session_state["received"] = file.file_id
    elif file is None and taken is not None:
        state.put(file=None)
        del st.session_state["received"]
    digest = state.get("file")
    return uploads.receive_again(digest) if digest else None


_MERGED: dict[Role, tuple[str, str]] = {"label": ("merge_classes", "classes"), "worker": ("merge_workers", "workers")}


def merging(report: ImportReport, mapping: dict[str, Any], path: str) -> None:
    """Offer to merge only some names with several spellings (a finding merges all), or to undo merging."""

    def chosen(setting: str, key: str, apart: dict[str, tuple[str, ...]]) -> None:
        mapping[setting] = {name: apart[name] for name in st.session_state[key]}

    for role, (setting, many) in _MERGED.items():
        apart = {
            v.name: tuple(sorted({*v.becomes} - {v.name})) for v in report.variants if v.role == role and not v.merged
        }
        if setting in mapping:
            label, key = f"Keep {many} apart again", f"apart-{role}-{path}"
            st.button(label, key=key, icon=":material/undo:", on_click=mapping.pop, args=(setting,))
        elif len(apart) > 1:
            key = f"chosen-{role}-{path}"
            labels = {name: f"{name} ← {', '.join(others)}" for name, others in apart.items()}
            look: dict[str, Any] = {"format_func": labels.__getitem__, "placeholder": "Choose which", "key": key}
            st.multiselect(f"Merge only some {many}", list(apart), on_change=chosen, args=(setting, key, apart), **look)


def ask_split(path: str, mapping: dict[str, Any], info: ImportReport) -> None:
    """Shares of validation and test tasks, where the file names none."""
    if "split" in info.roles:
        return
    with st.expander("Validation and test tasks", expanded=False):
        st.caption("Drawn at random, by class; tasks with the same value in a column can be kept together.")
        with st.container(horizontal=True):
            for setting, label in (("valid_share", "Validation (%)"), ("test_share", "Test (%)")):
                percent = round(100 * mapping.get(setting, 0))
                bound = reading(path, mapping, setting, percent, lambda share: share / 100 or None)
                st.number_input(label, 0, 90, width=150, **bound)
            bound = reading(path, mapping, "split_seed", mapping.get("split_seed", 0), lambda seed: seed or None)
            st.number_input("Seed of the draw", 0, None, width=150, **bound)
            others = [c for c in info.columns if c not in info.roles.values()]
            bound = reading(path, mapping, "group", mapping.get("group"))
            st.selectbox("Keep together", others, index=None, **bound)


def report(info: ImportReport, path: str) -> None:
    """Show what was understood, in examples and in numbers."""
    st.header(f"{as_text(uploads.title_of(info.source, path))}: what was understood")
    if info.examples:
        says, is_ = ("rates", "as") if info.rating_range else ("says", "is")
        lines = [[as_text(name if len(name) <= _SHORT else f"{name[:_SHORT]}…") for name in e] for e in info.examples]
        st.markdown("\n".join(f"- **{worker}** {says} **{task}** {is_} **{label}**" for worker, task, label in lines))
    span = info.rating_range and "{:g} to {:g}".format(*info.rating_range)
    cells = {
        "Tokens" if info.n_sentences else "Tasks": f"{info.n_tasks:,}",
        "Workers": f"{info.n_workers:,}",
        "Annotations": f"{info.n_annotations:,}",
        "Range" if span else "Classes": span or f"{len(info.classes):,}",
        "Tasks with gold": f"{info.n_gold:,}",
    }
    numbers(((label, value, None) for label, value in cells.items()), 120)
    roles = ", ".join(f"{role} from {column!r}" for role, column in info.roles.items())
    how = ", ".join(part for part in (info.format, info.encoding, roles) if part)
    counted = count(info.n_rows, "cell" if info.format == "wide" else "tag" if info.n_sentences else "row")
    kept = f"{counted} in the file: {info.n_annotations:,} became annotations, {info.n_left_out:,} did not."
    st.caption(as_text(f"Read as {how}. {kept}"))
    if not span:
        shown = ", ".join(info.classes[:20]) + (" …" if len(info.classes) > 20 else "")
        st.caption(as_text(f"Classes ({info.classes_from}): {shown}"))
    if info.times and not span:
        named = [info.roles.get("time", column) if column == "timestamp" else column for column in info.times]
        st.caption(as_text(f"Drift and speed are judged by {' and '.join(map(repr, named))}."))
    elif info.format == "long" and not span:
        st.caption(
            "No column was recognised as the time of a label, so drift and speed cannot be judged. If there is one, "
            "choose it under “Read it otherwise”."
        )
