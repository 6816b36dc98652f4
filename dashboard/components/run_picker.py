"""Choosing among the finished runs of a dataset; the choice is tied to the address bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore.data.uploads import dataset_title
from dashboard import state
from dashboard.components.link import link
from dashboard.components.run_words import run_labels
from dashboard.components.text import as_text, count
from dashboard.services.runs import readable, runs_of, spelled, training_fault

if TYPE_CHECKING:
    from crowdcore.runs import Run

SUGGESTED = 6  # runs that are shown while nobody has chosen


def pick_runs(
    key: str = "runs",
    several: bool = True,
    *,
    label: str = "Runs",
    only: Callable[[Run], bool] = lambda run: True,
    rather: Callable[[Run], bool] = lambda run: True,
    without: str = "",
    optional: bool = False,
) -> list[Run]:
    """Draw the picker, or say what to do where there is nothing to pick.

    Args:
        key: the name in the address bar.
        several: any number of runs, or just one.
        label: what the widget is called.
        only: which of the finished runs can be picked.
        rather: which run of several in the address to show where one is shown.
        without: what to say where there are finished runs, but none that ``only`` lets through.
        optional: say nothing where there is nothing to pick.

    Returns:
        The runs to show, in the order chosen; while nobody has chosen, the newest one of each method.
        Empty only where there is nothing to pick.
    """
    dataset = state.get("dataset")
    finished = [run for run in runs_of(dataset) if readable(run, dataset)]
    offered = {run.id: run for run in finished if only(run)}
    if not offered:
        if not optional:
            title = as_text(dataset_title(dataset))
            untrained = f"Nothing has been trained on {title} yet. Start a run, and come back when it has finished."
            nothing((finished and without) or untrained)
        return []
    asked = state.get_many(key)
    chosen = [name for name in asked if name in offered]
    if len(chosen) < len(asked):
        gone = len(asked) - len(chosen)
        st.caption(f"{count(gone, 'run')} in this link cannot be shown: unfinished, deleted, or on other data.")
    labels = run_labels(runs_of(dataset))
    names = {name: labels[name] for name in offered}
    if not chosen:
        newest = {run.spec.method: run.id for run in reversed(offered.values()) if run.state == "finished"}
        chosen = [name for name in offered if name in newest.values()][:SUGGESTED] or list(offered)[:1]
    if several:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.multiselect(
                label,
                list(names),
                format_func=names.__getitem__,
                placeholder="Choose finished runs",
                wrap=True,
                **state.bind(key, chosen),
            )
            table_link(dataset, chosen)
    else:
        chosen = [next((name for name in chosen if rather(offered[name])), chosen[0])]
        st.selectbox(label, list(names), format_func=names.__getitem__, **state.bind(key, chosen[0]))
    for name in chosen:
        run = offered[name]
        if run.state != "finished":
            st.caption(as_text(f"{names[name]}: {run.state} at {run.at}; values so far."))
    return [offered[name] for name in chosen]


def table_link(dataset: str, shown: list[str]) -> None:
    """The way to the table of the dataset's runs, with those that are shown chosen."""
    link(
        "runs",
        "Choose in a table",
        help="All runs with their settings, scores, notes and tags; choose rows there, then Compare",
        datasets=[spelled(dataset)],
        runs=shown,
    )


def nothing(why: str) -> None:
    """Why no run can be shown, and what to do."""
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    st.info(why, icon=":material/model_training:")
    with st.container(key="next-step"):  # a link that looks like a primary button
        link("train")
