"""Recovered ω against that which generated a simulated crowd."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard.components.exhibit import show
from dashboard.components.numbers import numbers
from dashboard.components.recovered import Choice
from dashboard.components.text import number


def truth(choice: Choice) -> None:
    """How far the recovered ω follows the true one; numbers of the first seed where all are shown."""
    found = exhibits.omega.against_truth(choice.view)
    auc = f"{number(found.auc)} of {number(found.auc_limit)}"
    cells = (
        ("Correlation", number(found.correlation, 2), "Pearson's, over annotations"),
        ("By ranks", number(found.rank_correlation, 2), "Spearman's, over annotations"),
        ("Mean ω", f"{number(found.mean_recovered)} of {number(found.mean_true)}", "Recovered, and true"),
        ("AUC", auc, "How well it tells which labels were common; the true ω's"),
    )
    numbers(cells, 160)
    panels = st.grid(1 if choice.view.seed != "each" else 2, min_column_width=400, gap="small")
    for view in choice.view.one_by_one():
        which = f"-seed-{view.seed}" if choice.view.seed == "each" else ""
        drawn = exhibits.omega.omega_truth(view)
        with panels.cell():
            show(drawn, f"truth{which}", file=f"{choice.file(drawn)}{which}")
