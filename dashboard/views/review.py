"""Review: labels one by one, to mark as right, wrong or unclear; what is marked can be the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.media import has_media
from crowdcore.exhibits import Exhibit, View, review
from crowdcore.exhibits.tasks import sentence_of, task_number, task_title
from crowdcore.marks import (
    MARKS,
    Mark,
    TakenMarks,
    add_mark,
    current_marks,
    keep_marks,
    marks_of_earlier_data,
    marks_of_file,
    undo_mark,
)
from dashboard import state
from dashboard.components.exhibit import looked_at, show, show_notes
from dashboard.components.fits import reference_button
from dashboard.components.frame import heading, page
from dashboard.components.guard import attempt, fragment, live, refusals, refused_before
from dashboard.components.media import media
from dashboard.components.pickers import optional, picker, several
from dashboard.components.table import download, table
from dashboard.components.text import as_text, count
from dashboard.services import datasets, opening
from dashboard.services.uploads import owner

SIDE = 300  # pixels of a picture
_MOST = 9  # classes with a key of their own


def at(table: pd.DataFrame) -> int:
    """Row on screen: the one that the address names, else the first without a mark, else the first."""
    chosen = table["task"] == state.get("task")
    if "worker" in table and (worker := state.get("worker")):
        exact = chosen & (table["worker"] == worker)
        chosen = exact if exact.any() else chosen
    if not chosen.any():
        chosen = table["mark"] == ""
    return int(chosen.to_numpy().argmax())


def marking(view: View, table: pd.DataFrame, row: int) -> None:
    """Show the item of a row, its labels, and the buttons to mark it.

    Args:
        view: what the table is of.
        table: of `exhibits.review.review`, one row or more.
        row: position of the row looked at.
    """
    dataset, now = state.get("dataset"), table.iloc[row]
    task, worker = str(now["task"]), str(now.get("worker", ""))
    label = str(now["label"] if worker else now["most given"])
    st.subheader(as_text(task_title(view.dataset, task)))
    if has_media(view.dataset):
        media(dataset, task_number(view.dataset, task), SIDE)
    before, word, after = sentence_of(view.dataset, task)
    if word:
        st.markdown(f"{as_text(before)} :blue-background[{as_text(word)}] {as_text(after)}")
    label_of = f"**{as_text(worker)}** says" if worker else "Most given:"
    known = str(now[view.reference]) or "unknown"
    st.markdown(f"{label_of} **{as_text(label)}**; {as_text(view.reference)}: **{as_text(known)}**.")
    _buttons(view, table, row, label)
    _show_mark(dataset, task)


def _buttons(view: View, table: pd.DataFrame, row: int, label: str) -> None:
    """Buttons to mark the label, each with its key."""
    dataset, now = state.get("dataset"), table.iloc[row]
    task, shown = str(now["task"]), str(now.get("worker", ""))
    worker = str(view.dataset.worker_ids[view.worker_number(shown)]) if shown else ""
    comment = f"review-comment-{dataset}-{task}"

    def mark(truth: str | None) -> None:
        attempt(_mark, dataset, task, truth, worker, st.session_state.get(comment, ""))
        step()

    def step() -> None:
        """Go on to the next row of another task that has no mark, else to the next row."""
        others = np.flatnonzero((table["task"] != task).to_numpy())
        open_ = others[(table["mark"].to_numpy()[others] == "")]
        after = [int(n) for n in (*open_[open_ > row], *open_[:1], *others[others > row]) if n != row]
        if after:
            following = table.iloc[after[0]]
            state.put(task=str(following["task"]), worker=str(following.get("worker", "")))

    def back() -> None:
        attempt(_undo_last, dataset)

    with st.container(horizontal=True, gap="xsmall"):
        st.button(
            "Right", on_click=mark, args=(label,), shortcut="A", icon=":material/check:", type="primary", key="right"
        )
        for key, name in enumerate(_candidates(view, task, label, str(now[view.reference])), 1):
            st.button(as_text(name), on_click=mark, args=(name,), shortcut=str(key), key=f"class-{key}")
        st.button("Unclear", on_click=mark, args=(None,), shortcut="U", icon=":material/help:", key="unclear")
        st.button("Skip", on_click=step, shortcut="N", icon=":material/skip_next:", type="tertiary", key="skip")
        st.button("Undo", on_click=back, shortcut="Z", icon=":material/undo:", type="tertiary", key="undo")
    other = f"review-other-{dataset}-{task}-{shown}"

    def chosen() -> None:
        if picked := st.session_state[other]:
            mark(picked)

    with st.container(horizontal=True, gap="xsmall"):
        st.selectbox(
            "Another class",
            view.classes,
            index=None,
            placeholder="Another class is right",
            label_visibility="collapsed",
            key=other,
            on_change=chosen,
            width=220,
        )
        st.text_input(
            "Comment",
            key=comment,
            placeholder="Comment, kept with the mark",
            label_visibility="collapsed",
            max_chars=2000,
        )


def _candidates(view: View, task: str, label: str, reference: str) -> list[str]:
    """Other classes in question: that of the reference, then those given, the most frequent first."""
    of = view.dataset
    number = task_number(of, task)
    votes = np.bincount(of.label[of.task_start[number] : of.task_start[number + 1]], minlength=of.n_classes)
    given = [view.classes[c] for c in np.argsort(-votes, kind="stable") if votes[c]]
    names = dict.fromkeys(name for name in (reference, *given) if name and name != label)
    return list(names)[:_MOST]


def _mark(dataset: str, task: str, truth: str | None, worker: str, comment: str) -> None:
    """Keep a mark in the name of the visitor; this session can take it back."""
    mark = add_mark(opening.dataset(dataset), task, truth, worker=worker, comment=comment, by=owner())
    _session_marks(dataset).append(mark.id)


def _session_marks(dataset: str) -> list[str]:
    """Ids of the marks of this session."""
    return st.session_state.setdefault("marks-made", {}).setdefault(dataset, [])  # type: ignore[no-any-return]


def _undo_last(dataset: str) -> None:
    """Take back the last mark of this session that still stands."""
    kept = {mark.id for mark in current_marks(opening.dataset(dataset)).values()}
    while marks := _session_marks(dataset):
        if (last := marks.pop()) in kept:
            state.put(task=_take_back(dataset, last).task, worker="")
            return


def _take_back(dataset: str, id: str) -> Mark:
    return undo_mark(opening.dataset(dataset), id, by=owner())


def _show_mark(dataset: str, task: str) -> None:
    """The mark that the task has, if any."""
    mark = current_marks(opening.dataset(dataset)).get(task)
    if mark is None:
        return
    words = f"{mark.says}: {mark.truth or MARKS['unclear']}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.badge(as_text(f"Marked {words}"), icon=":material/bookmark:", color="blue")
        st.button("Take back", on_click=attempt, args=(_take_back, dataset, mark.id), type="tertiary", key="take-back")


def take_marks() -> None:
    """Offer marks on earlier data of this name, if there are some, and a place for a file."""
    dataset = state.get("dataset")
    earlier = marks_of_earlier_data(opening.dataset(dataset))
    if earlier.marks or len(earlier.faults):
        st.info("There are marks on an earlier version of these data.", icon=":material/history:")
        _offer(dataset, earlier, "earlier")
    with st.expander("Import marks from a file", icon=":material/upload:"):
        st.caption(
            "A CSV as the table of marks below is downloaded; task and right class are enough. The last row counts."
        )
        file = st.file_uploader("File of marks", "csv", key=f"marks-file-{dataset}", label_visibility="collapsed")
        if file is not None:
            with refusals():
                _offer(dataset, _read(dataset, file.name, file.getvalue()), "file")


def _read(dataset: str, file: str, content: bytes) -> TakenMarks:
    """Marks of an uploaded CSV, by the uploader where the file names nobody."""
    taken = marks_of_file(opening.dataset(dataset), file, content)
    return replace(taken, marks=tuple(replace(mark, by=mark.by or owner()) for mark in taken.marks))


def _offer(dataset: str, taken: TakenMarks, key: str) -> None:
    """List the marks that cannot be taken, and offer a button for the others."""
    show_notes(taken.notes)
    if len(taken.faults):
        st.warning(f"{count(len(taken.faults), 'mark')} cannot be taken:", icon=":material/report:")
        table(taken.faults, f"faults-{key}", name=f"{dataset}-marks-not-taken", noun="fault", rows=6)
    taken_before = st.session_state.get(f"marks-taken-{key}") == (dataset, _mark_rows(taken))
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


def _mark_rows(taken: TakenMarks) -> list[tuple[str, ...]]:
    return [(mark.task, mark.truth, mark.worker, mark.comment) for mark in taken.marks]


def _take(dataset: str, taken: TakenMarks, key: str) -> None:
    attempt(keep_marks, opening.dataset(dataset), taken.marks)
    st.session_state[f"marks-taken-{key}"] = dataset, _mark_rows(taken)


@fragment
def draw() -> None:
    """Filters, the label looked at, and the table of all."""
    heading()
    refused_before()
    view = looked_at()
    listed = filtered(view)
    table = listed.table
    with live("review"):
        if not len(table):
            st.info("No label matches these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
            return
        marked = int((table["mark"] != "").sum())
        noun = "label" if "worker" in table else "task"
        st.caption(f"{count(len(table), noun)}, likeliest wrong label first; {marked:,} marked.")
    grid = st.grid(2, min_column_width=400, gap="medium")
    with grid.cell():
        marking(view, table, at(table))
    with grid.cell():
        show(listed, "review", file=f"{state.get('dataset')}-review", noun=noun, rows=14)
    st.caption("Keys: A right, 1 to 9 another class, U unclear, N skip, Z undo.")
    reviewed(view)


def filtered(view: View) -> Exhibit:
    """Labels that pass the filters."""
    dataset = state.get("dataset")
    with st.container(horizontal=True):
        by = picker("Row by row", "by", review.BY, width=130)
        which = picker("Show", "show", review.REVIEWS, width=200)
        true = optional("True class", "true", view.classes, "Any class")
        given = optional("Given label", "given", view.classes, "Any label")
        chosen = several("Workers", "workers", view.listed, "Anyone")
        others = [name for name in datasets.references(dataset, state.get("against")) if name != view.reference]
        beside = optional("Differs from", "against", others, "No other reference")
    against = datasets.reference(dataset, beside) if beside else None
    return review.review(view, by, which, true, given, tuple(chosen), against)


def take_along(view: View) -> None:
    """The two lists that marks make."""
    dataset, made = state.get("dataset"), exhibits.review
    with st.container(horizontal=True):
        for key, label, exhibit in (
            ("relabel", "Relabelling list (CSV)", made.relabel_list),
            ("training", "Training list (CSV)", made.training_list),
        ):
            download(label, partial(_csv, exhibit, view), f"{dataset}-{key}.csv", key=f"list-{key}")


def _csv(exhibit: Callable[[View], Exhibit], view: View) -> bytes:
    return csv_bytes(exhibit(view).table)


def reviewed(view: View) -> None:
    """All marks, and the buttons that make them the reference."""
    exhibit = exhibits.review.marked_tasks(view)
    st.header("Marks")
    take_marks()
    if not len(exhibit.table):
        st.caption("No marks yet.")
        return
    show_notes(exhibit.notes)
    take_along(view)
    with st.container(horizontal=True):
        reference_button("reviewed", "the marked classes; other tasks count as unknown")
        if view.dataset.has_gold:
            reference_button("reviewed+gold", "the marked classes, and gold for tasks without a mark")
    show(exhibit, "marked", file=f"{state.get('dataset')}-marks", noun="mark", rows=8, notes=False)


page("review", draw)
