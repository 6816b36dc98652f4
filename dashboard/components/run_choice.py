"""Runs on a page: their pickers, names and times, and what can be done with those chosen in the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from crowdcore import runs
from crowdcore.data.catalogue import dataset_title
from crowdcore.learning import learners
from crowdcore.learning.learners import setting_title, settings_in_words, untrainable
from crowdcore.runs import Run
from crowdcore.runs.run import describe_spec
from dashboard import state
from dashboard.components.link import link
from dashboard.components.pickers import several
from dashboard.components.text import as_text, count, when
from dashboard.services import opening, train
from dashboard.services.runs import readable, runs_of, spelled, training_fault

SUGGESTED = 6  # runs that are shown while nobody has chosen


def pick_runs(optional: bool = False) -> list[Run]:
    """Draw the picker of the runs that are ticked, or tell how to get runs.

    Args:
        optional: say nothing where there is nothing to pick.

    Returns:
        The runs to show, in the order chosen; while nobody has chosen, the newest one of each method.
        Empty only where there is nothing to pick.
    """
    offered = _offered(lambda run: True, "", optional)
    if not offered:
        return []
    names, chosen = _labels_of(offered), _ticked(offered)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        several("Runs", "runs", names, "Choose finished runs", chosen)
        about = "All runs with their settings, scores, notes and tags; tick some there"
        link("train", "Choose in a table", help=about, datasets=[spelled(state.get("dataset"))], runs=chosen)
    for name in chosen:
        _unfinished(offered[name], names[name])
    return [offered[name] for name in chosen]


def pick_run(only: Callable[[Run], bool], rather: Callable[[Run], bool], without: str) -> Run | None:
    """Draw the picker of one run, which then stands first among those that are ticked.

    Args:
        only: which of the finished runs can be picked.
        rather: which of several that are ticked is shown.
        without: what to say where there are finished runs, but none that ``only`` lets through.
    """
    offered = _offered(only, without)
    if not offered:
        return None
    names, ticked = _labels_of(offered), _ticked(offered)
    shown = next((name for name in ticked if rather(offered[name])), ticked[0])
    widget = f"{state.page()}-runs"

    def picked() -> None:
        name, worker = st.session_state[widget], st.session_state.get(f"{state.page()}-worker")
        kept = {"worker": worker} if worker else {}  # who is on screen stays, whoever comes first in the other run
        state.put(runs=[name, *(other for other in ticked if other not in (name, shown))], **kept)

    state.show(widget, shown)
    st.selectbox("Run", list(names), format_func=names.__getitem__, key=widget, on_change=picked)
    _unfinished(offered[shown], names[shown])
    return offered[shown]


def _offered(only: Callable[[Run], bool], without: str, optional: bool = False) -> dict[str, Run]:
    """Runs that can be picked, by id, newest first; where there are none, tell how to get them unless optional."""
    dataset = state.get("dataset")
    finished = [run for run in runs_of(dataset) if readable(run, dataset)]
    offered = {run.id: run for run in finished if only(run)}
    if not offered and not optional:
        nothing(without) if finished else _untrained(dataset)
    return offered


def _untrained(dataset: str) -> None:
    """Offer to start runs of the methods in front with one click, to be compared here."""
    from dashboard.components.train_form import FRONT  # takes long

    title = as_text(dataset_title(dataset))
    if going := [run for run in runs_of(dataset) if not run.has_ended]:
        st.info(f"{count(len(going), 'run')} on {title}: none has finished yet.", icon=":material/hourglass_top:")
        link("train", "Watch them")
        return
    opened, yet = opening.labelled(dataset), f"Nothing has been trained on {title} yet."
    if training_fault() or untrainable(opened):
        nothing(yet)
        return
    known = learners.learners(opening.kind(dataset))
    others = [name for name in (*FRONT, "dl-mean") if name != "auto" and name in known]
    methods = list(dict.fromkeys([*learners.suggested_methods(opened), *others]))
    names = ", ".join(FRONT.get(name, (known.get(name, name),))[0] for name in methods)
    st.info(f"{yet} One click trains **{as_text(names)}** and compares them here.", icon=":material/model_training:")
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Start {count(len(methods), 'run')}", type="primary", icon=":material/play_arrow:"):
            train.start(dataset, {**train.read_draft(dataset, ""), "methods": methods})
            st.switch_page("views/train.py", query_params={"dataset": dataset})
        link("train", "Choose methods")


def _labels_of(offered: Mapping[str, Run]) -> dict[str, str]:
    labels = run_labels(runs_of(state.get("dataset")))
    return {name: labels[name] for name in offered}


def _ticked(offered: Mapping[str, Run]) -> list[str]:
    """The runs that are ticked, as far as they are offered; the newest of each method while none is."""
    run_ids = state.get_many("runs")
    chosen = [name for name in run_ids if name in offered]
    if len(chosen) < len(run_ids):
        gone = len(run_ids) - len(chosen)
        st.caption(f"{count(gone, 'chosen run')} cannot be shown here: unfinished, deleted, or on other data.")
    if not chosen:
        newest = {run.spec.method: run.id for run in reversed(list(offered.values())) if run.state == "finished"}
        chosen = [name for name in offered if name in newest.values()][:SUGGESTED] or list(offered)[:1]
    return chosen


def _unfinished(run: Run, name: str) -> None:
    if run.state != "finished":
        st.caption(as_text(f"{name}: {run.state} at {run.at}; values so far."))


def nothing(why: str) -> None:
    """Tell why no run can be shown, and link to the page that starts one."""
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    st.info(why, icon=":material/model_training:")
    with st.container(key="next-step"):  # a link that looks like a primary button
        link("train", "Train")


def run_title(run: Run) -> str:
    """Name of the run, else its method and settings other than the defaults."""
    return run.name or run_settings(run)


def run_settings(run: Run) -> str:
    """Method of the run and settings other than the defaults."""
    return describe_spec(run.spec, settings_in_words, setting_title)


def run_label(run: Run) -> str:
    """Label of a run: name, method, settings other than defaults, seeds, time; other runs never change it."""
    n = len(run.spec.seeds)
    words = [*([run.name] if run.name else []), run_settings(run), f"{n} seed{'s' if n != 1 else ''}"]
    return " · ".join([*words, *([when(run.created)] if run.created else [])])


def run_labels(listed: Sequence[Run]) -> dict[str, str]:
    """Id -> label of each of all the runs of a dataset; of several that read alike, the later ones have their id."""
    seen: set[str] = set()
    labels = {}
    for run in reversed(listed):
        label = run_label(run)
        labels[run.id] = f"{label} · {run.id[:4]}" if label in seen else label
        seen.add(label)
    return {run.id: labels[run.id] for run in listed}


def run_names(shown: Sequence[Run]) -> dict[str, str]:
    """Id -> shortest name that tells the run from the others."""
    names = runs.short_names(shown, settings_in_words)
    times = Counter(names.values())
    return {run_id: name if times[name] == 1 else f"{name} · {run_id[:8]}" for run_id, name in names.items()}
