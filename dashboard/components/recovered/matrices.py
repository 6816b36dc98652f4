"""The common confusion beside those of workers, a page of them at a time, and one of them with its numbers."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.pickers import named, picker
from dashboard.components.recovered.choice import Choice
from dashboard.components.text import as_text, count, number, percent

__all__ = ["matrices"]


def matrices(choice: Choice) -> None:
    """The grid, then the chosen matrix."""
    grid(choice)
    one(choice)


def names_of(choice: Choice) -> list[str]:
    """The common confusions, then the workers."""
    dataset = state.get("dataset")
    return [
        *services.panels.commons(dataset, choice.run, choice.seed),
        *services.workers(dataset, hidden_names()),
    ]


def grid(choice: Choice) -> None:
    """Small matrices on one colour scale; a click chooses matrix and cell."""
    dataset, reference, hidden = state.get("dataset"), state.get("reference"), hidden_names()
    n_common = len(services.panels.commons(dataset, choice.run, choice.seed))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort = named("Workers", "sort", services.panels.sorts(dataset, choice.run, choice.seed), width=220)
        pages = services.panels.worker_pages(dataset, choice.run, choice.seed, sort)
        asked = state.get("group")
        page = min(max(int(asked), 1), len(pages)) if asked.isdecimal() else 1
        if len(pages) > 1:
            with st.container(width="content"):
                _turn(page, len(pages))
        shown = state.get("diagonal") != "no"
        diagonal = st.toggle(
            "Diagonal",
            help="Without it the colours reach to the most frequent mistake.",
            **state.bind("diagonal", shown, say=("", "no")),
        )
    who = tuple(pages[page - 1]) if pages else ()
    classes, names = services.dataset(dataset).classes, names_of(choice)

    def clicked(row: int, column: int) -> None:
        hit = services.confusions.confusion_cell(
            dataset, reference, choice.run, choice.beside, choice.seed, who, row, column
        )
        if hit is not None:
            at, true, given = hit
            known = -1 - at < n_common
            name = names[-1 - at] if at < 0 and known else names[n_common + at] if at >= 0 else ""
            state.put(worker=name, true=classes[true], given=classes[given])

    figure(
        services.confusions.confusion_grid(
            dataset, reference, choice.run, choice.beside, choice.seed, who, hidden, diagonal
        ),
        "grid",
        name=f"{dataset}-confusions-{choice.run[:8]}",
        alt="Recovered confusions side by side: the common one, then workers; true classes downwards",
        data=lambda: services.confusions.confusion_grid_table(
            dataset, reference, choice.run, choice.beside, choice.seed, who, hidden
        ),
        on_cell=clicked,
    )
    common = services.result(choice.run).common_confusion
    words = [services.recovered.epochs_in_words(choice.run, choice.seed)]
    if common is None:
        words.append("This method has no common confusion.")
    elif not n_common:
        words.append("Groups of different seeds are not the same groups: choose one seed to see their confusions.")
    st.caption(as_text(" ".join(words)))


def _turn(page: int, n_pages: int) -> None:
    """Which page of workers; one widget for each, as it takes no value from outside once it is there."""
    key = f"workers-page-{page}-of-{n_pages}"

    def turned() -> None:
        state.put(group=str(st.session_state[key]))

    st.pagination(n_pages, default=page, key=key, on_change=turned, max_visible_pages=5)


def one(choice: Choice) -> None:
    """The chosen matrix with its numbers, what it is shown beside (at first the labels), and their difference."""
    dataset, reference = state.get("dataset"), state.get("reference")
    names, n_common = names_of(choice), len(services.panels.commons(dataset, choice.run, choice.seed))
    chosen = state.index_of("worker", names) or 0
    at = -1 - chosen if chosen < n_common else chosen - n_common
    beside = choice.beside or services.panels.OBSERVED
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picker("Matrix", "worker", names, chosen)
        if at >= 0:
            st.markdown(_in_numbers(choice, at))
    classes = services.dataset(dataset).classes
    cell = state.index_of("true", classes), state.index_of("given", classes)
    marked = None if cell[0] is None or cell[1] is None else (cell[0], cell[1])

    def clicked(row: int, column: int) -> None:
        state.put(true=classes[row], given=classes[column])

    board = st.grid(3 if len(classes) <= 8 else 2, min_column_width=340, gap="small")
    missing = False
    for source in (choice.run, beside):
        drawn = services.confusions.one_confusion(dataset, reference, source, choice.seed, at, names[chosen])
        missing |= drawn is None
        if drawn is not None:
            with board.cell():
                figure(
                    drawn,
                    f"one-{'run' if source == choice.run else 'beside'}",
                    name=f"{dataset}-confusion-{names[chosen]}-{source[:8]}",
                    alt=f"Confusion of {names[chosen]}: true classes downwards, given labels to the right",
                    data=partial(
                        services.confusions.one_confusion_table,
                        *(dataset, reference, source, choice.seed, at, names[chosen]),
                    ),
                    cell=marked,
                    on_cell=clicked,
                )
    if not missing:
        with board.cell():
            difference(choice._replace(beside=beside), at, marked)
    else:
        st.caption("What is beside has no common confusion to compare with.")
    tasks(at, names[chosen], marked)


def difference(choice: Choice, at: int, marked: tuple[int, int] | None) -> None:
    """The run's matrix minus the other."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    drawn = services.confusions.one_difference(dataset, reference, choice.run, choice.beside, choice.seed, at)
    if drawn is None:
        return
    figure(
        drawn,
        "difference",
        name=f"{dataset}-confusion-difference-{choice.run[:8]}",
        alt="The run's confusion minus the other one",
        data=partial(
            services.confusions.one_difference_table,
            *(dataset, reference, choice.run, choice.beside, choice.seed, at),
        ),
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
    found = services.recovered.recovered(state.get("dataset"), choice.run, choice.seed)
    words = [count(found.n_annotations[worker], "annotation"), f"skill **{number(found.skill[worker])}**"]
    if found.distance is not None:
        words.append(f"distance from common **{number(found.distance[worker], 5)}**")
    if found.common_share is not None:
        words.append(f"common noise **{percent(found.common_share[worker])}**")
    return " · ".join(words)
