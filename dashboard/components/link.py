"""Links to other pages, which keep the dataset and the reference."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.pages import ICONS, TITLES

REVIEW = "Review and mark these labels"


def link(
    page: str,
    label: str = "",
    *,
    icon: str | None = "",
    help: str | None = None,
    **values: str | list[str] | None,
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
    there = state.address(page, **values)
    st.page_link(f"views/{page}.py", label=label or TITLES[page], icon=shown, help=help, query_params=there)
