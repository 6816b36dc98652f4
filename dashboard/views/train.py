"""Runs: training in the background, its progress, and the choice of runs for other pages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import streamlit as st

from crowdcore import runs
from crowdcore.core.errors import CrowdError
from crowdcore.data.catalogue import dataset_title
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.media import UnusableError
from crowdcore.learning import learners
from crowdcore.learning.curve_metrics import selection_score
from crowdcore.learning.embedding import sentence_models
from crowdcore.learning.learners import embeddable, plantable, settings_in_words, untrainable, usual_method
from crowdcore.runs import Choice, Range, Run
from crowdcore.runs.listing import REACHED
from crowdcore.runs.searching import searchable, usually_searched
from dashboard import state
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, refusals, without_server_paths
from dashboard.components.link import link
from dashboard.components.own_settings import method_titled
from dashboard.components.pickers import several, switch
from dashboard.components.run_board import follow_runs, search_board
from dashboard.components.run_chosen import about_chosen
from dashboard.components.run_curves import curves
from dashboard.components.table import HEADER, ROW, download, other_formats
from dashboard.components.text import as_text, count, duration, listed, viewer_zone
from dashboard.components.train_form import KEPT, form, refusal_of, shared_settings
from dashboard.services import embedding, opening, train
from dashboard.services.runs import all_runs, own, spelled, training_fault
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
    shared_draft = {**read_draft(dataset, ""), "seeds": SEEDS}
    shared, problem = shared_settings("search", dataset, shared_draft, [], (line,))
    draft = {**shared, "methods": [line]}
    problem = problem or refusal_of(dataset, draft)
    if not 1 <= trials <= MOST_TRIALS:
        problem = problem or f"`Trials` must be between 1 and {MOST_TRIALS:,}, but got {trials}."
    if problem:
        st.error(as_text(problem), icon=":material/block:")
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            f"Search, {count(trials, 'run')}",
            type="primary",
            icon=":material/search:",
            disabled=not space or bool(problem),
        )
        if pressed and not problem:
            _start(draft, space, trials, sampler)
        score = selection_score(opening.labelled(dataset))
        st.caption(f"Judged by {score.words}; the test split is not used.")


def _values(line: str, name: str, field: Range | Choice) -> Callable[[], Range | Choice] | None:
    """Form for a setting's bounds or choices; returns a function that makes them, and refuses impossible ones."""
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


ROWS = 6  # that are seen before the table scrolls
SHOWN = 8  # runs that are shown while none is ticked
_SHORT = 8  # digits of an id
FILTERS = {"datasets": "Dataset", "method": "Method", "states": "State", "tags": "Tag"}


