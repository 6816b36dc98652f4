"""Home: what this crowd did, and what to do about it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.analysis.verdicts import verdict_word
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.uploads import dataset_title
from crowdcore.exhibits import View, verdicts
from dashboard import state
from dashboard.components.exhibit import follow, looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.link import link, task_link, worker_link
from dashboard.components.numbers import glance, glance_at_ratings, importing
from dashboard.components.table import download, numbers
from dashboard.components.text import as_text, count
from dashboard.services.uploads import asked_file

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
HEIGHT = 430  # pixels of a figure with its title, so that what to do is seen below it
FEW = 3  # workers, mistakes and items that a card names


def draw(first: Callable[[], None] | None = None) -> None:
    """The page; ``first`` draws its first view."""
    if digest := asked_file():
        state.put(view="Open a file", file=digest)
    heading(as_text(dataset_title(state.get("dataset"))))
    {"Numbers": glance, "Open a file": importing}.get(state.get("view"), first or board)()


@fragment
def board() -> None:
    """The crowd in a sentence and two figures, what to do about it, and what that rests on."""
    follow()
    view, above = looked_at(), st.container(key="told")
    drawn, cards, below = (st.container() for _ in range(3))
    with below:
        limits = thresholds()
    remove, trust, confused, sure = (limits[key] for key in THRESHOLDS)
    with above, st.spinner("Judging workers and tasks …", show_time=True):
        with drawn:
            pictures(view)
        counts = verdicts.verdicts(view, remove, trust, confused, sure)
    truth, knows, *limits_told, wrong, control = counts.notes
    with above:
        said, csv = st.columns([6, 1], vertical_alignment="center")
        said.markdown(as_text(f"{wrong} {knows}"), help=as_text(" ".join([truth, *limits_told])))
        with csv:
            take_along(view, limits)
    workers = verdicts.worker_verdicts(view, remove, trust, confused)
    judged = verdicts.to_do(verdicts.workers_judged(view, remove, trust, confused))
    tasks = verdicts.task_verdicts(view, sure)
    with cards:
        grid = st.grid(3, min_column_width=330, gap="small", border=True)
        with grid.cell():
            guideline(view)
        with grid.cell():
            to_look_at(workers.table, workers.table.loc[judged[workers.table.index]], view.hidden)
        with grid.cell():
            again(tasks.table)
    with below:
        with st.expander("All workers", icon=":material/groups:"):
            how_many(counts.table, "worker")
            show(workers, "workers", noun="worker", rows=8, notes=False, limits="w", leads=True)
            st.caption(as_text(control))
        with st.expander("All items", icon=":material/list_alt:"):
            how_many(counts.table, "task")
            show(tasks, "tasks", noun="task", rows=8, notes=False, limits="t", leads=True)


def guideline(view: View) -> None:
    """The mistakes that more workers share than chance explains, each with a link to what is behind it."""
    found = verdicts.mistakes_in_words(view)
    shared = found.table[found.table["shared"]]
    _title("Guideline to fix", len(shared))
    for number, row in shared.head(FEW).iterrows():
        pair = {key: row[key] for key in ("true", "given")}
        with st.container(gap=None, key=f"verdict-mistake-{number}"):
            link("mistakes", as_text("{true} → {given}".format(**pair)), icon=None, behind="tasks", **pair)
            st.caption(as_text(row["sentence"]))
    for note in found.notes:
        st.caption(as_text(note))
    link("mistakes", "All mistakes", icon="arrow_forward")


def to_look_at(table: pd.DataFrame, urgent: pd.DataFrame, hidden: bool) -> None:
    """The workers about whom something is to be done."""
    _title("Workers to look at", len(urgent))
    if not len(urgent):
        no_fault(int((table["verdict"] == "underpowered").sum()), len(table))
    if hidden and st.button("Show their names", on_click=state.put, kwargs={"names": "shown"}, type="tertiary"):
        st.rerun()  # the sidebar, too
    for _, row in urgent.head(FEW + 2).iterrows():
        worker_link(row)
    link("annotators", "Ranking", icon="arrow_forward", view="Ranking")


def again(table: pd.DataFrame) -> None:
    """The items whose label is not to be relied on, and the ways to review them."""
    doubtful = table[table["verdict"] != "fine"]
    _title("Items to look at", len(doubtful))
    for _, row in doubtful.head(FEW).iterrows():
        task_link(row)
    for verdict, words in REVIEWS.items():
        if (table["verdict"] == verdict).any():
            link("review", words, icon="arrow_forward", by="task", show=verdict)


def _title(title: str, number: int) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(title, width="content")
        st.caption(f"{number:,}", width="content")


def pictures(view: View) -> None:
    """How good each worker is, and which mistakes they share; a click opens the evidence."""
    from crowdcore.figures.theme import copied

    grid = st.grid(2, min_column_width=400, gap="small")
    ranking = exhibits.workers.worker_ranking(view)
    drawn = (replace(ranking, click=lambda number: {"worker": view.workers[number]}), "ranking")
    layer: Literal["percent", "annotations"] = "percent" if len(view.classes) > 2 else "annotations"  # everybody errs
    for exhibit, key in (drawn, (exhibits.mistakes.shared_mistakes(view, layer), "mistakes")):
        with grid.cell():
            assert exhibit.figure is not None
            low = copied(exhibit.figure).update_layout(height=HEIGHT)
            show(replace(exhibit, figure=low), key, notes=False, leads=True)


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
    """One CSV of all actions."""
    download(
        "Actions (CSV)",
        lambda: csv_bytes(verdicts.actions(view, *limits.values()).table),
        f"{state.get('dataset')}-actions-{view.reference}.csv",
        "text/csv",
        type="primary",
        icon=":material/checklist:",
        key="actions",
    )


page("overview", draw, importing, ratings=lambda: draw(glance_at_ratings))
