"""One run: what it was asked, what became of it, its log, and what can be taken along."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import runs
from crowdcore.data.dictionary import csv_bytes
from dashboard import state
from dashboard.components.download import download
from dashboard.components.guard import fragment, refusals
from dashboard.components.link import link
from dashboard.components.reference_button import reference_button
from dashboard.components.run_words import run_labels
from dashboard.components.text import as_text
from dashboard.components.train_form import prefill
from dashboard.services import opening, run_actions, train
from dashboard.services.runs import readable, runs_of

if TYPE_CHECKING:
    from crowdcore.runs import Run

LINES = 40  # of a log
EVERY = 2.0  # seconds between two looks at the log of a live run


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
                run_actions.act(runs.delete, [run.id])
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
        kinds = run_actions.model_kinds() if opening.kind(state.get("dataset")) == "classes" else {}
        for kind, words in kinds.items():
            download(
                f"Model ({words})",
                partial(run_actions.model_archive, run.id, kind),
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

    st.fragment(look, run_every=None if run.has_ended else EVERY)()