def board(listed: list[Run]) -> list[Run]:
    """Draw the filters and the table of runs; returns those that are ticked, else the live or newest ones."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        matches = _filtered(listed)
        _show_count(matches)
    if not matches:
        st.info(f"None of the {count(len(listed), 'run')} matches these filters.", icon=":material/filter_alt_off:")
        return []
    return _choose_runs(matches)


def _default_runs(matches: Sequence[Run]) -> list[Run]:
    """Runs of the dataset that are live or were started last, shown while none is ticked."""
    here = own(matches, state.get("dataset"))
    newest = here[0].spec.group if here else ""
    return [run for run in here if not run.has_ended or (run.spec.group == newest and newest)][:SHOWN][::-1] or here[:1]


def _filtered(listed: list[Run]) -> list[Run]:
    """The runs that pass what the filters say."""
    offered = _choices(listed)
    filters: dict[str, list[str]] = {}
    ticked = [run.spec.dataset for run in listed if run.id in state.get_many("runs")]
    here = list({name: None for name in (spelled(state.get("dataset")), *ticked) if name in offered["datasets"]})
    with st.popover("Filter", icon=":material/filter_alt:"):
        for key, label in FILTERS.items():
            names = offered[key]
            chosen = [value for value in state.get_many(key) if value in names] or (here * (key == "datasets"))
            filters[key] = several(label, key, names, "Any" if names else "None yet", chosen)
        bound = state.bind("find", state.get("find"))
        st.text_input("Containing", placeholder="Name, setting, note …", icon=":material/search:", **bound)
        if any(run.spec.parent for run in listed):
            switch("Trials of searches", "trials")
    filters["methods"] = filters.pop("method")
    return runs.matching(listed, **filters, words=state.get("find"), trials=state.get("trials") == "yes")


def _show_count(matches: list[Run]) -> None:
    """Show the number of runs, the meaning of the star, and a download."""
    words = f"{count(len(matches), 'run')} on {count(len({run.spec.dataset for run in matches}), 'dataset')}"
    st.caption(words, width="content")
    made, about = partial(runs.run_table, matches), f"Download {count(len(matches), 'run')}"
    download("CSV", lambda: csv_bytes(made()), "runs.csv", key="csv-listed", help=about, type="tertiary")
    other_formats(made, "runs", "listed")


def _choose_runs(matches: list[Run]) -> list[Run]:
    """Draw the table; returns the runs of the rows chosen."""
    frame = _on_screen(matches)
    ids = [run.id for run in matches]
    in_address = state.get_many("runs")
    rows = [ids.index(name) for name in in_address if name in ids]
    # One widget for each list of runs: a row that was chosen never becomes another run's.
    widget = f"runs-table-{hashlib.blake2b(''.join(ids).encode(), digest_size=6).hexdigest()}"

    def chosen() -> None:
        picked = sorted(st.session_state[widget].selection.rows)
        state.put(runs=[ids[row] for row in picked if row < len(ids)])

    state.show(widget, {"selection": {"rows": rows, "columns": [], "cells": []}})
    st.dataframe(
        frame,
        key=widget,
        hide_index=True,
        column_config=_columns(),
        height=HEADER + ROW * min(ROWS, len(matches)) + 2,
        on_select=chosen,
        selection_mode="multi-row",
        placeholder="",
        alt="Training runs, newest first",
    )
    words = ["Tick runs, or use the arrow keys and Shift+Space: every page about runs shows them."]
    if "best" in frame:
        words.insert(0, "★ is the best on validation among the runs shown of the same data.")
    st.caption(" ".join(words))
    if len(rows) < len(in_address):
        gone = count(len(in_address) - len(rows), "chosen run")
        st.caption(as_text(f"{gone} left out: deleted, or not among those that pass the filters."))
    return [matches[row] for row in rows] or _default_runs(matches)


def _choices(listed: Sequence[Run]) -> dict[str, dict[str, str]]:
    """Options of the filters: datasets, methods, states and tags that occur -> words."""
    methods = sorted({run.spec.method for run in listed})
    tags = sorted({tag for run in listed for tag in run.tags}, key=str.casefold)
    states = [state for state in runs.STATES if any(run.state == state for run in listed)]
    datasets = runs.dataset_names(listed)
    return {
        "datasets": dict(sorted(datasets.items(), key=lambda one: one[1].casefold())),
        "method": dict(zip(methods, methods, strict=True)),
        "states": {state: state for state in states},
        "tags": dict(zip(tags, tags, strict=True)),
    }


def _on_screen(shown: Sequence[Run]) -> pd.DataFrame:
    """`crowdcore.runs.run_table` for reading: percentages, the viewer's clock, a star, no column without content."""
    frame = runs.run_table(shown, settings_in_words)
    of_share = ("test_", "span_", "valid_span_", "validation")
    accuracies = [name for name in frame if str(name).startswith(of_share)]
    started = frame["started"].dt.tz_convert(ZoneInfo(viewer_zone())).dt.tz_localize(None)
    frame = frame.assign(
        best=np.where(frame["best"], "★", ""),
        name=frame["name"].where(frame["name"] != "", frame["id"].str[:_SHORT]),
        started=started,
        **{str(name): 100 * frame[name] for name in accuracies},
    )
    maybe = ("best", "settings", *REACHED.values(), "note", "tags")
    empty = [name for name in maybe if not frame[name].replace("", np.nan).notna().any()]
    return frame.drop(columns=["id", "validated_on", *empty])


def _columns() -> dict[str, Any]:
    """Title and number format of each column."""
    column, number = st.column_config.TextColumn, st.column_config.NumberColumn
    share: dict[str, Any] = {"format": "%.1f %%", "width": 92}
    spread: dict[str, Any] = {"format": "%.1f", "width": 56, "help": "Standard deviation over seeds, in points"}
    error: dict[str, Any] = {"format": "%.4f", "width": 84}
    best = "Best on validation of its dataset among the runs shown: accuracy; of tags F1 of spans, of ratings error"
    return {
        "best": column("★", width=32, help=best),
        "name": column("Name", pinned=True, help="The first characters of its id if it has no name"),
        "dataset": column("Dataset"),
        "method": column("Method"),
        "settings": column("Settings that differ", width=240, help="Among the runs shown, defaults included"),
        "seeds": number("Seeds", width=60),
        "state": column("State", width=80),
        "test_selected": number("Test, selected", help="Test accuracy at the epoch selected on validation", **share),
        "test_selected_std": number("±", **spread),
        "test_last": number("Test, last", help="Test accuracy at the last epoch", **share),
        "test_last_std": number("±", **spread),
        "validation": number("Validation", help="Accuracy on the labels that selected the epoch", **share),
        "valid_span_f1": number(
            "Validation span F1", help="On the labels that selected the epoch, at that epoch", **{**share, "width": 130}
        ),
        "span_f1": number("Span F1", help="F1 of the test split's spans at the epoch selected on validation", **share),
        "span_f1_std": number("±", **spread),
        "span_precision": number("Span precision", **share),
        "span_recall": number("Span recall", **share),
        "rmse": number("RMSE", help="Root mean squared error on test, at the epoch selected on validation", **error),
        "rmse_std": number("±", **error),
        "mae": number("MAE", help="Mean absolute error on test, at that epoch", **error),
        "r2": number("R²", help="On test, at that epoch", **error),
        "valid_rmse": number(
            "Validation RMSE", help="On the labels that selected the epoch, at that epoch", **{**error, "width": 120}
        ),
        "seconds": number("Seconds", format="%.1f", width=76, help="Wall time of training, all seeds together"),
        "started": st.column_config.DatetimeColumn("Started", format="D MMM YYYY, HH:mm", width=140),
        "note": column("Note", width=200),
        "tags": column("Tags", width=120),
    }


