"""What to search: a method, which of its settings, between which values, and how long."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from crowdcore import runs
from crowdcore.learning import learners
from crowdcore.learning.curve_metrics import selection_score
from crowdcore.learning.learners import usual_method
from crowdcore.runs import Choice, Range
from crowdcore.runs.searching import searchable, usually_searched
from dashboard import state
from dashboard.components.guard import fragment, refusals
from dashboard.components.own_settings import method_titled
from dashboard.components.text import as_text, count
from dashboard.components.train_form import KEPT, refusal_of, shared_settings
from dashboard.services import opening, train
from dashboard.services.train import Draft, read_draft

SAMPLERS = {"tpe": "Guided (TPE)", "grid": "Grid", "random": "Random"}
TRIALS, MOST_TRIALS, SEEDS = 20, 10_000, "3"


@fragment
def search_form() -> None:
    """The form with its start button."""
    dataset = state.get("dataset")
    kind = opening.kind(dataset)
    lines = list(dict.fromkeys([*state.get_many("methods"), *reversed(learners.learners(kind))]))[::-1]
    if st.session_state.get("search-method") not in lines:
        st.session_state["search-method"] = (state.get_many("methods") or [usual_method(opening.labelled(dataset))])[-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        line = st.selectbox("Method", lines, format_func=partial(method_titled, kind=kind), key="search-method", **KEPT)
        trials = st.number_input("Trials", value=TRIALS, step=1, key="search-trials", width=120, **KEPT)
        sampler = st.selectbox(
            "Sampler",
            SAMPLERS,
            format_func=SAMPLERS.__getitem__,
            key="search-sampler",
            width=160,
            help="Guided: learns from the trials so far. Grid: every combination, up to ten values a setting.",
            **KEPT,
        )
    fields = searchable(line, kind)
    st.session_state.setdefault(f"search-fields-{line}", list(usually_searched(line, kind)))
    chosen = st.multiselect(
        "Settings to search",
        fields,
        format_func=lambda name: learners.setting_title(name, line.split()[0]),
        key=f"search-fields-{line}",
        wrap=True,
        **KEPT,
    )
    space = {name: bounds for name in chosen if (bounds := _values(line, name, fields[name])) is not None}
    held = {**read_draft(dataset, ""), "seeds": SEEDS}
    shared, problem = shared_settings("search", dataset, held, [], (line,))
    draft = {**shared, "methods": [line]}
    problem = problem or refusal_of(dataset, draft)
    if not 1 <= trials <= MOST_TRIALS:
        problem = problem or f"`Trials` must be between 1 and {MOST_TRIALS:,}, but got {trials}."
    if problem:
        st.error(as_text(problem), icon=":material/block:")
    with st.container(horizontal=True, vertical_alignment="center"):
        asked = st.button(
            f"Search, {count(trials, 'run')}",
            type="primary",
            icon=":material/search:",
            disabled=not space or bool(problem),
        )
        if asked and not problem:
            _start(draft, space, trials, sampler)
        score = selection_score(opening.labelled(dataset))
        st.caption(f"Judged by {score.words}; the test split is not used.")


def _values(line: str, name: str, field: Range | Choice) -> Callable[[], Range | Choice] | None:
    """Makes the bounds, or the values to choose from; it refuses what cannot be."""
    label, key = learners.setting_title(name, line.split()[0]), f"search-{line}-{name}"
    if isinstance(field, runs.Choice):
        values = st.multiselect(label, field.values, list(field.values), key=key, **KEPT)
        return partial(runs.Choice, values=tuple(values)) if len(values) > 1 else None
    step, form = (1, None) if field.integer else (None, "%g")
    number = int if field.integer else float
    with st.container(horizontal=True, vertical_alignment="bottom"):
        low = st.number_input(
            f"{label} from", value=number(field.low), step=step, format=form, key=f"{key}-low", width=190, **KEPT
        )
        high = st.number_input(
            "to", value=number(field.high), step=step, format=form, key=f"{key}-high", width=190, **KEPT
        )
        log = st.toggle("Logarithmic", field.log, key=f"{key}-log", **KEPT)
    return partial(runs.Range, low=low, high=high, log=log, integer=field.integer)


def _start(draft: Draft, space: dict[str, Callable[[], Range | Choice]], trials: int, sampler: str) -> None:
    with refusals(), st.spinner("Starting …"):
        ranges = {name: made() for name, made in space.items()}
        started = train.start_search(state.get("dataset"), draft, ranges, trials, sampler)
        state.put(runs=[started])
        st.rerun()
