"""Sandbox: plant a crowd whose mistakes are known, and see which methods find them again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import exhibits
from crowdcore.learning.learners import suggested_methods, untrainable
from crowdcore.learning.recovery.plan import usual_settings, usual_simulator
from dashboard import state
from dashboard.components.exhibit import show, told
from dashboard.components.frame import heading, page
from dashboard.components.guard import attempt, fragment, live, watch
from dashboard.components.link import link
from dashboard.components.pickers import picker, several
from dashboard.components.planting import planting
from dashboard.components.run_board import row
from dashboard.components.run_chosen import cancel_all
from dashboard.components.table import download, table
from dashboard.components.text import as_text, count
from dashboard.components.train_form import train_on
from dashboard.services import opening, sandbox
from dashboard.services.runs import training_fault

if TYPE_CHECKING:
    from crowdcore.runs import Run


SUGGESTED = ("conal start=best-of", "crowd-layer start=best-of", "trace")


def training() -> None:
    """Planted crowds, methods, settings, estimate, start."""
    names = _crowds()
    if not names:
        return
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    kinds = {usual_simulator(opening.labelled(name)) for name in names}
    if len(kinds) > 1:
        st.caption("Choose crowds with the same kind of labels: classes, tags or ratings.")
        return
    opened = opening.labelled(names[0])
    why = untrainable(opened)
    if why:
        st.info(as_text(why), icon=":material/block:")
        return
    suggested = SUGGESTED if kinds == {"synthetic"} else suggested_methods(opened)
    fragment(lambda: train_on(names, suggested, usual_settings(opened)))()


def _crowds() -> list[str]:
    """The planted crowds that this is about, with their files."""
    known = sandbox.planted_before()
    asked = state.get_many("planted")
    chosen = [name for name in asked if name in known]
    if len(chosen) < len(asked):
        st.caption(f"{count(len(asked) - len(chosen), 'planted crowd')} in this link cannot be found here.")
    if not known:
        st.info(
            "Nothing has been planted yet. Press **Plant** above: the crowd is kept as a dataset, which every page can "
            "open.",
            icon=":material/potted_plant:",
        )
        return []
    several("Planted crowds", "planted", known, "Choose crowds to train on, or to see who recovered them", chosen)
    if not chosen:
        st.caption("Plant a crowd, or choose one that was planted before.")
        return []
    words = sandbox.crowd_words(chosen)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for name in chosen[:6]:
            link("overview", as_text(words[name]), icon="database", dataset=name, reference=None)
            about = "Its files; truth.npz holds what generated them"
            made = partial(sandbox.archive, name)
            download("ZIP", made, f"{name}.zip", key=f"zip-{name}", type="tertiary", help=about)
        if len(chosen) > 6:
            st.caption(f"and {len(chosen) - 6} more", width="content")
    return chosen


EVERY = 1.0  # seconds between looks at live runs
PAGES = ("compare", "confusions", "omega", "train")


def results() -> None:
    """The runs of the chosen crowds, and what they came to."""
    known = sandbox.planted_before()
    names = [name for name in state.get_many("planted") if name in known]
    if not names or training_fault() or len({usual_simulator(opening.labelled(name)) for name in names}) > 1:
        return
    runs = sandbox.runs_on(names)
    if runs:
        st.header("Who recovered what")
        _follow(names, runs)
        _recovered()


def _stages(runs: list[tuple[str, Run]]) -> list[tuple[str, str]]:
    return [(run.id, run.state) for _, run in runs]


def _follow(names: list[str], drawn: list[tuple[str, Run]]) -> None:
    """Live runs, anew every second; the whole page when one ends."""
    if all(run.has_ended for _, run in drawn):
        for _, run in drawn:
            if run.state != "finished":
                row(run)
        return

    def rows() -> None:
        found = sandbox.runs_on(names)
        words = sandbox.crowd_words(names) if len(names) > 1 else dict.fromkeys(names, "")
        done = sum(run.has_ended for _, run in found)
        with live("ended"):
            waiting = sum(run.state == "queued" for _, run in found)
            queued = f", {count(waiting, 'waits', 'wait')} for a worker" if waiting else ""
            st.progress(done / len(found), f"{done} of {count(len(found), 'run')} ended{queued}")
        for name, run in found:
            if run.state in ("running", "failed", "cancelled"):
                row(run, words[name])

    watch(_stages(drawn), lambda: _stages(sandbox.runs_on(names)), EVERY, rows)
    waiting = [run.id for _, run in drawn if not run.has_ended]
    label, stop = "Cancel all", ":material/stop_circle:"
    st.button(label, icon=stop, type="tertiary", on_click=attempt, args=(cancel_all, waiting))


@fragment
def _recovered() -> None:
    """The table, its figure, and matrices beside the truth."""
    known = sandbox.planted_before()
    names = [name for name in state.get_many("planted") if name in known]
    with st.spinner("Comparing with the truth …"):
        found = sandbox.errors(names)
    if found is None:
        return
    if found.figure is not None:
        show(found, "recovery", file="recovery", notes=False)
    table(found.table, "recovery", name="recovery", noun="method", rows=min(len(found.table), 12))
    told(found.notes)
    if opening.kind(names[0]) == "ratings":
        _onwards(names[0], ("compare", "ratings", "train"))
    else:
        _matrices(names)


def _matrices(names: list[str]) -> None:
    """The planted matrix of a crowd beside the learnt ones."""
    words = sandbox.crowd_words(names)
    st.header("Planted beside learnt")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = picker("Crowd", "shown", words, width=320) if len(names) > 1 else names[0]
        crowd = opening.dataset(name)
        kinds = exhibits.planted.matrix_kinds(crowd)
        if not kinds:
            st.caption("This simulator has no confusion matrices.")
            return
        kind = picker("Matrix", "matrix", kinds, width=220)
        workers = [str(w) for w in crowd.worker_ids[crowd.labels_per_worker > 0]]
        worker = picker("Worker", "worker", workers, width=140) if kind != "common" else ""
    shown = sandbox.matrices(name, kind, worker)
    if shown is None:
        st.info("No finished method learns this matrix.", icon=":material/block:")
    else:
        show(shown, "matrices", file=shown.name)
    _onwards(name)


def _onwards(name: str, pages: tuple[str, ...] = PAGES) -> None:
    """The pages that open the same runs."""
    runs = [run.id for (_, _), run in sandbox.newest([name]).items()]
    with st.container(horizontal=True):
        for page in pages:
            link(page, runs=runs, dataset=name, reference=None)


def draw() -> None:
    """The page."""
    heading()
    planting()
    st.caption(
        "Plant a crowd whose mistakes are known, and see which aggregators and trained methods find them again: on "
        "classes, tags of tokens and ratings."
    )
    st.header("Train")
    training()
    results()


page("sandbox", draw, ratings=draw)
