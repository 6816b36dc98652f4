"""Runs as a table to filter, sort and tick."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import streamlit as st

from crowdcore import runs
from crowdcore.data.dictionary import csv_bytes
from crowdcore.learning.learners import settings_in_words
from crowdcore.runs import Run
from crowdcore.runs.listing import REACHED
from dashboard import state
from dashboard.components.run_choice import viewer_zone
from dashboard.components.table import download
from dashboard.components.text import as_text, count
from dashboard.services.runs import own, spelled

ROWS = 6  # that are seen before the table scrolls
SHOWN = 8  # runs that are shown while none is ticked
_SHORT = 8  # digits of an id
_ROW, _HEADER = 33, 35  # pixels, at the theme's font size
FILTERS = {"datasets": "Dataset", "method": "Method", "states": "State", "tags": "Tag"}


def board(listed: list[Run]) -> list[Run]:
    """Draw the filters and the table of runs; returns those that are ticked, else what goes on or came last."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        found = _filtered(listed)
        _told(found)
    if not found:
        st.info(f"None of the {count(len(listed), 'run')} matches these filters.", icon=":material/filter_alt_off:")
        return []
    return _chosen(found)


def _usual(found: Sequence[Run]) -> list[Run]:
    """The runs of the dataset that are live or were started last: what is shown while none is ticked."""
    here = own(found, state.get("dataset"))
    newest = here[0].spec.group if here else ""
    return [run for run in here if not run.has_ended or (run.spec.group == newest and newest)][:SHOWN][::-1] or here[:1]


def _filtered(listed: list[Run]) -> list[Run]:
    """The runs that pass what the filters say."""
    offered = _choices(listed)
    asked: dict[str, list[str]] = {}
    chosen = [run.spec.dataset for run in listed if run.id in state.get_many("runs")]
    here = list({name: None for name in (spelled(state.get("dataset")), *chosen) if name in offered["datasets"]})
    with st.popover("Filter", icon=":material/filter_alt:"):
        for key, label in FILTERS.items():
            names = offered[key]
            asked[key] = [value for value in state.get_many(key) if value in names] or (here * (key == "datasets"))
            st.multiselect(
                label,
                list(names),
                format_func=names.__getitem__,
                placeholder="Any" if names else "None yet",
                **state.bind(key, asked[key]),
            )
        st.text_input(
            "Containing",
            placeholder="Name, setting, note …",
            icon=":material/search:",
            **state.bind("find", state.get("find")),
        )
        if any(run.spec.parent for run in listed):
            trials = state.get("trials") == "yes"
            st.toggle("Trials of searches", **state.bind("trials", trials))
    asked["methods"] = asked.pop("method")
    return runs.matching(listed, **asked, words=state.get("find"), trials=state.get("trials") == "yes")


def _told(found: list[Run]) -> None:
    """How many, what the star means, and all of them as a file."""
    st.caption(f"{count(len(found), 'run')} on {count(len({run.spec.dataset for run in found}), 'dataset')}")
    download(
        "CSV",
        lambda: csv_bytes(runs.run_table(found)),
        "runs.csv",
        "text/csv",
        key="csv-runs",
        help=f"Download {count(len(found), 'run')}",
        type="tertiary",
        icon=":material/download:",
    )


def _chosen(found: list[Run]) -> list[Run]:
    """Draw the table; returns the runs of the rows chosen."""
    frame = _on_screen(found)
    ids = [run.id for run in found]
    asked = state.get_many("runs")
    rows = [ids.index(name) for name in asked if name in ids]
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
        height=_HEADER + _ROW * min(ROWS, len(found)) + 2,
        on_select=chosen,
        selection_mode="multi-row",
        placeholder="",
        alt="Training runs, newest first",
    )
    words = ["Tick runs, or use the arrow keys and Shift+Space: every page about runs shows them."]
    if "best" in frame:
        words.insert(
            0,
            "★ has the highest validation accuracy (F1 of spans for tags, lowest error for ratings) among the runs "
            "shown of the same data; the test split is not used.",
        )
    st.caption(" ".join(words))
    if len(rows) < len(asked):
        gone = count(len(asked) - len(rows), "chosen run")
        st.caption(as_text(f"{gone} left out: deleted, or not among those that pass the filters."))
    return [found[row] for row in rows] or _usual(found)


def _choices(listed: Sequence[Run]) -> dict[str, dict[str, str]]:
    """What the filters offer: datasets, methods, states and tags that occur -> words."""
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
    """What each column is called, and how its numbers are written."""
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
