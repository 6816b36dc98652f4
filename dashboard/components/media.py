"""Task media, and cards that lead to tasks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.data.media import has_media, item_of
from dashboard import state
from dashboard.components.link import link
from dashboard.components.text import as_text
from dashboard.services import opening

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

SMALL, LARGE = 150, 440
PER_PAGE = 12


def media(dataset: str, task: int, side: int) -> None:
    """Show a task's image, text and sound, as far as it has them; an image elsewhere is linked, not loaded."""
    item = item_of(opening.labelled(dataset), task, side)
    if item.image is not None:
        st.image(_address(item.image), alt="The item")
    if item.text:
        with st.container(height=130 if side < LARGE else 300, border=True):
            st.text(item.text[:500] if side < LARGE else item.text)
    if item.audio is not None:
        st.audio(item.audio)
    if item.link is not None:
        st.link_button("Image", item.link, icon=":material/open_in_new:")


def _address(image: Image) -> str:
    """The picture itself as an address: a file of its own would be gone where a page is left while it loads."""
    written = BytesIO()
    image.convert("RGB").save(written, "JPEG", quality=90)
    return f"data:image/jpeg;base64,{b64encode(written.getvalue()).decode()}"


def cards(tasks: pd.DataFrame, caption: Callable[[Mapping[Any, Any]], str], key: str, **where: str | None) -> None:
    """Tasks, each with its item, a caption and a link to its page.

    Args:
        tasks: a row for each, whose index is its number.
        caption: makes it of a row.
        key: unique on the page.
        where: what is added to the link's view.
    """
    dataset = state.get("dataset")
    opened = opening.labelled(dataset)
    shows = has_media(opened)
    per_page = PER_PAGE if shows else 3 * PER_PAGE
    pages = -(-len(tasks) // per_page)
    first = (st.pagination(pages, key=f"{key}-page", max_visible_pages=5) - 1) * per_page if pages > 1 else 0
    shown = tasks.iloc[first : first + per_page]
    grid = st.grid("auto", min_column_width=SMALL if shows else 130, gap="xsmall" if shows else None, border=shows)
    for task, row in zip(shown.index, shown.to_dict("records"), strict=True):
        name, text = str(opened.task_ids[task]), as_text(caption(row))
        with grid.cell():
            if shows:
                media(dataset, int(task), SMALL)
            link("tasks", as_text(name), icon=None, help=text, task=name, **where)
            if shows:
                st.caption(text)
