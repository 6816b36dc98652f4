"""A verdict in one line: its word, a link to its evidence, its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.components.link import link
from dashboard.components.text import as_text, percent

if TYPE_CHECKING:
    import pandas as pd

COLORS = {"remove": "red", "check": "orange", "train": "blue", "trust": "green", "fail": "red", "pass": "green"} | {
    "relabel": "orange",
    "ambiguous": "violet",
    "fine": "green",
}
ICONS = {
    "remove": ":material/block:",
    "check": ":material/visibility:",
    "train": ":material/school:",
    "underpowered": ":material/hourglass_empty:",
    "trust": ":material/check_circle:",
    "fail": ":material/cancel:",
    "pass": ":material/check_circle:",
    "relabel": ":material/refresh:",
    "ambiguous": ":material/alt_route:",
    "fine": ":material/check_circle:",
}


def badge(verdict: str) -> None:
    """The verdict as a coloured word, as wide as the longest, so that what follows is aligned."""
    with st.container(width=112):
        st.badge(verdict, color=COLORS.get(verdict, "gray"), icon=ICONS.get(verdict))  # type: ignore[arg-type]


def worker_link(row: pd.Series[Any]) -> None:
    """A worker's verdict; the name leads to the worker's page."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"verdict-worker-{row.name}"):
        badge(row["verdict"])
        link("annotators", as_text(row["worker"]), icon=None, view="One worker", worker=row["worker"])
        st.markdown(as_text(row["reason"]), width="stretch")


def task_link(row: pd.Series[Any]) -> None:
    """A task's verdict; its name leads to its page."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"verdict-task-{row.name}"):
        badge(row["verdict"])
        link("tasks", as_text(row["task"]), icon=None, task=row["task"])
        said = f"{row['label']}, {percent(row['probability'], 0)} sure: {row['reason']}"
        st.markdown(as_text(f"{said} · {row['context']}" if "context" in row else said), width="stretch")
