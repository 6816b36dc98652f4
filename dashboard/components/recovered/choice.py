"""Which run, which of its seeds and epochs, and what to compare it with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import streamlit as st

from crowdcore import exhibits
from crowdcore.learning import learners
from dashboard import state
from dashboard.components.frame import hidden_names
from dashboard.components.link import link
from dashboard.components.pickers import named
from dashboard.components.run_picker import pick_runs
from dashboard.components.run_words import run_labels, run_names
from dashboard.components.text import as_text
from dashboard.services import datasets
from dashboard.services.runs import readable, result, runs_of, training_fault

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from crowdcore.exhibits import Exhibit
    from crowdcore.exhibits.recovered import Epoch, RunView, Seed
    from crowdcore.runs import Run

_LACKING = {"worker_confusion": "recovers no confusions", "omega": "does not tell common from individual noise"}
PARTS: dict[Literal["", "own"], str] = {"": "All labels of a worker", "own": "The worker's own part"}


class Choice(NamedTuple):
    """What the page shows.

    Args:
        run: its id.
        view: of the run, its seed, its epoch, and which part of it.
        beside: another run.
    """

    run: str
    view: RunView
    beside: RunView | None = None

    def file(self, exhibit: Exhibit) -> str:
        """Name of an exhibit's downloads."""
        return f"{state.get('dataset')}-{exhibit.name}-{self.run[:8]}"


def choose() -> Choice | None:
    """The pickers of the page on confusions; None where there is nothing to show, which has been said."""
    dataset = state.get("dataset")
    parts = ("worker_confusion", "common_confusion")
    names = ", ".join(_recovering("worker_confusion"))
    bar = _bar(parts)
    run = _run(bar, parts, f"No finished run has recovered confusions. Methods that do: {as_text(names)}.")
    if run is None:
        return None
    view = _view(run)
    if not view.has_confusions:
        _lacks(run, "worker_confusion")
        return None
    others = {other.id: other for other in _runs(parts) if other.id != run.id}
    labels = run_labels(runs_of(dataset))
    options = {"": "Nothing", **{other: labels[other] for other in others}}
    second = next((name for name in state.get_many("runs")[1:] if name in options), "")
    if second:  # a link that names two runs
        state.put(runs=run.id, beside=state.get("beside") or second)
    with bar:
        beside = named("Compare with", "beside", options) if len(options) > 1 else ""
        seed = _seed(view)
        part: Literal["", "own"] = ""
        if view.result.omega is not None:
            part = named("A worker's matrix", "part", PARTS, width=220)
    shown = [run, *([others[beside]] if beside else [])]
    called = run_names(shown)
    return Choice(run.id, *(_view(one, seed, part, called[one.id]) for one in shown))


def choose_omega() -> Choice | None:
    """The pickers of the page on ω; None where there is nothing to show, which has been said."""
    names = ", ".join(_recovering("omega"))
    bar = _bar(("omega",))
    run = _run(
        bar, ("omega",), f"No finished run separates common from individual noise. Methods that do: {as_text(names)}."
    )
    if run is None:
        return None
    view = _view(run)
    if view.result.omega is None:
        _lacks(run, "omega")
        return None
    with bar:
        seed = _seed(view)
    return Choice(run.id, _view(run, seed))


def epochs(choice: Choice) -> None:
    """The slider over the epochs that were kept, and what to know of those on screen."""
    view = choice.view
    options = {str(key): words for key, words in exhibits.recovered.epochs(view.result).items()}
    if len(options) > 1:
        st.select_slider("Epoch", list(options), format_func=options.__getitem__, **state.bind("epoch", str(view.at)))
    st.caption(as_text(f"{exhibits.recovered.epoch_in_words(view)} {exhibits.recovered.why_no_mean(view)}"))
    for of in filter(None, (view, choice.beside)):
        still = exhibits.recovered.unmoved_in_words(of)
        which = f"{of.run_name}: " if choice.beside else ""
        if still:
            st.warning(as_text(which + still), icon=":material/hourglass_empty:")
    for note in view.result.notes:
        st.caption(as_text(note))


def _view(run: Run, seed: Seed = None, part: Literal["", "own"] = "", called: str = "") -> RunView:
    """The run at the epoch that the address names, if it kept that."""
    seen, at = datasets.view(state.get("dataset"), state.get("reference"), hidden_names()), state.get("epoch")
    epoch: Epoch = int(at) if at.isdecimal() else "last" if at == "last" else "selected"
    called = called or run_names([run])[run.id]
    return exhibits.recovered.of_run(seen, result(run.id), called, seed=seed, at=epoch, part=part)


def _seed(view: RunView) -> Seed:
    """The seed to show; in addresses their mean is ""."""
    offered = {"" if key is None else str(key): (key, words) for key, words in exhibits.recovered.seeds(view).items()}
    return offered[named("Seeds", "seed", {key: words for key, (_, words) in offered.items()}, width=220)][0]


def _runs(parts: tuple[str, ...]) -> list[Run]:
    """Runs that can be shown: those whose method recovers some of the parts."""
    dataset = state.get("dataset")
    return [run for run in runs_of(dataset) if _able(run, parts) and readable(run, dataset)]


def _bar(parts: tuple[str, ...]) -> DeltaGenerator:
    """Where the pickers go: side by side, if there is something to pick."""
    return st.container(horizontal=bool(_runs(parts)), vertical_alignment="bottom")


def _run(bar: DeltaGenerator, parts: tuple[str, ...], without: str) -> Run | None:
    """One of the runs that recovered some of the parts, or one that the address names."""
    asked = state.get_many("runs")

    def able(run: Run) -> bool:
        return _able(run, parts)

    with bar:
        runs = pick_runs(
            several=False, label="Run", only=lambda run: run.id in asked or able(run), rather=able, without=without
        )
    return runs[0] if runs else None


def _recovering(part: str) -> list[str]:
    """Names of the methods that recover a part; none where nothing can be trained."""
    return [] if training_fault() else learners.recovering(part)


def _able(run: Run, parts: tuple[str, ...]) -> bool:
    return any(run.spec.method in _recovering(part) for part in parts)


def _lacks(run: Run, part: str) -> None:
    """What a run's method does not have, and where to train one that has it."""
    others = [name for name in _recovering(part) if name != run.spec.method]
    words = f"This run of {run.spec.method} {_LACKING[part]}. Methods that do: {', '.join(others)}."
    st.info(as_text(words), icon=":material/info:")
    link("train")
