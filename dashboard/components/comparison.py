"""Fits side by side: the table, where they differ, how sure they are, and what each says of the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import services, state
from dashboard.components.differing import differing
from dashboard.components.download import download
from dashboard.components.figure import figure
from dashboard.components.fits import titled
from dashboard.components.frame import hidden_names
from dashboard.components.pickers import picker
from dashboard.components.reference_button import reference_button
from dashboard.components.table import table
from dashboard.components.text import as_text, count

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["curves", "differences", "one_result", "overview"]

Fits = tuple[str, ...]
CURVES = {"gap": "Distance to its last value", "value": "Its value"}


def overview(fits: Fits) -> None:
    """The table of all fits, and what to be wary of."""
    dataset = state.get("dataset")
    frame = services.comparison(dataset, fits)
    n_judged = [services.judgement(dataset, fit).n_judged for fit in fits]
    if any(n_judged):
        st.caption(
            f"Accuracy on the {count(max(n_judged), 'task')} with hidden gold. Gained / lost: tasks right here but "
            "wrong by majority vote, and the reverse. Log-likelihoods of different models are not comparable."
        )
    else:
        st.caption("No task with hidden gold is left, so nothing can be said of accuracy or calibration.")

    def chosen(row: int) -> None:
        state.put(result=fits[row])

    table(frame, "methods", name=f"{dataset}-aggregators", noun="method", rows=len(fits), on_row=chosen)
    words: dict[str, list[str]] = {}
    for fit in fits:
        for warning in services.judgement(dataset, fit).warnings:
            words.setdefault(warning, []).append(titled(fit))
    if words:
        listed = "\n".join(f"- **{as_text(', '.join(who))}**: {as_text(warning)}" for warning, who in words.items())
        with st.expander(count(len(words), "warning"), icon=":material/warning:", expanded=True):
            st.markdown(listed)


def differences(fits: Fits) -> None:
    """The matrix of pairs, and the tasks behind the chosen one."""
    dataset = state.get("dataset")
    found = services.label_disagreement(dataset, fits)
    if len(found.names) < 2:
        st.caption("Run a second aggregator to see where the two differ.")
        return

    def tasks(first: str, second: str) -> pd.DataFrame:
        return services.differing_tasks(dataset, fits, first, second)

    differing(found, services.label_disagreement_figure(dataset, fits), tasks, dataset, "aggregators")


def curves(fits: Fits) -> None:
    """Reliability and objective curves."""
    dataset = state.get("dataset")
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        drawn = services.calibration_figure(dataset, fits)
        if drawn is None:
            st.info("Calibration needs gold that the methods were not shown.")
        else:
            figure(
                drawn,
                "calibration",
                name=f"{dataset}-calibration",
                alt="Share of right labels by their probability, one curve per aggregator",
                data=lambda: services.calibration_table(dataset, fits),
            )
    with grid.cell():
        kind = state.one_of("curve", list(CURVES)) or "gap"
        climbed = services.objective_figure(dataset, fits, kind == "gap")
        if climbed is None:
            st.info("None of these methods has an objective to plot.")
        else:
            figure(
                climbed,
                "objective",
                name=f"{dataset}-objective",
                alt="Objective by iteration, one curve per aggregator",
                data=lambda: services.objective_table(dataset, fits),
            )
            st.selectbox("Objective", list(CURVES), format_func=lambda k: CURVES[k], **state.bind("curve", kind))


def one_result(fits: Fits) -> None:
    """One fit: use it elsewhere, take it along, and its confusions."""
    dataset = state.get("dataset")
    st.header("One result")
    with_confusions = [fit for fit in fits if services.fitted(dataset, fit).counts is not None]
    fit = state.one_of("result", fits) or [*with_confusions, *fits][0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picker("Result", "result", fits, fits.index(fit))
        reference_button(fit, "these labels")
        download(
            "Labels and posterior",
            lambda: services.labels_csv(dataset, fit),
            f"{dataset}-{fit}-labels.csv",
            "text/csv",
            icon=":material/download:",
        )
    confusions(fit)


def confusions(fit: str) -> None:
    """What the fit says of one worker, or of all together."""
    dataset = state.get("dataset")
    common = services.common_confusions(dataset, fit)
    own = services.fitted(dataset, fit).counts is not None
    names = [*common, *(services.workers(dataset, hidden_names()) if own else [])]
    if not names:
        st.info("This method estimates no confusions.")
        return
    chosen = state.one_of("worker", names)
    at = names.index(chosen) if chosen else len(common) + services.busiest(dataset)
    picker("Worker", "worker", names, at)
    if at < len(common):
        figure(
            services.common_figure(dataset, fit, at),
            "confusion",
            name=f"{dataset}-{fit}-{names[at]}",
            alt="The confusion that workers share",
            data=lambda: services.common_table(dataset, fit, at),
        )
        return
    worker = at - len(common)
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        figure(
            services.worker_intervals_figure(dataset, fit, worker, hidden_names()),
            "confusion",
            name=f"{dataset}-{fit}-{names[at]}",
            alt="One worker's confusion with credible intervals",
            data=lambda: services.worker_intervals_table(dataset, fit, worker),
        )
    with grid.cell():
        frame = services.worker_intervals_table(dataset, fit, worker)
        st.caption(services.intervals_in_words(dataset, fit, worker))
        table(frame, "intervals", name=f"{dataset}-{fit}-{names[at]}-intervals", noun="cell", rows=12)
