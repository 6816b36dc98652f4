"""The runs of a dataset with their live progress, and searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import runs
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.guard import attempt, live, refused_before, watch
from dashboard.components.link import link
from dashboard.components.run_choice import run_settings, run_title
from dashboard.components.run_chosen import measured_now, run_outcome
from dashboard.components.table import table
from dashboard.components.text import as_text, count, duration
from dashboard.components.train_form import prefill
from dashboard.services import compare, runs as recorded, train
from dashboard.services.runs import all_runs, live_runs, spelled

if TYPE_CHECKING:
    from crowdcore.runs import Run

EVERY, SELDOM = 1.0, 4.0  # seconds between looks: at live runs, and for runs that others start
KEPT = timedelta(minutes=10)  # that a finished run's row stays: who waited for it sees, and hears, that it ended
NOWHERE: Mapping[str, str] = MappingProxyType({})
ICONS = {
    "queued": ":material/schedule:",
    "running": ":material/progress_activity:",
    "finished": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def follow_runs(shown: Sequence[Run], drawn: Sequence[Run], on: Mapping[str, str] = NOWHERE) -> None:
    """Engine and rows, anew every second while something goes on; the whole page when a run of any dataset changes.

    Args:
        shown: those that have a row until a while after they have finished.
        drawn: all runs as the page knows them.
        on: id -> which of several crowds it is on.
    """
    dataset, names = state.get("dataset"), [run.id for run in shown]

    def rows() -> None:
        by_id = {run.id: run for run in all_runs()}
        _engine(dataset)
        refused_before()
        for run in (by_id[name] for name in names if name in by_id):
            if run.state != "finished" or (run.ended and datetime.now(UTC) - run.ended < KEPT):
                row(run, on.get(run.id, ""))

    stages = set(map(_stage, drawn))
    watch(stages, lambda: set(map(_stage, all_runs())), SELDOM if all(run.has_ended for run in drawn) else EVERY, rows)


def _stage(run: Run) -> tuple[object, ...]:
    """Key of what the rest of the page shows: state, name, whether there are curves and a result, trials so far."""
    progress = run.epoch if run.spec.search else bool(run.scores)
    return run.id, run.state, run.has_result, run.name, run.note, run.tags, progress


def _engine(dataset: str) -> None:
    """Show the engine: running and waiting runs."""
    engine, live = runs.engine_state(), live_runs()
    waiting = [run for run in live if run.state == "queued"]
    elsewhere = sum(run.spec.dataset != spelled(dataset) for run in live)
    words = []
    if engine.workers:
        busy = sum(worker.busy for worker in engine.workers)
        slots = sum(worker.slots for worker in engine.workers)
        words.append(f"{', '.join(sorted({worker.device for worker in engine.workers}))}: {busy} of {slots} busy")
    else:
        words.append("No worker is running; the next start launches one" if not live else "Workers are starting")
    if waiting:
        words.append(f"{count(len(waiting), 'run')} waiting")
    if elsewhere:
        words.append(f"{count(elsewhere, 'run')} of other datasets")
    st.caption(f":material/memory: {as_text(' · '.join(words))}")
    if engine.problem:
        st.warning(as_text(engine.problem), icon=":material/warning:")


def row(run: Run, on: str = "") -> None:
    """One run: its settings, ``on`` which of several crowds, its progress, and buttons for its state."""
    with (
        st.container(key=f"run-{run.id}", gap="xxsmall"),
        st.container(horizontal=True, vertical_alignment="center", gap="small"),
    ):
        with st.container(gap=None):
            n = len(run.spec.seeds)
            details = "".join(f" · {as_text(words)}" for words in (run_settings(run) if run.name else "", on) if words)
            with live(f"run-{run.id}"):  # its progress is not in it: nobody wants to hear every epoch
                st.markdown(f"{ICONS[run.state]} **{as_text(run_title(run))}**{details} · {count(n, 'seed')}")
                if run.state != "running":
                    st.caption(("finished · " if run.state == "finished" else "") + as_text(run_outcome(run)))
            if run.state == "running":
                st.progress(min(max(run.done, 0.0), 1.0), as_text(_progress(run)))
        _buttons(run)


def _progress(run: Run) -> str:
    words = [run.at if run.device or run.spec.search is not None else "starting"]
    if recorded.is_stopping(run.id):
        words.append("stopping after this epoch" if run.spec.search is None else "stopping")
    elif run.remaining is not None:
        words.append(f"{duration(run.remaining)} left")
    words += measured_now(run)[:1]
    return " · ".join([*words, *([run.device] if run.device else []), *([run.message] if run.message else [])])


def _buttons(run: Run) -> None:
    if run.state == "queued":
        first, last = (partial(recorded.put, first=is_first) for is_first in (True, False))
        _button("First", ":material/vertical_align_top:", run, first, "Start it before all others")
        _button("Last", ":material/vertical_align_bottom:", run, last, "Start it after all others")
    if not run.has_ended:
        if not recorded.is_stopping(run.id):
            about = "Stop it after its epoch, and keep what it has learnt by then"
            _button("Cancel", ":material/stop_circle:", run, runs.cancel, about)
        elif run.state == "running" and run.spec.search is None:
            about = "Stop it at once, and keep what its last checkpoint holds"
            _button("Stop now", ":material/cancel:", run, partial(runs.cancel, now=True), about)
    elif run.state != "finished":
        _button("Resume", ":material/resume:", run, runs.resume, "Continue from its last checkpoint")


def _button(label: str, icon: str, run: Run, action: Callable[[str], object], about: str) -> None:
    st.button(
        label,
        key=f"{label}-{run.id}",
        icon=icon,
        help=about,
        on_click=attempt,
        args=(recorded.act, action, run.id),
        type="tertiary",
    )


def search_board(search: Run) -> None:
    """Show one search."""
    st.header(as_text(run_title(search)))
    trials = train.search_trials(search)
    if not trials[train.compared_by(search).column].notna().any():
        st.caption("No trial has finished yet.")
        return
    name = f"{state.get('dataset')}-{search.spec.method}-search"
    history, importance = train.search_exhibits(search)
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        show(history, f"history-{search.id}", file=f"{name}-history")
    with grid.cell():
        if importance is None:
            st.caption("Importance needs four trials.")
        else:
            show(importance, f"importance-{search.id}", file=f"{name}-importance")
    best = train.best_draft(state.get("dataset"), search)
    if best is not None and st.button(
        "Train with the best settings …", icon=":material/trophy:", key=f"best-{search.id}"
    ):
        prefill(best)
        st.toast("The form above holds the best settings.", icon=":material/trophy:")
        st.rerun()
    if search.id in compare.searches(state.get("dataset")):
        measure = train.compared_by(search).measure
        link("compare", f"Test {measure} along what it varies", icon="show_chart", view="Sweeps", searches=[search.id])
    table(trials.drop(columns="run"), f"trials-{search.id}", name=name, noun="trial")
