"""Confusions of all workers together and of each: truth, learnt and observed side by side; one with its numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.pickers import named, picker
from dashboard.components.recovered.choice import Choice
from dashboard.components.text import as_text, count, number, percent

if TYPE_CHECKING:
    from streamlit.elements.lib.grid_container import GridContainer

    from crowdcore.figures.colors import Scale

__all__ = ["matrices"]

WIDE = 12  # classes from which small matrices take the page's whole width


def matrices(choice: Choice) -> None:
    """The small matrices, then the chosen one."""
    one(choice, small(choice))


def names_of(choice: Choice) -> list[str]:
    """The common confusions, then the workers."""
    dataset = state.get("dataset")
    return [*services.panels.commons(dataset, choice.view), *services.workers(dataset, hidden_names())]


def small(choice: Choice) -> Scale:
    """The common confusion and a page of workers, on one colour scale, which it returns; a click chooses a cell."""
    dataset, reference = state.get("dataset"), state.get("reference")
    names, n_common = names_of(choice), len(services.panels.commons(dataset, choice.view))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort = named("Workers", "sort", services.panels.sorts(dataset, choice.view), width=220)
        pages = services.panels.worker_pages(dataset, choice.view, sort)
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
            help="Tells small probabilities apart: each step of the colours is a factor.",
            **state.bind("scale", state.get("scale") == "log", say=("log", "")),
        )
    scale: Scale = "log" if log else "linear"
    n_classes = services.dataset(dataset).n_classes
    board = st.grid(1 if n_classes > WIDE else 2, min_column_width=440, gap="small")
    on_page = [*(-1 - g for g in range(n_common)), *(pages[page - 1] if pages else ())]
    top = None
    if not diagonal:
        top = services.confusions.most_frequent_mistake(dataset, reference, choice.view, choice.beside, on_page)
    for at in on_page:
        with board.cell():
            _small(choice, at, names[-1 - at if at < 0 else n_common + at], scale, top)
    words = [services.recovery_errors.errors_in_words(dataset, reference, choice.view)]
    if not n_common:
        groups = services.result(choice.view.run).common_confusion is not None
        words.append(
            "Groups of different seeds are not the same groups: choose one seed to see their confusions."
            if groups
            else "This method has no common confusion."
        )
    elif not services.panels.has_truth(dataset):
        words.append("The common confusion is compared with that of all workers' labels.")
    words.append("Grey rows: no labels, so nothing is known.")
    st.caption(as_text(" ".join(words)))
    return scale


def _small(choice: Choice, at: int, name: str, scale: Scale, top: float | None) -> None:
    """One worker or what is common, from every source."""
    dataset, reference, view = state.get("dataset"), state.get("reference"), choice.view
    classes = services.dataset(dataset).classes

    def clicked(row: int, column: int) -> None:
        hit = services.confusions.small_cell(dataset, view, choice.beside, row, column)
        if hit is not None:
            state.put(worker=name, true=classes[hit[0]], given=classes[hit[1]])

    sources = services.panels.side_by_side(dataset, view, choice.beside)
    figure(
        services.confusions.small_confusions(dataset, reference, view, choice.beside, at, name, scale, top),
        f"small-{at}" if at >= 0 else f"common-{-at}",
        name=f"{dataset}-confusion-{name}-{view.run[:8]}",
        alt=f"Confusion of {name}, from every source on one colour scale: true classes downwards",
        data=lambda: services.confusions.table_of(dataset, reference, sources, at, name),
        on_cell=clicked,
    )


def _turn(page: int, n_pages: int) -> None:
    """Which page of workers."""
    key = f"workers-page-of-{n_pages}"

    def turned() -> None:
        state.put(group=str(st.session_state[key]))

    state.show(key, page)
    st.pagination(n_pages, key=key, on_change=turned, max_visible_pages=5)


def one(choice: Choice, scale: Scale) -> None:
    """The chosen matrix with its numbers from every source, and the difference of the first two that compare."""
    dataset, reference, view = state.get("dataset"), state.get("reference"), choice.view
    names, n_common = names_of(choice), len(services.panels.commons(dataset, view))
    chosen = state.index_of("worker", names) or 0
    at = -1 - chosen if chosen < n_common else chosen - n_common
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picker("Matrix", "worker", names, chosen)
        if at >= 0:
            st.markdown(_in_numbers(choice, at))
    still = services.recovered.unmoved_in_words(services.dataset(dataset), view, at)
    if still:
        st.warning(as_text(still), icon=":material/hourglass_empty:")
    classes = services.dataset(dataset).classes
    cell = state.index_of("true", classes), state.index_of("given", classes)
    marked = None if cell[0] is None or cell[1] is None else (cell[0], cell[1])

    def clicked(row: int, column: int) -> None:
        state.put(true=classes[row], given=classes[column])

    board = st.grid(3, min_column_width=min(150 + 28 * len(classes), 700), gap="small")
    for source in services.panels.side_by_side(dataset, view, choice.beside):
        drawn = services.confusions.one_confusion(dataset, reference, source, choice.beside, at, names[chosen], scale)
        if drawn is None:
            continue
        with board.cell():
            key = source.run if source.run != view.run else f"learnt{source.seed}"
            figure(
                drawn,
                f"one-{key}",
                name=f"{dataset}-confusion-{names[chosen]}-{key[:8]}",
                alt=f"Confusion of {names[chosen]}: true classes downwards, given labels to the right",
                data=partial(services.confusions.table_of, *(dataset, reference, [source], at, names[chosen])),
                cell=marked,
                on_cell=clicked,
            )
    if view.seed != services.recovered.EACH:
        difference(choice, at, marked, board)
    tasks(at, names[chosen], marked)


def difference(choice: Choice, at: int, marked: tuple[int, int] | None, board: GridContainer) -> None:
    """The run's matrix minus that of the other run, else the truth's, else the observed one."""
    dataset, reference, view = state.get("dataset"), state.get("reference"), choice.view
    classes = services.dataset(dataset).classes
    basis = services.panels.TRUTH if services.panels.has_truth(dataset) else services.panels.OBSERVED
    other = view._replace(run=choice.beside or basis)
    dark = st.context.theme.type == "dark"
    drawn = services.confusions.difference(dataset, reference, view, other, at, dark)
    if drawn is None:
        return
    with board.cell():
        figure(
            drawn,
            "difference",
            name=f"{dataset}-confusion-difference-{view.run[:8]}",
            alt="The run's confusion minus the other one",
            data=partial(services.confusions.difference_table, *(dataset, reference, view, other, at)),
            cell=marked,
            on_cell=lambda row, column: state.put(true=classes[row], given=classes[column]),
        )


def tasks(at: int, name: str, marked: tuple[int, int] | None) -> None:
    """From the chosen cell to the tasks behind it."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    if marked is None:
        st.caption("Click a cell to go to the tasks behind it.")
        return
    true, given = (classes[c] for c in marked)
    listed = services.task_list(dataset, reference, "all", *marked, at if at >= 0 else None)
    worker = name if at >= 0 else None
    who = f"{name} labelled" if worker else "somebody labelled"
    label = as_text(f"{count(len(listed), 'task')} that {'is' if len(listed) == 1 else 'are'} {true} and {who} {given}")
    view = state.address("tasks", true=true, given=given, worker=worker)
    st.page_link("views/tasks.py", label=label, query_params=view, icon=":material/list_alt:")


def _in_numbers(choice: Choice, worker: int) -> str:
    """What sums a worker up."""
    found = services.recovered.recovered(state.get("dataset"), choice.view)
    words = [count(found.n_annotations[worker], "annotation"), f"skill **{percent(found.skill[worker])}**"]
    if found.distance is not None:
        words.append(f"distance from common **{number(found.distance[worker], 5)}**")
    if found.common_share is not None:
        words.append(f"common noise **{percent(found.common_share[worker])}**")
    return " · ".join(words)
