"""Overview: what this crowd did, and what to do about it."""

from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.analysis.verdicts import verdict_word
from crowdcore.data.dictionary import csv_bytes
from crowdcore.exhibits import View, verdicts
from dashboard import state
from dashboard.components.exhibit import follow, looked_at, show
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.link import link, task_link, worker_link
from dashboard.components.table import download, numbers
from dashboard.components.text import as_text, count

THRESHOLDS = {
    "remove": ("Remove below", verdicts.REMOVE, "As a share of the typical worker's skill."),
    "trust": ("Trust above", verdicts.TRUST, "As a share of the typical worker's skill."),
    "confused": ("Train from", verdicts.CONFUSED, "Share of a class that is labelled as another one."),
    "sure": ("Take labels from", verdicts.SURE, "Probability that a task's label is right."),
}
REVIEWS = {
    "check": "Review gold that may be wrong",
    "relabel": "Review tasks to relabel",
    "ambiguous": "Review ambiguous tasks",
}
FEW = 8  # workers and tasks of each verdict that are told of above the tables


def draw() -> None:
    """The page."""
    st.title("Overview")
    board()


@fragment
def board() -> None:
    """Verdicts, thresholds, and what lies behind."""
    follow()
    view, above = looked_at(), st.container()
    limits = thresholds()
    remove, trust, confused, sure = (limits[key] for key in THRESHOLDS)
    with above, st.spinner("Judging workers and tasks …", show_time=True):
        counts = verdicts.verdicts(view, remove, trust, confused, sure)
    with above:
        truth, typical, wrong, control = counts.notes
        st.markdown(as_text(f"{wrong} {typical}"))
        st.caption(as_text(truth))
        take_along(view, limits)
        pictures(view)
    workers = verdicts.worker_verdicts(view, remove, trust, confused)
    st.header("Workers")
    if view.hidden:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("Workers go by pseudonyms.", width="content")
            if st.button("Show their names", on_click=state.put, kwargs={"names": "shown"}, type="tertiary"):
                st.rerun()  # the sidebar, too
    how_many(counts.table, "worker")
    urgent = workers.table.loc[
        verdicts.to_do(verdicts.workers_judged(view, remove, trust, confused))[workers.table.index]
    ]
    if not len(urgent):
        no_fault(int((workers.table["verdict"] == "underpowered").sum()), len(workers.table))
    for _, row in urgent.head(FEW).iterrows():
        worker_link(row)
    if len(urgent) > FEW:
        st.caption(f"{count(len(urgent) - FEW, 'more worker')} in the table.")
    show(workers, "workers", noun="worker", rows=8, notes=False, limits="w", leads=True)
    st.caption(as_text(control))
    st.header("Mistakes that workers share")
    mistakes(view)
    st.header("Tasks")
    how_many(counts.table, "task")
    tasks = verdicts.task_verdicts(view, sure)
    for _, row in tasks.table[tasks.table["verdict"] != "fine"].head(3).iterrows():
        task_link(row)
    with st.container(horizontal=True):
        for verdict, words in REVIEWS.items():
            if (tasks.table["verdict"] == verdict).any():
                link("review", words, by="task", show=verdict)
    show(tasks, "tasks", noun="task", rows=8, notes=False, limits="t", leads=True)


def pictures(view: View) -> None:
    """How good each worker is, and which mistakes they share; a click opens the evidence."""
    grid = st.grid(2, min_column_width=400, gap="small")
    ranking = exhibits.workers.worker_ranking(view)
    drawn = (replace(ranking, click=lambda number: {"worker": view.workers[number]}), "ranking")
    layer: Literal["percent", "annotations"] = "percent" if len(view.classes) > 2 else "annotations"  # everybody errs
    for exhibit, key in (drawn, (exhibits.mistakes.shared_mistakes(view, layer), "mistakes")):
        with grid.cell():
            show(exhibit, key, notes=False, leads=True)


def thresholds() -> dict[str, float]:
    """The four limits, in per cent; each can be moved."""
    found = {}
    with st.expander("Thresholds", icon=":material/tune:"):
        grid = st.grid(4, min_column_width=170, gap="small")
        for key, (label, default, hint) in THRESHOLDS.items():
            text = state.get(key)
            value = int(text) if text.isdecimal() and 1 <= int(text) <= 99 else round(100 * default)
            with grid.cell():
                shown = st.slider(f"{label} (%)", 1, 99, help=hint, **state.bind(key, value))
            found[key] = default if shown == round(100 * default) else shown / 100
    return found


def no_fault(unknown: int, workers: int) -> None:
    """Nothing to do about any worker; that is no praise of those whose labels do not tell."""
    if unknown == workers:
        st.info("These labels do not tell how good any worker is.", icon=":material/help:")
        return
    few = f" The labels of {unknown:,} of {count(workers, 'worker')} are too few to tell." if unknown else ""
    st.success(f"No fault was found in any worker.{few}", icon=":material/check_circle:")


def how_many(table: pd.DataFrame, of: str) -> None:
    """How many workers, or tasks, got which verdict."""
    rows = table[table["of"] == of].to_dict("records")
    named = [verdict_word(r["verdict"]).capitalize() for r in rows]
    numbers(((name, f"{r['number']:,}", as_text(r["meaning"])) for name, r in zip(named, rows, strict=True)), 120)


def take_along(view: View, limits: dict[str, float]) -> None:
    """One CSV of all actions, and a page to print."""
    dataset = state.get("dataset")
    with st.container(horizontal=True, vertical_alignment="center"):
        download(
            "Actions (CSV)",
            lambda: csv_bytes(verdicts.actions(view, *limits.values()).table),
            f"{dataset}-actions-{view.reference}.csv",
            "text/csv",
            type="primary",
            icon=":material/checklist:",
            key="actions",
        )
        link("report", "Page to print", icon="print", parts=["verdicts"])


def mistakes(view: View) -> None:
    """A sentence for each beyond chance, with a link to the tasks and workers behind it."""
    found = verdicts.mistakes_in_words(view)
    for number, row in found.table[found.table["shared"]].iterrows():
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"verdict-mistake-{number}"):
            link(
                "mistakes",
                as_text(f"{row['true']} → {row['given']}"),
                true=row["true"],
                given=row["given"],
                behind="tasks",
            )
            st.markdown(as_text(row["sentence"]))
    for note in found.notes:
        st.caption(as_text(note))


page("overview", draw)
