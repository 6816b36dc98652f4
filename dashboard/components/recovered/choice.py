"""Which run, which of its seeds and epochs, and what to compare it with."""

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
    from dashboard.services.recovered import View

__all__ = ["Choice", "choose", "choose_omega", "epochs"]


class Choice(NamedTuple):
    """What the page shows.

    Args:
        view: the run, its seed, its epoch, and which part of it.
        beside: "" for nothing, or the id of another run.
    """

    view: View
    beside: str = ""


def choose() -> Choice | None:
    """The pickers of the page on confusions; None where there is nothing to show, which has been said."""
    dataset = state.get("dataset")
    parts = ("worker_confusion", "common_confusion")
    names = ", ".join(services.recovered.recovering("worker_confusion"))
    bar = _bar(parts)
    run = _run(bar, parts, f"No finished run has recovered confusions. Methods that do: {as_text(names)}.")
    if run is None:
        return None
    if not services.recovered.has_confusions(services.result(run.id)):
        _lacks(services.confusions.without_confusions(run.spec.method))
        return None
    options = services.panels.besides(dataset, [other for other in _runs(parts) if other.id != run.id])
    second = next((name for name in state.get_many("runs")[1:] if name in options), "")
    if second:  # a link that names two runs
        state.put(runs=run.id, beside=state.get("beside") or second)
    at = _at(run.id)
    with bar:
        seed = _seed(run.id, at)
        beside = named("Compare with", "beside", options) if len(options) > 1 else ""
        part = ""
        if services.panels.has_parts(run.id):
            part = named("A worker's matrix", "part", services.panels.PARTS, width=220)
    return Choice(services.recovered.View(run.id, seed, at, part), beside)


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
    at = _at(run.id)
    with bar:
        seed = _seed(run.id, at, one_by_one=False)
    return Choice(services.recovered.View(run.id, seed, at))


def epochs(choice: Choice) -> None:
    """The slider over the epochs that were kept, and what to know of those on screen."""
    dataset, view = state.get("dataset"), choice.view
    options = services.recovered.epoch_names(view.run)
    if len(options) > 1:
        st.select_slider("Epoch", list(options), format_func=options.__getitem__, **state.bind("epoch", view.at))
    no_mean = services.recovered.why_no_mean(dataset, view.run, view.at)
    st.caption(as_text(f"{services.recovered.epochs_in_words(dataset, view)} {no_mean}"))
    for run in filter(None, (view.run, choice.beside)):
        still = services.recovered.unmoved_in_words(services.dataset(dataset), view._replace(run=run))
        which = f"{services.run_title(services.run(run))}: " if choice.beside else ""
        if still:
            st.warning(as_text(which + still), icon=":material/hourglass_empty:")
    for note in services.result(view.run).notes:
        st.caption(as_text(note))


def _at(run_id: str) -> str:
    """The epoch to show."""
    return state.one_of("epoch", list(services.recovered.epoch_names(run_id))) or "selected"


def _seed(run_id: str, at: str, one_by_one: bool = True) -> str:
    """The seed to show: a key of `services.recovered.View.seed`."""
    names = services.recovered.seed_names(state.get("dataset"), run_id, at)
    if not one_by_one:
        names.pop(services.recovered.EACH, None)
    return named("Seeds", "seed", names, width=220)


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
