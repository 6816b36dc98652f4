"""An exhibit or a figure on a page: its notes, its downloads, and where a click leads."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.data.dictionary import csv_bytes
from crowdcore.exhibits import Exhibit, View
from dashboard import state
from dashboard.components.frame import hidden_names
from dashboard.components.guard import refusals
from dashboard.components.table import download, table
from dashboard.components.text import as_text
from dashboard.services import datasets

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def looked_at(reference: str = "") -> View[Any, Any]:
    """View of the page: its dataset by its reference or another, with the names that may be shown."""
    dataset, reference = state.get("dataset"), reference or state.get("reference")
    with st.spinner(as_text(f"Inferring the labels with {reference} …"), show_time=True):  # not seen where it is quick
        return datasets.view(dataset, reference, hidden_names(), dataset in _columns_shown())


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
    """Datasets whose further columns this session shows."""
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
    leads: bool = False,
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
        leads: a click leads to another page instead (`follow`).
    """
    name = file or f"{state.get('dataset')}-{exhibit.name}-{state.get('reference')}"
    on_click = None if exhibit.click is None else clicks(exhibit.click, leads)
    if exhibit.untitled is None:
        table(exhibit.table, key, name=name, noun=noun, rows=rows, on_row=on_click, limits=limits)
    else:
        figure(
            exhibit.untitled,
            key,
            name=name,
            alt=exhibit.alt,
            data=lambda: exhibit.table,
            cell=cell,
            on_click=on_click,
            on_window=on_window,
        )
    if notes:
        show_notes(exhibit.notes)


def show_notes(notes: Iterable[object]) -> None:
    """Draw notes, each on a line of its own."""
    for note in notes:
        st.caption(as_text(note))


def panels(
    *drawn: tuple[Exhibit | None, str], columns: int = 2, width: int = 380, file: str = "", **options: Any
) -> None:
    """Exhibits side by side where there is room, each with its key; None is left out.

    Args:
        drawn: what to show.
        columns: side by side at most.
        width: pixels of each at least.
        file: begin of the names of the downloads; the exhibits' names follow.
        options: of `show`.
    """
    grid = st.grid(columns, min_column_width=width, gap="small")
    for exhibit, key in drawn:
        if exhibit is not None:
            with grid.cell():
                show(exhibit, key, file=file and f"{file}-{exhibit.name}", **options)


def folded(name: str, draw: Callable[[], None], *, open: bool = False) -> None:
    """A part below the first screen, drawn once it is opened: by a click, or by the address whose view it is."""
    begins = open or state.get("view") == name
    shown = st.expander(name, expanded=begins, key=f"fold-{state.page()}-{name}-{begins}", on_change="rerun")
    if shown.open:
        with shown:
            draw()


def clicks(select: Callable[..., Mapping[str, str]], leads: bool = False) -> Callable[..., None]:
    """Handle a click: show its selection on this page, or let `follow` open the right page."""

    def clicked(*place: int) -> None:
        if leads:
            st.session_state["followed"] = select(*place)
        else:
            state.put(**select(*place))

    return clicked


def follow() -> None:
    """Open the page about the worker, task or mistake that was clicked; no address keeps the click."""
    chosen: Mapping[str, str] = st.session_state.pop("followed", {})
    for key, page in (("worker", "annotators"), ("task", "tasks"), ("true", "mistakes")):
        if key in chosen:
            there = {"view": "One worker", **chosen} if key == "worker" else chosen
            st.switch_page(f"views/{page}.py", query_params=state.address(page, **there))


_HTML = """
<div role="toolbar" aria-label="Download the figure">
<button value="170" tabindex="0" title="Width of SVG and PNG: 170 mm, or 85 mm for one column">170 mm wide</button>
<button value="svg" tabindex="-1" data-format="svg">SVG</button>
<button value="png" tabindex="-1" data-format="png">PNG</button>
<button value="csv" tabindex="-1">CSV</button>
</div><span role="status"></span>
"""


_CSS = """
:host { display: inline-flex; }
button {
  font: inherit; font-size: 0.85rem; color: var(--st-text-color); opacity: 0.8;
  background: none; border: none; cursor: pointer; padding: 0.25rem 0.5rem; border-radius: 0.25rem;
}
button:hover { opacity: 1; text-decoration: underline; }
button:focus-visible { outline: 2px solid var(--st-primary-color); opacity: 1; }
[role="status"] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""


@functools.cache
def _component() -> Callable[..., Any]:
    script = "".join(Path(__file__).with_name(name).read_text() for name in ("paper.js", "figure.js"))
    return st.components.v2.component("crowdcore_figure", html=_HTML, css=_CSS, js=script)


def figure(
    figure: go.Figure | Callable[[], go.Figure],
    key: str,
    *,
    name: str,
    alt: str,
    data: Callable[[], pd.DataFrame],
    cell: tuple[int, int] | None = None,
    on_click: Callable[..., None] | None = None,
    on_window: Callable[[tuple[float, float], tuple[float, float]], None] | None = None,
    every: float = 1.0,
) -> None:
    """Draw a figure.

    Args:
        figure: what to draw; a function is called again and again, for what changes by itself.
        key: unique on the page.
        name: file name of the downloads, without its suffix.
        alt: what a screen reader says.
        data: makes the table behind the figure, called when its download is clicked.
        cell: row and column of a heatmap's cell to outline.
        on_click: called with the row and column of a heatmap's clicked cell, or else with the last custom value of a
            clicked point, a whole number.
        on_window: called with the x range and the y range after zooming.
        every: seconds between two calls of ``figure``.
    """
    frame, widget = re.sub(r"[^\w-]", "-", f"figure-{key}", flags=re.ASCII), f"tools-{key}"  # a class name too

    def clicked() -> None:
        place = st.session_state[widget].place
        if on_click is not None and place:
            on_click(*map(int, place))

    def zoomed() -> None:
        window = st.session_state[widget].window
        if on_window is not None and window:
            on_window(tuple(window["x"]), tuple(window["y"]))

    def draw(now: go.Figure) -> None:
        from crowdcore.figures.theme import untitled

        drawn = untitled(now)
        if drawn.layout.meta:  # lines of text break where those of a figure do not
            title, *more = map(as_text, drawn.layout.meta)
            st.markdown("  \n".join([f"**{title}**", *(f":small[{line}]" for line in more)]))
        st.plotly_chart(
            drawn,
            key=f"chart-{key}",
            theme=None,
            alt=alt,
            config={
                "modeBarButtonsToRemove": [] if on_window else ["zoom", "pan", "zoomIn", "zoomOut", "autoScale"],
                "displaylogo": False,
            },
        )

    def draw_anew() -> None:
        with refusals():
            draw(figure())

    with st.container(key=frame, gap="xxsmall"):
        if callable(figure):
            st.fragment(draw_anew, run_every=every)()
        else:
            draw(figure)
        with st.container(horizontal=True, horizontal_alignment="right", gap="xxsmall", vertical_alignment="center"):
            _component()(
                key=widget,
                data={
                    "frame": frame,
                    "name": name,
                    "cell": cell,
                    "clicks": on_click is not None,
                    "zooms": on_window is not None,
                },
                on_place_change=clicked,
                on_window_change=zoomed,
                width="content",
            )
            # Never seen: the button beside it clicks its button.
            with st.container(key=f"table-of-{frame}", width="content"):
                download("CSV", lambda: csv_bytes(data()), f"{name}.csv", key=f"data-{key}", icon=None)
