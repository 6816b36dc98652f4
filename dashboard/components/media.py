"""What a task looks, reads or sounds like, and cards that lead to tasks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import services, state
from dashboard.components.text import as_text

__all__ = ["cards", "media"]

SMALL, LARGE = 150, 440
PER_PAGE = 12


def media(dataset: str, task: int, side: int) -> None:
    """Show a task's image, text and sound, as far as it has them."""
    item = services.item(dataset, task, side)
    if item.image is not None:
        st.image(item.image, alt="The item")
    if item.text:
        with st.container(height=130 if side < LARGE else 300, border=True):
            st.text(item.text[:500] if side < LARGE else item.text)
    if item.audio is not None:
        st.audio(item.audio)


def cards(dataset: str, tasks: Sequence[int], captions: Sequence[str], key: str, **link: str | None) -> None:
    """Tasks as a gallery, each with its item and a link to its page; ``link`` is added to the link's view."""
    pages = -(-len(tasks) // PER_PAGE)
    first = 0
    if pages > 1:
        first = (st.pagination(pages, key=f"{key}-page", max_visible_pages=5) - 1) * PER_PAGE
    ids = services.dataset(dataset).task_ids
    shown = slice(first, first + PER_PAGE)
    for cell, task, caption in zip(
        _grid(len(tasks[shown])), tasks[shown], captions[shown], strict=True
    ):
        with cell:
            media(dataset, task, SMALL)
            name = str(ids[task])
            st.page_link("views/tasks.py", label=as_text(name), query_params=state.address("tasks", task=name, **link))
            st.caption(as_text(caption))


def _grid(n: int) -> list[st.delta_generator.DeltaGenerator]:
    grid = st.grid("auto", min_column_width=150, gap="xsmall", border=True)
    return [grid.cell() for _ in range(n)]
