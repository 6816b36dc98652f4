"""Searching settings: starting a search, and what it has found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import exhibits, runs
from crowdcore.learning.selection_score import ACCURACY
from dashboard.services.runs import forget
from dashboard.services.train import Draft, draft_of, specs

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.selection_score import SelectionScore
    from crowdcore.runs import Choice, Range, Run


def start_search(name: str, draft: Draft, space: Mapping[str, Range | Choice], trials: int, sampler: str) -> str:
    """Queue a search; returns its id.

    Raises:
        SettingError: bounds that cannot be.
    """
    (spec,) = specs(name, draft)
    kept = {k: v for k, v in spec.settings.items() if k not in space}
    started = runs.search(spec.model_copy(update={"settings": kept}), dict(space), trials, sampler=sampler)
    forget()
    return started.id


def compared_by(found: Run) -> SelectionScore:
    """The validation score by which a search compares its trials."""
    return found.spec.search.selection if found.spec.search else ACCURACY


def search_trials(found: Run) -> pd.DataFrame:
    """The trials so far: trial, run, state, score, best so far, and the settings."""
    return _trials(found.id, found.epoch, found.state)


@st.cache_resource(show_spinner=False, max_entries=16)
def _trials(search: str, done: int, state: str) -> pd.DataFrame:
    return runs.search_trials(search)


@st.cache_resource(show_spinner=False, max_entries=16)
def _importances(search: str, done: int, state: str) -> dict[str, float]:
    """Setting -> share of the variance that it explains; empty while there are too few trials."""
    return runs.search_importances(search)


def search_exhibits(found: Run) -> tuple[Exhibit, Exhibit | None]:
    """Validation score by trial; which settings matter, None while there are too few trials."""
    training, method = exhibits.training, found.spec.method
    shares = _importances(found.id, found.epoch, found.state)
    return training.search_history(search_trials(found), method, compared_by(found)), training.search_importance(
        shares, method
    )


def best_draft(name: str, found: Run) -> Draft | None:
    """A draft with the settings of the best trial of a search on a dataset; None while no trial has ended."""
    score = compared_by(found)
    trials = search_trials(found).dropna(subset=score.column)
    if trials.empty or found.spec.search is None:
        return None
    best = trials.iloc[[int(trials[score.column].map(score.better).argmax())]]
    chosen = {name: best[name].tolist()[0] for name in found.spec.search.space}
    settings = {**found.spec.settings, **chosen}
    spec = found.spec.model_copy(update={"settings": settings, "search": None, "priority": 0})
    return draft_of(name, spec)
