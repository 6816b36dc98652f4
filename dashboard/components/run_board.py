"""The runs of a dataset, live: how far each is, its curves, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import runs
from crowdcore.data.uploads import dataset_title
from crowdcore.runs.measures import leading
from dashboard import state
from dashboard.components.guard import attempt, refused_before
from dashboard.components.live import live
from dashboard.components.run_picker import table_link
from dashboard.components.run_words import run_asked, run_labels, run_title
from dashboard.components.text import as_text, count, duration
from dashboard.components.watch import watch
from dashboard.services import run_actions
from dashboard.services.runs import live_runs, runs_of, spelled

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
    if run_actions.is_stopping(run.id):
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
    return [f"{words} {measure.words} {measure.mean(run.scores[s])}" for s, words in known.items() if s in run.scores]


def _reached(run: Run) -> str:
    """What it is judged by on the test split, at three epochs; "" without gold there."""
    measure = leading(run.scores)
    if measure is None:
        return ""
    known = {at: f"test_{measure.name}_{at}" for at in REACHED}
    said = [f"{measure.told(run.scores, s)} ({REACHED[at]})" for at, s in known.items() if s in run.scores]
    return f"test {measure.words}: {' · '.join(said)}" if said else ""


def _buttons(run: Run) -> None:
    if run.state == "queued":
        first, last = (partial(run_actions.put, first=is_first) for is_first in (True, False))
        _button("First", ":material/vertical_align_top:", run, first, "Start it before all others")
        _button("Last", ":material/vertical_align_bottom:", run, last, "Start it after all others")
    if not run.has_ended:
        if not run_actions.is_stopping(run.id):
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
        args=(run_actions.act, action, run.id),
        type="tertiary",
    )
