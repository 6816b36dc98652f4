"""Home: what this crowd did, and what to do about it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.analysis.verdicts import CONFUSED, REMOVE, SURE, TRUST, verdict_word
from crowdcore.data.catalogue import Upload, dataset_title
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.uploads import delete_upload
from crowdcore.exhibits import Exhibit, View
from dashboard import state
from dashboard.components.exhibit import follow, looked_at, panels, show, show_notes
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.link import link, task_link, worker_link
from dashboard.components.table import download, formats, numbers
from dashboard.components.text import as_text, count, number, percent, size, when
from dashboard.services import uploads
from dashboard.services.runs import runs_of
from dashboard.services.uploads import file_to_open

SHARES = {
    "Wrong labels": "wrong annotations",
    "Tasks nobody got right": "tasks nobody got right",
    "Mean worker accuracy": "mean worker accuracy",
    "Majority vote is right": "majority vote is right",
}
SHOWN = 20  # uploads


@fragment
def importing() -> None:
    """Upload, look, accept; the uploads there are, the newest first."""
    from dashboard.components.importer import importer  # not before the first figure of the view that opens

    importer()
    if not (listed := uploads.list_uploads()):
        return
    st.header("Uploads")
    everything = len(listed) <= SHOWN or st.toggle(f"Show all {len(listed):,}", key="all-uploads")
    for upload in listed if everything else listed[:SHOWN]:
        _row(upload)


@fragment
def glance() -> None:
    """Numbers, agreement, balance."""
    dataset, view, data = state.get("dataset"), looked_at(), exhibits.overview
    noticed = metrics()
    makers = data.annotations_per_worker, data.annotations_per_task, data.class_balance, data.annotation_entropy
    panels(*((drawn, drawn.name) for drawn in (make(view) for make in makers)), file=dataset)
    show_notes(noticed)
    grid = st.grid(2, min_column_width=380, gap="small")
    with grid.cell():
        show(data.agreement(view), "agreement", file=f"{dataset}-agreement", notes=False)
    with grid.cell():
        exhibit = data.agreement_coefficients(view)
        st.dataframe(exhibit.table, hide_index=True, column_config=formats(exhibit.table), placeholder="–")
        for note in exhibit.notes:
            st.markdown(as_text(note))
    st.header("Classes")
    show(data.class_table(view), "classes", file=f"{dataset}-classes", noun="class", rows=12)


@fragment
def glance_at_ratings() -> None:
    """Biases, summary and agreement of ratings, and links to their pages."""
    from dashboard.components import rated_tasks  # as above

    view = looked_at()
    show(replace(exhibits.ratings.worker_bias(view), click=None), "bias", notes=False)
    rated_tasks.in_numbers(view)
    show_notes(exhibits.ratings.summary(view).notes[len(view.notes) :])  # the first ones are in the sidebar
    with st.container(horizontal=True):
        link("ratings")
        link("tasks")


def metrics() -> tuple[str, ...]:
    """Basic numbers of the dataset; returns its notes."""
    exhibit = exhibits.overview.overview(looked_at())
    facts = dict(zip(exhibit.table["what"], exhibit.table["value"], strict=True))
    counts = {"Tasks labelled": "tasks labelled", "Workers": "workers", "Annotations": "annotations"}
    cells = {label: f"{facts[what]:,.0f}" for label, what in counts.items()}
    cells["Labels per task"] = number(facts["labels per task"], 2)
    cells |= {label: percent(facts[what], 2) for label, what in SHARES.items()}
    numbers(((label, value, None) for label, value in cells.items()), columns=4)
    return exhibit.notes


def _row(upload: Upload) -> None:
    key = upload.dataset or upload.file
    with st.container(horizontal=True, vertical_alignment="center", key=f"upload-{key}"):
        if upload.dataset:
            link("overview", as_text(upload.name), icon="table", dataset=upload.dataset, reference=None, names=None)
        else:
            st.markdown(as_text(upload.name))
        facts = [when(upload.when), *([size(upload.size)] if upload.size else [])]
        st.caption(as_text(" · ".join(facts if upload.dataset else [*facts, "not opened yet"])))
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


THRESHOLDS = {
    "remove": ("Remove below", REMOVE, "As a share of the typical worker's skill."),
    "trust": ("Trust above", TRUST, "As a share of the typical worker's skill."),
    "confused": ("Train from", CONFUSED, "Share of a class that is labelled as another one."),
    "sure": ("Take labels from", SURE, "Probability that a task's label is right."),
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
    if digest := file_to_open():
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
        counts = exhibits.verdicts.verdicts(view, remove, trust, confused, sure)
    truth, knows, *limits_told, wrong, control = counts.notes
    with above:
        sentence, csv = st.columns([6, 1], vertical_alignment="center")
        sentence.markdown(as_text(f"{wrong} {knows}"), help=as_text(" ".join([truth, *limits_told])))
        with csv:
            take_along(view, limits)
    workers = exhibits.verdicts.worker_verdicts(view, remove, trust, confused)
    judged = exhibits.verdicts.to_do(exhibits.verdicts.workers_judged(view, remove, trust, confused))
    tasks = exhibits.verdicts.task_verdicts(view, sure)
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
    """Mistakes that more workers share than chance explains, each with a link to its evidence."""
    exhibit = exhibits.verdicts.mistakes_in_words(view)
    shared = exhibit.table[exhibit.table["shared"]]
    _title("Guideline to fix", len(shared))
    for place, row in shared.head(FEW).iterrows():
        pair = {key: row[key] for key in ("true", "given")}
        with st.container(gap=None, key=f"verdict-mistake-{place}"):
            link("mistakes", as_text("{true} → {given}".format(**pair)), icon=None, behind="tasks", **pair)
            st.caption(as_text(row["sentence"]))
    show_notes(exhibit.notes)
    link("mistakes", "All mistakes", icon="arrow_forward")


def to_look_at(table: pd.DataFrame, urgent: pd.DataFrame, hidden: bool) -> None:
    """Workers whose verdict calls for action."""
    _title("Workers to look at", len(urgent))
    if not len(urgent):
        no_fault(int((table["verdict"] == "underpowered").sum()), len(table))
    if hidden and st.button("Show their names", on_click=state.put, kwargs={"names": "shown"}, type="tertiary"):
        st.rerun()  # the sidebar, too
    for _, row in urgent.head(FEW + 2).iterrows():
        worker_link(row)
    with st.container(horizontal=True):
        for view in ("Ranking", "Distances"):
            link("annotators", view, icon="arrow_forward", view=view)


def again(table: pd.DataFrame) -> None:
    """Items with a doubtful label, and links to review them."""
    doubtful = table[table["verdict"] != "fine"]
    _title("Items to look at", len(doubtful))
    if not len(doubtful):
        st.info("Each label is sure enough, or gold is known.", icon=":material/check_circle:")
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
    """Skill of each worker, and shared mistakes, drawn first; a click opens the evidence."""
    from crowdcore.figures.theme import copied

    def low(exhibit: Exhibit, key: str) -> None:
        if exhibit.figure:
            figure = copied(exhibit.figure).update_layout(height=HEIGHT)
            show(replace(exhibit, figure=figure), key, notes=False, leads=True)

    grid = st.grid(2, min_column_width=400, gap="small")
    left, right = grid.cell(), grid.cell()
    layer: Literal["percent", "annotations"] = "percent" if len(view.classes) > 2 else "annotations"  # everybody errs
    with right:  # without compiled code, which takes a second to load
        low(exhibits.mistakes.shared_mistakes(view, layer), "mistakes")
    with left:
        ranking = exhibits.workers.worker_ranking(view)
        low(replace(ranking, click=lambda number: {"worker": view.workers[number]}), "ranking")


def thresholds() -> dict[str, float]:
    """The four limits, in per cent; each can be moved."""
    limits = {}
    with st.expander("Thresholds", icon=":material/tune:"):
        grid = st.grid(4, min_column_width=170, gap="small")
        for key, (label, default, hint) in THRESHOLDS.items():
            value = state.whole(key, round(100 * default), 1, 99)
            with grid.cell():
                shown = st.slider(f"{label} (%)", 1, 99, help=hint, **state.bind(key, value))
            limits[key] = default if shown == round(100 * default) else shown / 100
    return limits


def no_fault(unknown: int, workers: int) -> None:
    """Tell that no worker is at fault, without praise where the labels do not tell."""
    if unknown == workers:
        st.info("These labels do not tell how good any worker is.", icon=":material/help:")
        return
    few = f" The labels of {unknown:,} of {count(workers, 'worker')} do not tell." if unknown else ""
    st.success(f"No fault was found in any worker.{few}", icon=":material/check_circle:")


def how_many(table: pd.DataFrame, of: str) -> None:
    """Number of workers, or of tasks, with each verdict."""
    rows = table[table["of"] == of].to_dict("records")
    named = [verdict_word(r["verdict"]).capitalize() for r in rows]
    numbers(((name, f"{r['number']:,}", as_text(r["meaning"])) for name, r in zip(named, rows, strict=True)), 120)


def take_along(view: View, limits: dict[str, float]) -> None:
    """Download of all actions as one CSV."""
    file = f"{state.get('dataset')}-actions-{view.reference}.csv"
    look = {"type": "primary", "icon": ":material/checklist:", "key": "actions"}
    download("Actions (CSV)", lambda: csv_bytes(exhibits.verdicts.actions(view, *limits.values()).table), file, **look)


page("overview", draw, importing, ratings=lambda: draw(glance_at_ratings))
