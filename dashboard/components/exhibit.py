"""An exhibit on a page: its figure or its table, what to bear in mind, and where a click leads."""

from collections.abc import Callable

import streamlit as st

from crowdcore.exhibits import Exhibit, View
from dashboard import state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.table import table
from dashboard.components.text import as_text
from dashboard.services import datasets


def looked_at(reference: str = "") -> View:
    """What the page is about: its dataset, seen by its reference or by another; with what may be read of workers."""
    dataset = state.get("dataset")
    return datasets.view(dataset, reference or state.get("reference"), hidden_names(), dataset in _columns_shown())


def choose_columns(view: View) -> None:
    """Let the user see the annotations' further columns: for this session and dataset, whatever a link says."""
    extra, shown, dataset = view.dataset.extra, _columns_shown(), state.get("dataset")
    if extra is None:
        return
    key = f"columns-{dataset}"

    def chosen() -> None:
        (shown.add if st.session_state[key] else shown.discard)(dataset)

    state.show(key, dataset in shown)
    st.toggle(
        "Show further columns",
        key=key,
        help=as_text(f"{', '.join(map(str, extra))}. They may reveal who a worker is. Links and reports omit them."),
        on_change=chosen,
    )


def _columns_shown() -> set[str]:
    """Datasets whose further columns this session lets itself see."""
    return st.session_state.setdefault("columns", set())  # type: ignore[no-any-return]


def show(
    exhibit: Exhibit,
    key: str,
    *,
    file: str = "",
    cell: tuple[int, int] | None = None,
    on_window: Callable[[tuple[float, float], tuple[float, float]], None] | None = None,
    noun: str = "row",
    rows: int = 8,
    notes: bool = True,
    limits: str | None = None,
) -> None:
    """Draw an exhibit.

    Args:
        exhibit: what to show; a click sets what the page's address selects.
        key: unique on the page.
        file: name of the downloads, without suffix; default: dataset, exhibit, reference.
        cell: row and column of a heatmap's cell to outline.
        on_window: called with the x range and the y range after zooming.
        noun: what a row of a table without figure is.
        rows: rows of such a table before it scrolls.
        notes: write the notes below.
        limits: begin of the address's fields that limit a column of numbers of a table; None: no such filter.
    """
    name = file or f"{state.get('dataset')}-{exhibit.name}-{state.get('reference')}"
    select = exhibit.click

    def clicked(*place: int) -> None:
        assert select is not None
        state.put(**select(*place))

    on_click = clicked if select is not None else None
    if exhibit.figure is None:
        table(exhibit.table, key, name=name, noun=noun, rows=rows, on_row=on_click, limits=limits)
    else:
        cells = any(trace.type == "heatmap" for trace in exhibit.figure.data)
        figure(
            exhibit.figure,
            key,
            name=name,
            alt=exhibit.alt,
            data=lambda: exhibit.table,
            cell=cell,
            on_cell=on_click if cells else None,
            on_point=None if cells else on_click,
            on_window=on_window,
        )
    for note in exhibit.notes if notes else ():
        st.caption(as_text(note))
