"""The runs of a dataset, live: how far each is, one run with its curves and its log, and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import runs
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.uploads import dataset_title
from crowdcore.runs.run import leading
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.fits import reference_button
from dashboard.components.guard import attempt, fragment, live, refusals, refused_before, watch
from dashboard.components.link import link
from dashboard.components.run_choice import run_asked, run_labels, run_title, table_link
from dashboard.components.table import download, table
from dashboard.components.text import as_text, count, duration
from dashboard.components.train_form import prefill
from dashboard.services import compare, opening, runs as recorded, train
from dashboard.services.runs import live_runs, readable, runs_of, spelled

if TYPE_CHECKING:
    from crowdcore.runs import Run

EVERY, SELDOM = 1.0, 4.0  # seconds between looks: at live runs, and for runs that others start
SHOWN = 8  # runs that are shown while nobody has chosen
SPLITS = {"test": "test", "valid": "validation", "best_valid": "best validation"}
REACHED = {"selected": "selected epoch", "last": "last", "best": "best on test"}
ICONS = {
    "queued": ":material/schedule:",
    "running": ":material/progress_activity:",
    "finished": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def board() -> list[Run]:
    """Draw the part below the form; returns the runs that are shown."""
    dataset = state.get("dataset")
    above, live = st.container(), st.container()  # a fragment is known by its place: see `views.train`
    with above, st.spinner("Looking up the runs …"):
        found = runs_of(dataset)
    shown: list[Run] = []
    if found:
        with above:
            shown = _picked(found)
    with live:
        _follow(dataset, [run.id for run in shown], found)
    if not found:
        st.info(
            f"Nothing has been trained on {as_text(dataset_title(dataset))} yet. Choose methods above and press "
            "**Start**: you can close the page while they train, and come back to compare what they learnt.",
            icon=":material/model_training:",
        )
    return shown


def _picked(found: list[Run]) -> list[Run]:
    """The runs to show: as chosen, else those that are live or were started last."""
    by_id = {run.id: run for run in found}
    asked = state.get_many("runs")
    chosen = [name for name in asked if name in by_id]
    if len(chosen) < len(asked):
        st.caption(f"{count(len(asked) - len(chosen), 'run')} in this link cannot be found; perhaps deleted.")
    if not chosen:
        newest = found[0].spec.group
        usual = [run for run in found if not run.has_ended or (run.spec.group == newest and newest)] or found[:1]
        chosen = [run.id for run in reversed(usual[:SHOWN])]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect(
            "Runs shown",
            list(by_id),
            format_func=run_labels(found).__getitem__,
            placeholder="Choose runs",
            wrap=True,
            **state.bind("runs", chosen),
        )
        table_link(state.get("dataset"), chosen)
    return [by_id[name] for name in chosen]


def _follow(dataset: str, shown: list[str], drawn: Sequence[Run]) -> None:
    """Engine, rows and curves, anew every second while something goes on; the whole page when a run changes state."""
    lively = any(not run.has_ended for run in drawn)

    def rows() -> None:
        by_id = {run.id: run for run in runs_of(dataset)}
        _engine(dataset)
        refused_before()
        for name in shown:
            if name in by_id:
                _row(by_id[name])

    stages = set(map(_stage, drawn))
    watch(stages, lambda: set(map(_stage, runs_of(dataset))), EVERY if lively else SELDOM, rows)


def _stage(run: Run) -> tuple[str, str, int]:
    """What the rest of the page depends on: the state, whether there are curves, the trials of a search."""
    return run.id, run.state, run.epoch if run.spec.search else bool(run.scores)


def _engine(dataset: str) -> None:
    """Who trains, what waits."""
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


def _row(run: Run) -> None:
    """One run: what, how far, and the buttons that fit its state."""
    with (
        st.container(key=f"run-{run.id}", gap="xxsmall"),
        st.container(horizontal=True, vertical_alignment="center", gap="small"),
    ):
        with st.container(gap=None):
            n = len(run.spec.seeds)
            asked = f" · {as_text(run_asked(run))}" if run.name else ""
            with live(f"run-{run.id}"):  # its progress is not in it: nobody wants to hear every epoch
                st.markdown(f"{ICONS[run.state]} **{as_text(run_title(run))}**{asked} · {count(n, 'seed')}")
                if run.state != "running":
                    st.caption(as_text(_outcome(run)))
            if run.state == "running":
                st.progress(min(max(run.done, 0.0), 1.0), as_text(_progress(run)))
        _buttons(run)


def _progress(run: Run) -> str:
    words = [run.at if run.device or run.spec.search is not None else "starting"]
    if recorded.is_stopping(run.id):
        words.append("stopping after this epoch" if run.spec.search is None else "stopping")
    elif run.remaining is not None:
        words.append(f"{duration(run.remaining)} left")
    words += _now(run)[:1]
    return " · ".join([*words, *([run.device] if run.device else []), *([run.message] if run.message else [])])


def _outcome(run: Run) -> str:
    """What a run that is not running waits for or came to."""
    if run.state == "queued":
        return run.message or "waits for its turn"
    words: list[str] = [run.state] if run.state != "finished" else []
    if reached := _reached(run):
        words.append(reached)
    else:
        words += [f"{said} last" for said in _now(run) if said.startswith(SPLITS["valid"])]
    if run.started and run.ended:
        words.append(duration((run.ended - run.started).total_seconds()))
    return " · ".join([*words, *([run.device] if run.device else []), *([run.message] if run.message else [])])


def _now(run: Run) -> list[str]:
    """What it is judged by as it was after the newest epoch, of each split."""
    measure = leading(run.scores)
    if measure is None:
        return []
    known = {f"{split}_{measure.name}": words for split, words in SPLITS.items()}
    return [
        f"{words} {measure.words} {measure.format_mean(run.scores[s])}" for s, words in known.items() if s in run.scores
    ]


def _reached(run: Run) -> str:
    """What it is judged by on the test split, at three epochs; "" without gold there."""
    measure = leading(run.scores)
    if measure is None:
        return ""
    known = {at: f"test_{measure.name}_{at}" for at in REACHED}
    said = [f"{measure.format(run.scores, s)} ({REACHED[at]})" for at, s in known.items() if s in run.scores]
    return f"test {measure.words}: {' · '.join(said)}" if said else ""


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


LINES = 40  # of a log
LOG_EVERY = 2.0  # seconds between two looks at the log of a live run


def one_run(shown: list[Run]) -> None:
    """One of the runs shown."""
    fragment(lambda: _one({run.id: run for run in shown}))()


def _one(shown: dict[str, Run]) -> None:
    st.header("One run")
    if st.session_state.get("train-one") not in shown:
        failed = [name for name, run in shown.items() if run.state == "failed"]
        st.session_state["train-one"] = (failed or list(shown))[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = run_labels(runs_of(state.get("dataset")))
        names = {name: labels[name] for name in shown if name in labels}
        run = shown[st.selectbox("Run", names, format_func=names.__getitem__, key="train-one")]
        _again(run)
        _use(run)
        _delete(run)
        link("runs", "Name, note, tags", icon="label", datasets=[run.spec.dataset], runs=[run.id])
    with st.container():  # what comes and goes in it does not move the log's fragment
        if run.note:
            st.caption(as_text(run.note))
        if run.message:
            (st.error if run.state == "failed" else st.info)(as_text(run.message))
        _take_along(run)
        if run.spec.search is None:
            st.caption("The same on the command line")
            st.code(runs.command_line(run.spec), language=None, wrap_lines=True)
    with st.expander("Log", expanded=run.state == "failed", icon=":material/notes:"):
        _log(run)


def _again(run: Run) -> None:
    """Fill the form with what it was asked."""
    if run.spec.search is None and st.button(
        "Run again with …", icon=":material/replay:", help="Fill the form above with its settings"
    ):
        prefill(train.draft_of(state.get("dataset"), run.spec))
        st.toast("The form above holds its settings.", icon=":material/replay:")
        st.rerun()


def _use(run: Run) -> None:
    """Make its predictions the reference of every page."""
    dataset = state.get("dataset")
    if opening.kind(dataset) == "classes" and readable(run, dataset):
        reference_button(f"run:{run.id}", "what it predicts")


def _delete(run: Run) -> None:
    """Delete it, once confirmed."""
    if not run.has_ended:
        return
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown("Delete this run with its curves, model and log? This cannot be undone.")
        if st.button("Delete for good", type="primary", key=f"delete-{run.id}"):
            with refusals():
                recorded.act(runs.delete, [run.id])
                state.put(runs=[name for name in state.get_many("runs") if name != run.id])
                st.rerun()


def _take_along(run: Run) -> None:
    if not run.has_result:
        return
    name = f"{run.spec.method}-{run.id[:8]}"
    with st.container(horizontal=True, vertical_alignment="center"):
        download(
            "Predictions",
            lambda: csv_bytes(runs.predictions(run.id)),
            f"{name}-predictions.csv",
            "text/csv",
            icon=":material/download:",
        )
        kinds = recorded.model_kinds() if opening.kind(state.get("dataset")) == "classes" else {}
        for kind, words in kinds.items():
            download(
                f"Model ({words})",
                partial(recorded.model_archive, run.id, kind),
                f"{name}-{kind}.zip",
                "application/zip",
                icon=":material/download:",
            )


def _log(run: Run) -> None:
    """The last lines, anew while it is live."""

    def look() -> None:
        with refusals():
            lines = runs.log_lines(run.id, LINES)
            st.code("\n".join(lines) or "Nothing yet.", language=None, wrap_lines=True, height=260)

    st.fragment(look, run_every=None if run.has_ended else LOG_EVERY)()


def search_board(search: Run) -> None:
    """One search."""
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
        told = train.compared_by(search).measure
        link("compare", f"Test {told} along what it varies", icon="show_chart", view="Sweeps", searches=[search.id])
    table(trials.drop(columns="run"), f"trials-{search.id}", name=name, noun="trial")
