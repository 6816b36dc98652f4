"""Recovered ω against that which generated a simulated crowd."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.recovered import Choice
from dashboard.components.text import number

__all__ = ["truth"]


def truth(choice: Choice) -> None:
    """How far the recovered ω follows the true one."""
    dataset = state.get("dataset")
    found = services.omega.omega_truth(dataset, choice.view)
    grid = st.grid(4, min_column_width=160, gap="xsmall")
    for label, value, hint in (
        ("Correlation", number(found.correlation, 2), "Pearson's, over annotations"),
        ("By ranks", number(found.rank_correlation, 2), "Spearman's, over annotations"),
        ("Mean ω", f"{number(found.mean_recovered)} of {number(found.mean_true)}", "Recovered, and true"),
        ("AUC", f"{number(found.auc)} of {number(found.auc_limit)}", "Telling which labels were common; the true ω's"),
    ):
        with grid.cell():
            st.metric(label, value, border=True, help=hint)
    figure(
        services.omega.omega_truth_figure(dataset, choice.view),
        "truth",
        name=f"{dataset}-omega-truth-{choice.view.run[:8]}",
        alt="Recovered ω against the true ω of the simulation",
        data=found.frame,
    )
