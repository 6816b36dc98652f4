"""Fits side by side: the table, how sure they are, and the tasks on which two of them (or two runs) differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits.fits import fitted
from dashboard import state
from dashboard.components.exhibit import figure, looked_at, show
from dashboard.components.fits import reference_button, shown_fits, titled
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.pickers import picker
from dashboard.components.table import download, table
from dashboard.components.text import as_text, count, percent
from dashboard.services.fits import labels_csv

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore.analysis import LabelDisagreement

Fits = tuple[str, ...]
CURVES = {"gap": "Distance to the final value", "value": "Its value"}


def in_place(done: Fits) -> Fits:
    """The fits that have ended, in the order in which the page came to show them.

    An open select box closes when the value that it shows changes or moves. So while fits of one question end, those
    on the page keep their places, and what it shows by default (`_first_shown`) stays.
    """
    question = (state.get("dataset"), *shown_fits())
    if st.session_state.get("compared", {}).get("question") != question:
        st.session_state["compared"] = {"question": question, "fits": (), "first": {}}
    compared = st.session_state["compared"]
    compared["fits"] = tuple(fit for fit in dict.fromkeys((*compared["fits"], *done)) if fit in done)
    return cast(Fits, compared["fits"])


def _first_shown(key: str, value: str) -> str:
    """Value of a key when the first fits had ended; ``value`` if that is now."""
    return cast(str, st.session_state["compared"]["first"].setdefault(key, value))


def overview(fits: Fits) -> None:
    """Table of all fits, and their warnings."""
    view, dataset = looked_at(), state.get("dataset")
    exhibit = exhibits.aggregation.aggregators(view, fits)
    st.caption(as_text(exhibit.notes[0]))
    show(exhibit, "methods", file=f"{dataset}-aggregators", noun="method", rows=len(fits), notes=False)
    words: dict[str, list[str]] = {}
    for fit in fits:
        for warning in exhibits.aggregation.judgement(view.dataset, fit).warnings:
            words.setdefault(warning, []).append(titled(fit))
    if words:
        listed = "\n".join(f"- **{as_text(', '.join(names))}**: {as_text(warning)}" for warning, names in words.items())
        with st.expander(count(len(words), "warning"), icon=":material/warning:", expanded=True):
            st.markdown(listed)


def differences(fits: Fits) -> None:
    """The matrix of pairs, and the tasks behind the chosen one."""
    view, dataset = looked_at(), state.get("dataset")
    pairs = exhibits.aggregation.disagreement(view.dataset, fits)
    if len(pairs.names) < 2:
        st.caption("Run a second aggregator to see where the two differ.")
        return

    def tasks(first: str, second: str) -> pd.DataFrame:
        return exhibits.aggregation.differing_tasks(view, first, second, fits).table

    drawn = exhibits.aggregation.label_disagreement(view, fits)
    assert drawn.figure is not None
    first, second = exhibits.aggregation.most_different(pairs)
    if len(fits) > 1:
        first = pairs.names.index(_first_shown("first", pairs.names[first]))
        second = pairs.names.index(_first_shown("second", pairs.names[second]))
    differing(pairs, drawn.figure, (first, second), tasks, dataset, "aggregators", reviewable=True)


def curves(fits: Fits) -> None:
    """Reliability and objective curves."""
    view, grid = looked_at(), st.grid(2, min_column_width=400, gap="small")
    if judged := exhibits.aggregation.aggregator_calibration(view, fits):  # needs gold, as the table says
        with grid.cell():
            show(judged, judged.name, file=f"{state.get('dataset')}-{judged.name}")
    with grid.cell():
        kind = state.one_of("curve", list(CURVES)) or "gap"
        climbed = exhibits.aggregation.objective(view, fits, kind == "gap")
        if climbed is not None:
            show(climbed, climbed.name, file=f"{state.get('dataset')}-{climbed.name}")
            st.selectbox("Objective", list(CURVES), format_func=lambda k: CURVES[k], **state.bind("curve", kind))


def one_result(fits: Fits) -> None:
    """One fit: buttons to use and to download it, its confusions and hard tasks."""
    dataset, opened = state.get("dataset"), looked_at().dataset
    st.header("One result")
    with_confusions = [fit for fit in fits if fitted(opened, fit).counts is not None]
    suggested = _first_shown("result", with_confusions[0]) if with_confusions else fits[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        fit = picker("Result", "result", fits, suggested)
        reference_button(fit, "these labels")
        download("Labels and posterior", lambda: labels_csv(dataset, fit), f"{dataset}-{fit}-labels.csv")
    confusions(fit)
    hard_tasks(fit)


def hard_tasks(fit: str) -> None:
    """Difficulty of each task and the class it misleads to, where the fit estimates them."""
    view, dataset = looked_at(), state.get("dataset")
    if exhibits.aggregation.estimates_difficulty(view.dataset, fit):
        st.subheader("Hard tasks")
        exhibit = exhibits.aggregation.hard_tasks(view, fit)
        st.caption(as_text(exhibit.notes[0]))
        show(exhibit, "hard-tasks", file=f"{dataset}-{exhibit.name}", noun="task", rows=12, notes=False)


def confusions(fit: str) -> None:
    """Confusion of one worker, or of all together, by the fit."""
    view, dataset = looked_at(), state.get("dataset")
    common = exhibits.aggregation.common_names(view.dataset, fit)
    own = fitted(view.dataset, fit).counts is not None
    names = [*common, *(view.listed if own else [])]
    if not names:
        st.info("This method estimates no confusions.")
        return
    busiest = view.workers[int(view.dataset.labels_per_worker.argmax())]
    at = names.index(picker("Worker", "worker", names, busiest if own else None))
    if at < len(common):
        drawn = exhibits.aggregation.fit_common_confusion(view, fit, at)
        show(drawn, "confusion", file=f"{dataset}-{drawn.name}")
        return
    drawn = exhibits.aggregation.fit_worker_confusion(view, fit, names[at])
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        show(drawn, "confusion", file=f"{dataset}-{drawn.name}", notes=False)
    with grid.cell():
        st.caption(as_text(drawn.notes[0]))
        table(drawn.table, "intervals", name=f"{dataset}-{drawn.name}-intervals", noun="cell", rows=12)


def differing(
    pairs: LabelDisagreement,
    drawn: go.Figure,
    pair: tuple[int, int],
    tasks_of: Callable[[str, str], pd.DataFrame],
    name: str,
    what: str,
    reviewable: bool = False,
) -> None:
    """The matrix, the chosen pair in words, and its tasks as a table and as cards.

    Args:
        pairs: the labellings in pairs, two or more.
        drawn: their matrix.
        pair: rows of the two to look at while nobody has chosen.
        tasks_of: makes the table of the tasks on which two of them (by name) differ; index = task number.
        name: begin of the downloads' file names.
        what: what the labellings are, in the plural.
        reviewable: whether their names are references, so that the page Review can show the tasks.
    """
    names = list(pairs.names)
    first, second = (state.index_of(key, names) for key in ("first", "second"))
    first, second = (pair[0] if first is None else first, pair[1] if second is None else second)

    def chosen(row: int, column: int) -> None:
        state.put(first=names[row], second=names[column])

    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        figure(
            drawn,
            "disagreement",
            name=f"{name}-label-disagreement",
            alt=f"Share of tasks that each pair of {what} labels differently",
            data=pairs.frame,
            cell=(first, second),
            on_click=chosen,
        )
    with grid.cell():
        with st.container(horizontal=True):
            picker("First", "first", names, names[first])
            picker("Second", "second", names, names[second])
        _detail(pairs, first, second, tasks_of, name)
    if pairs.differ[first, second]:
        tasks = tasks_of(names[first], names[second])
        cards(tasks, lambda row: f"{row['first']} or {row['second']}", "differ")
        if reviewable:
            link("review", "Review and mark these tasks", by="task", reference=names[first], against=names[second])


def _detail(pairs: LabelDisagreement, a: int, b: int, tasks_of: Callable[[str, str], pd.DataFrame], name: str) -> None:
    """Number of tasks on which a pair differs, the accuracy of both there, and the tasks."""
    first, second = pairs.names[a], pairs.names[b]
    st.markdown(
        f"**{as_text(first)}** and **{as_text(second)}** differ on **{count(pairs.differ[a, b], 'task')}** "
        f"of {pairs.compared[a, b]:,} ({percent(pairs.share[a, b])})."
    )
    st.caption(exhibits.aggregation.pair_in_words(pairs, a, b))
    if pairs.differ[a, b]:
        table(tasks_of(first, second), "differing", name=f"{name}-{first}-or-{second}", noun="task", rows=7)
