"""Runs on ratings side by side: the tabs of the Compare page that classes have others for."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from crowdcore.core.errors import CrowdError
from dashboard import state
from dashboard.components.compared import tabled
from dashboard.components.exhibit import show
from dashboard.components.frame import hidden_names
from dashboard.components.pickers import named
from dashboard.components.text import as_text
from dashboard.services import compare, opening

Runs = tuple[str, ...]


def errors(runs: Runs) -> None:
    """MAE, RMSE and R², differences over seeds, and cost."""
    dataset = state.get("dataset")
    tabled(compare.shown(exhibits.comparison.rating_errors, dataset, runs), "errors", "run")
    at = named("Epoch", "at", exhibits.comparison.AT_WORDS, width=260)
    differ = compare.shown(exhibits.differences.rating_differences, dataset, runs, at)
    tabled(differ, "differences", "run", heading=True)
    tabled(compare.shown(exhibits.comparison.cost, dataset, runs), "cost", "run", heading=True)


def biases(runs: Runs) -> None:
    """Learnt and true biases of the workers, a figure for each run that learns them."""
    dataset = opening.rated(state.get("dataset"))
    for number, (name, result) in enumerate(compare.compared(state.get("dataset"), runs).items()):
        try:
            shown = exhibits.ratings.rating_biases(dataset, result, hidden=hidden_names())
        except CrowdError as refusal:
            st.info(as_text(f"{name}: {refusal}"), icon=":material/block:")
        else:
            show(shown, f"biases-{number}", file=f"{dataset.name}-{shown.name}")
