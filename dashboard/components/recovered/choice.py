"""Which run, which of its seeds, and beside what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from dashboard import services, state
from dashboard.components.pickers import named
from dashboard.components.run_picker import pick_runs
from dashboard.components.text import as_text

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from crowdcore.runs import Run

__all__ = ["Choice", "choose", "choose_omega"]


class Choice(NamedTuple):
    """What the page shows.

    Args:
        run: id of the run.
        seed: "" for the mean over seeds, or one of them.
        beside: "" for nothing, or a key of `services.panels.besides`.
    """

    run: str
    seed: str
    beside: str = ""


def choose() -> Choice | None:
    """The pickers of the page on confusions; None where there is nothing to show, which has been said."""
    dataset, reference = state.get("dataset"), state.get("reference")
    parts = ("worker_confusion", "common_confusion")
    names = ", ".join(services.recovered.recovering("worker_confusion"))
    bar = _bar(parts)
    run = _run(bar, parts, f"No finished run has recovered confusions. Methods that do: {as_text(names)}.")
    if run is None:
        return None
    if not services.recovered.has_confusions(services.result(run.id)):
        _lacks(services.confusions.without_confusions(run.spec.method))
        return None
    others = [other for other in _runs(parts) if other.id != run.id]
    options = services.panels.besides(dataset, reference, others)
    second = next((name for name in state.get_many("runs")[1:] if name in options), "")
    if second:  # a link that names two runs
        state.put(runs=run.id, beside=state.get("beside") or second)
    with bar:
        seed = named("Seeds", "seed", services.recovered.seed_names(run.id), width=180)
        beside = named("Beside", "beside", options)
    return Choice(run.id, seed, beside)


def choose_omega() -> Choice | None:
    """The pickers of the page on ω; None where there is nothing to show, which has been said."""
    names = ", ".join(services.recovered.recovering("omega"))
    bar = _bar(("omega",))
    run = _run(
        bar, ("omega",), f"No finished run tells common from individual noise. Methods that do: {as_text(names)}."
    )
    if run is None:
        return None
    if services.result(run.id).omega is None:
        _lacks(services.omega.without_omega(run.spec.method))
        return None
    with bar:
        seed = named("Seeds", "seed", services.recovered.seed_names(run.id), width=180)
    return Choice(run.id, seed)


def _runs(parts: tuple[str, ...]) -> list[Run]:
    """Runs that can be shown: those whose method recovers some of the parts."""
    dataset = state.get("dataset")
    return [run for run in services.runs_of(dataset) if _able(run, parts) and services.readable(run, dataset)]


def _bar(parts: tuple[str, ...]) -> DeltaGenerator:
    """Where the pickers go: side by side, if there is something to pick."""
    return st.container(horizontal=bool(_runs(parts)), vertical_alignment="bottom")


def _run(bar: DeltaGenerator, parts: tuple[str, ...], without: str) -> Run | None:
    """One of the runs that recovered some of the parts, or one that the address names."""
    asked = state.get_many("runs")
    with bar:
        runs = pick_runs(
            several=False, label="Run", only=lambda run: run.id in asked or _able(run, parts), without=without
        )
    return runs[0] if runs else None


def _able(run: Run, parts: tuple[str, ...]) -> bool:
    return any(run.spec.method in services.recovered.recovering(part) for part in parts)


def _lacks(words: str) -> None:
    """What a method does not have, and where to train one that has it."""
    st.info(as_text(words), icon=":material/info:")
    st.page_link("views/train.py", label="Train", icon=":material/model_training:", query_params=state.address("train"))
