"""Links to other pages, which keep the dataset and the reference, and verdicts that link to their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.analysis.verdicts import verdict_word
from dashboard import state
from dashboard.components.text import as_text, percent
from dashboard.pages import ICONS, TITLES

if TYPE_CHECKING:
    import pandas as pd

REVIEW = "Review and mark these labels"


def link(
    page: str, label: str = "", *, icon: str | None = "", help: str | None = None, **values: str | list[str] | None
) -> None:
    """A link to a page that shows ``values``.

    Args:
        page: its key in `state.PAGES`.
        label: Markdown; default: the page's title.
        icon: default: the page's; None: none.
        help: shown when it is pointed at.
        values: fields of the page's address.
    """
    shown = None if icon is None else f":material/{icon or ICONS[page]}:"
    address = state.address(page, **values)
    st.page_link(f"views/{page}.py", label=label or TITLES[page], icon=shown, help=help, query_params=address)


LOOKS = {
    "remove": ("red", ":material/block:"),
    "check": ("orange", ":material/visibility:"),
    "train": ("blue", ":material/school:"),
    "underpowered": ("gray", ":material/hourglass_empty:"),
    "fail": ("red", ":material/cancel:"),
    "relabel": ("orange", ":material/refresh:"),
    "ambiguous": ("violet", ":material/alt_route:"),
    **dict.fromkeys(("trust", "pass", "fine"), ("green", ":material/check_circle:")),
}
"""Verdict -> colour and icon; others are grey."""


def badge(verdict: str) -> None:
    """The verdict as a coloured word, as wide as the longest, so that what follows is aligned."""
    with st.container(width=112):
        color, icon = LOOKS.get(verdict, ("gray", None))
        st.badge(verdict_word(verdict), color=color, icon=icon)  # type: ignore[arg-type]


def worker_link(row: pd.Series[Any]) -> None:
    """A worker's verdict; the name leads to the worker's page."""
    with st.container(gap=None, key=f"verdict-worker-{row.name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(row["verdict"])
            link("annotators", as_text(row["worker"]), icon=None, view="One worker", worker=row["worker"])
        st.caption(as_text(row["reason"]))


def task_link(row: pd.Series[Any]) -> None:
    """A task's verdict; its name leads to its page."""
    verdict = f"{row['label']}, {percent(row['probability'], 0)} sure: {row['reason']}"
    with st.container(gap=None, key=f"verdict-task-{row.name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(row["verdict"])
            link("tasks", as_text(row["task"]), icon=None, task=row["task"])
        st.caption(as_text(f"{verdict} · {row['context']}" if "context" in row else verdict))