def embedding_form(noun: str) -> None:
    """Offer to make features of ``noun``, such as "300 images"."""
    dataset = state.get("dataset")
    st.markdown(f"A classifier can learn from the **{noun}** once they are prepared.")
    kinds = embedding.embedding_kinds(dataset)
    kind = kinds[0]
    if kinds == ["pixels"]:
        st.caption("A pretrained network does far better on few images: pip install 'crowdcore[images]'")
    if len(kinds) > 1:
        kind = st.selectbox("How", kinds, format_func=embedding.KIND_TITLES.__getitem__, key=f"embed-{dataset}")
    models = sentence_models() if kind == "sentences" else []
    model = models[0] if models else ""
    if len(models) > 1:
        model = st.selectbox("Model", models, key=f"embed-model-{dataset}")
    refused = st.session_state.get("embed-refused", ("", "", False))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Prepare {noun}", type="primary", icon=":material/build:"):
            _make(dataset, kind, False, model)
        seconds = embedding.embedding_seconds(dataset, kind, model)
        about = "" if seconds is None else f"About **{duration(seconds)}**. "
        st.caption(f"{about}{embedding.KIND_TITLES[kind]}.", width="stretch")
    if refused[0] == dataset:
        st.error(refused[1], icon=":material/broken_image:")
        if refused[2] and st.button("Leave these tasks out and go on", icon=":material/content_cut:"):
            _make(dataset, kind, True, model)


def _make(dataset: str, kind: str, accept: bool, model: str) -> None:
    try:
        with st.spinner("Preparing …"):
            opened = embedding.embed(dataset, kind, accept, model)
    except UnusableError as refusal:
        words = listed(refusal.what, refusal.faults, refusal.advice)
        st.session_state["embed-refused"] = (dataset, without_server_paths(words), bool(refusal.remedies))
    except CrowdError as refusal:
        st.session_state["embed-refused"] = (dataset, as_text(without_server_paths(str(refusal))), False)
    else:
        st.session_state.pop("embed-refused", None)
        state.put(dataset=opened)
    st.rerun()


def draw() -> None:
    """Draw the page."""
    heading()
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    dataset = state.get("dataset")
    with st.spinner("Looking up the runs …"):
        listed = all_runs()
    here = own(listed, dataset)
    opened = opening.labelled(dataset)
    if why := untrainable(opened):
        noun = embeddable(opened)
        embedding_form(noun) if noun else nothing_to_learn(why)
    else:
        forms(begins=not here)
    # Streamlit knows a fragment by its place: were one moved by what comes and goes above, as when a run ends, a
    # click on its way to it would be lost.
    table, rows, drawn, searches, chosen = (st.container() for _ in range(5))
    ticked: list[Run] = []
    with table:
        if here or state.get_many("datasets") or state.get_many("runs"):
            ticked = board(listed)
        elif listed:
            others = list(dict.fromkeys(run.spec.dataset for run in listed))
            link("train", "Runs of other datasets", icon="table_rows", datasets=others)
        if not here and not why:
            yet = f"Nothing has been trained on {as_text(dataset_title(dataset))} yet."
            st.info(f"{yet} Runs go on when you close the page.", icon=":material/model_training:")
    shown = [run for run in ticked if run in here]
    with rows:
        follow_runs(shown, listed)
    if plain := [run for run in shown if run.spec.search is None]:
        with drawn:
            curves(plain)
    with searches:
        for run in shown:
            if run.spec.search is not None:
                search_board(run)
    with chosen:
        fragment(lambda: about_chosen(ticked))()


def forms(begins: bool) -> None:
    """Forms to train and to search settings, folded once there are runs."""
    opened = st.session_state.setdefault("train-open", {})
    begins = opened.setdefault(state.get("dataset"), begins or bool(state.chosen("methods") or state.chosen("view")))
    names, icon = ["Train", "Search settings"], ":material/model_training:"
    shown = st.expander("Train", expanded=begins, key=f"train-form-{begins}", on_change="rerun", icon=icon)
    if shown.open:
        with shown:
            view = state.one_of("view", names) or names[0]
            st.segmented_control("What", names, label_visibility="collapsed", required=True, **state.bind("view", view))
            form() if view == names[0] else search_form()


def nothing_to_learn(why: str) -> None:
    """Tell why nothing can be learnt here, and link to what can be done."""
    st.info(why, icon=":material/image_not_supported:")
    with st.container(horizontal=True):
        link("overview", "Open a file", icon="upload_file", view="Open a file")
        if plantable(opening.labelled(state.get("dataset"))):
            link("sandbox", crowd="conal")  # which plants on the dataset's own tasks
        else:
            link("aggregate")


page("train", draw)
