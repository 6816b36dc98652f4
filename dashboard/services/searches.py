"""Searching settings: what can be varied, between which values, and what a search has found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore import exhibits, runs
from crowdcore.learning.selection_score import ACCURACY
from dashboard.services.learners import about_method, training_schema
from dashboard.services.opening import Kind
from dashboard.services.runs import forget
from dashboard.services.train import Draft, draft_of, read_method, specs

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.selection_score import SelectionScore
    from crowdcore.runs import Choice, Range, Run

# Settings that say how to judge or where to compute, not what to learn.
_FIXED = {"backbone", "backbone_settings", "select_on", "holdout", "holdout_seed", "feed", "stack", "record"}
_FIXED |= {"deterministic", "precision", "epochs", "patience"}
_OF_CLASSES = {"names", "augment"}
_PAPERS = {"embedding": (20, 80), "regularisation": (1e-6, 1e-4), "strength": (1e-3, 1e-1), "lr": (1e-4, 1e-2)}


def searchable(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Settings of the method and the trainer that can be varied, the method's first."""
    method, _ = read_method(line, kind)
    fixed = _FIXED | (_OF_CLASSES if kind == "ratings" else set())
    properties = {
        **about_method(method, kind)["schema"].get("properties", {}),
        **{k: v for k, v in training_schema()["properties"].items() if k not in fixed},
    }
    found = {name: _field(name, described) for name, described in properties.items()}
    return {name: field for name, field in found.items() if field is not None}


def usually_searched(line: str, kind: Kind = "classes") -> list[str]:
    """The settings that the papers choose on the validation split."""
    return [name for name in searchable(line, kind) if name in _PAPERS]


def _field(name: str, described: Mapping[str, Any]) -> Range | Choice | None:
    kind = described.get("type")
    if "enum" in described:
        return runs.Choice(values=tuple(described["enum"]))
    if kind == "boolean":
        return runs.Choice(values=(False, True))
    if kind not in {"integer", "number"}:
        return None
    default = float(described["default"])
    low, high = _PAPERS.get(name, (default, default))
    if not low <= default <= high or low == high:  # another setting of that name, or one of ratings
        low, high = _around(default, described)
    return runs.Range(low=low, high=high, log=low > 0 and high >= 20 * low, integer=kind == "integer")


def _around(value: float, described: Mapping[str, Any]) -> tuple[float, float]:
    """A tenth to ten times the default, within its bounds."""
    smallest = described.get("minimum", described.get("exclusiveMinimum", 0.0))
    largest = described.get("maximum", described.get("exclusiveMaximum"))
    if described.get("type") == "integer":
        return max(smallest, value // 4), max(value * 4, smallest + 1)
    if largest is not None:
        return smallest + 0.05 * (largest - smallest), smallest + 0.95 * (largest - smallest)
    return (value / 10, value * 10) if value else (1e-5, 1e-1)


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
