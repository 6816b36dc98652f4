"""Confusions of all workers together and of each: truth, learnt and observed side by side; one with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.link import link
from dashboard.components.pickers import named, picker
from dashboard.components.recovered.choice import Choice
from dashboard.components.text import as_text, count, number, percent

if TYPE_CHECKING:
    from crowdcore.exhibits.recovered import RunView
    from crowdcore.figures.axes import Scale

WIDE = 12  # classes from which small matrices take the page's whole width


def matrices(choice: Choice) -> None:
    """The small matrices, then the chosen one."""
    one(choice, small(choice))


def small(choice: Choice) -> Scale:
    """The common confusion and a page of workers, on one colour scale, which it returns; a click chooses a cell."""
    view, beside = choice.view, choice.beside
    n_common = len(exhibits.confusions.commons(view))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort = named("Workers", "sort", exhibits.confusions.sorts(view), width=220)
        pages = exhibits.confusions.pages(view, sort)
        asked = state.get("group")
        page = min(max(int(asked), 1), len(pages)) if asked.isdecimal() else 1
        if len(pages) > 1:
            with st.container(width="content"):
                _turn(page, len(pages))
        shown = state.get("diagonal") != "no"
        diagonal = st.toggle(
            "Diagonal",
            help="Off: hides correct labels, so that the colours show differences between mistakes.",
            **state.bind("diagonal", shown, say=("", "no")),
        )
        log = st.toggle(
            "Logarithmic colours",
            help="Shows differences between small probabilities: each step of the colours is a factor.",
            **state.bind("scale", state.get("scale") == "log", say=("log", "")),
        )
    scale: Scale = "log" if log else "linear"
    board = st.grid(1 if len(view.classes) > WIDE else 2, min_column_width=440, gap="small")
    on_page = [*(-1 - g for g in range(n_common)), *(pages[page - 1] if pages else ())]
    top = None if diagonal else exhibits.confusions.largest_mistake(view, on_page, beside)
    for who in on_page:
        drawn = exhibits.confusions.confusion_grid(view, who, beside, scale, top)
        with board.cell():
            show(drawn, f"small-{who}" if who >= 0 else f"common-{-who}", file=choice.file(drawn))
    words = [exhibits.confusions.errors_in_words(view)]
    if not n_common:
        words.append(
            "This method has no common confusion."
            if view.result.common_confusion is None
            else "Groups differ between seeds: choose one seed to see their confusions."
        )
    elif not exhibits.confusions.has_truth(view):
        words.append("The common confusion is compared with that of all workers' labels.")
    words.append("Grey rows: no labels.")
    st.caption(as_text(" ".join(words)))
    return scale


def _turn(page: int, n_pages: int) -> None:
    """Which page of workers."""
    key = f"workers-page-of-{n_pages}"

    def turned() -> None:
        state.put(group=str(st.session_state[key]))

    state.show(key, page)
    st.pagination(n_pages, key=key, on_change=turned, max_visible_pages=5)


def one(choice: Choice, scale: Scale) -> None:
    """The chosen matrix with its numbers from every source, and the difference of the first two that compare."""
    view, classes = choice.view, choice.view.classes
    names = exhibits.confusions.who_names(view)
    numbers = list(names)
    chosen = state.index_of("worker", list(names.values())) or 0
    who = numbers[chosen]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picker("Matrix", "worker", list(names.values()), chosen)
        if who >= 0:
            st.markdown(_in_numbers(view, who))
    still = exhibits.recovered.unmoved_in_words(view, who)
    if still:
        st.warning(as_text(still), icon=":material/hourglass_empty:")
    cell = state.index_of("true", classes), state.index_of("given", classes)
    marked = None if cell[0] is None or cell[1] is None else (cell[0], cell[1])
    board = st.grid(3, min_column_width=min(150 + 28 * len(classes), 700), gap="small")
    for source in exhibits.confusions.side_by_side(view, choice.beside):
        drawn = exhibits.confusions.recovered_confusion(view, who, source, choice.beside, scale)
        if drawn is None:
            continue
        key = "beside" if source == choice.beside else source if isinstance(source, str) else _learnt(source)
        with board.cell():
            show(drawn, f"one-{key}", file=f"{choice.file(drawn)}-{key}", cell=marked)
    if view.seed != exhibits.recovered.EACH:
        dark = st.context.theme.type == "dark"
        minus = exhibits.confusions.confusion_difference(view, who, choice.beside, dark=dark)
        correction = exhibits.recovered.confusion_correction(view, who, dark=dark) if who >= 0 else None
        for key, drawn in (("difference", minus), ("correction", correction)):
            if drawn is not None:
                with board.cell():
                    show(drawn, key, file=choice.file(drawn), cell=marked)
    tasks(view, who, names[who], marked)


def _learnt(source: RunView) -> str:
    return f"learnt{'' if source.seed is None else source.seed}"


def tasks(view: RunView, who: int, name: str, marked: tuple[int, int] | None) -> None:
    """From the chosen cell to the tasks behind it."""
    if marked is None:
        st.caption("Click a cell to see the tasks behind it.")
        return
    true, given = (view.classes[c] for c in marked)
    n = len(exhibits.confusions.tasks_behind(view, *marked, who if who >= 0 else None))
    by = f"{name} labelled" if who >= 0 else "somebody labelled"
    label = as_text(f"{count(n, 'task')} that {'is' if n == 1 else 'are'} {true} and {by} {given}")
    link("tasks", label, true=true, given=given, worker=name if who >= 0 else None)


def _in_numbers(view: RunView, worker: int) -> str:
    """What sums a worker up."""
    found = exhibits.recovered.recovered(view)
    words = [count(found.n_annotations[worker], "annotation"), f"skill **{percent(found.skill[worker])}**"]
    if found.distance is not None:
        words.append(f"distance from common **{number(found.distance[worker], 5)}**")
    if found.common_share is not None:
        words.append(f"common noise **{percent(found.common_share[worker])}**")
    return " · ".join(words)
