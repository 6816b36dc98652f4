"""Tasks ranked by ω̄, the classes in the halves of the ranking, and the tasks themselves."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.media import cards
from dashboard.components.pickers import named, optional
from dashboard.components.recovered import Choice
from dashboard.components.table import table
from dashboard.components.text import as_text, count, number

__all__ = ["tasks"]


def tasks(choice: Choice) -> None:
    """How ω̄ spreads, and the halves of the ranking, then the list."""
    dataset, reference = state.get("dataset"), state.get("reference")
    found = services.omega.omega_ranking(dataset, reference, choice.view)
    numbers(choice)
    grid = st.grid(2, min_column_width=400, gap="small")

    def clicked(code: int) -> None:
        true, part = services.omega.bar_clicked(dataset, code)
        state.put(half=part, true=None if true is None else found.classes[true])

    with grid.cell():
        figure(
            services.omega.omega_ranking_figure(
                dataset, reference, choice.view, services.task_number(dataset, state.get("task"))
            ),
            "ranking",
            name=f"{dataset}-omega-ranking-{choice.view.run[:8]}",
            alt="How the mean ω of tasks spreads, one strip for each true class",
            data=found.frame,
            on_point=clicked,
        )
    with grid.cell():
        figure(
            services.omega.omega_halves_figure(dataset, reference, choice.view),
            "halves",
            name=f"{dataset}-omega-halves-{choice.view.run[:8]}",
            alt="Tasks of each true class in the top and the bottom half, and the entropy of their labels",
            data=found.halves,
        )
    one(choice)
    listing(choice)


def numbers(choice: Choice) -> None:
    """What sums ω up."""
    dataset, reference = state.get("dataset"), state.get("reference")
    found = services.omega.omega_ranking(dataset, reference, choice.view)
    of = services.omega.omega_in_numbers(dataset, choice.view)
    judged = services.omega.omega_judgement(dataset, reference, choice.view)
    agree = number(found.seed_correlation, 2) + (f" · {judged.agreement}" if judged.agreement else "")
    grid = st.grid(4, min_column_width=160, gap="xsmall")
    for label, value, hint in (
        ("Mean ω", number(of["mean"]), "Mean over annotations: the share of labels laid to the common confusion"),
        ("Spread of ω", number(of["spread"]), "Standard deviation over annotations; below 0.03 there is no ranking"),
        ("ω̄ and label entropy", number(found.task_correlation, 2), "Spearman's correlation over tasks"),
        (
            "Seeds agree",
            agree,
            "Mean rank correlation of the tasks' ω̄ between seeds: good from 0.8, poor below 0.5",
        ),
    ):
        with grid.cell():
            st.metric(label, value, border=True, help=hint)
    if judged.words:
        st.warning(as_text(judged.words), icon=":material/bar_chart_off:")


def one(choice: Choice) -> None:
    """The chosen task in a line, with a link to it."""
    dataset, reference = state.get("dataset"), state.get("reference")
    found = services.omega.omega_ranking(dataset, reference, choice.view)
    task = services.task_number(dataset, state.get("task"))
    at = (found.task == task).nonzero()[0] if task is not None else []
    if not len(at):
        st.caption("Click a bar to list its tasks, and a row of the list to mark its task.")
        return
    k, name = int(at[0]), state.get("task")
    known = found.classes[found.label[k]] if found.label[k] >= 0 else "unknown"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(
            "views/tasks.py",
            label=as_text(f"Task {name}"),
            icon=":material/list_alt:",
            query_params=state.address("tasks", task=name),
        )
        st.markdown(
            f"{as_text(known)} · rank **{k + 1:,}** of {len(found.task):,} · ω̄ **{number(found.omega[k])}** · "
            f"{count(found.n_workers[k], 'worker')} · entropy of the labels {number(found.entropy[k], 2)}"
        )


def listing(choice: Choice) -> None:
    """Tasks of a half and of a class; a row leads to the task."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    with st.container(horizontal=True):
        half = named("ω̄", "half", services.omega.ranges(dataset, reference, choice.view), width=260)
        true = optional("True class", "true", classes, "Any class")
    found = services.omega.omega_tasks(dataset, reference, choice.view, half, true)
    if not len(found):
        st.info("No task passes these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
        return
    if half == "bottom":
        found = found[::-1]
    st.caption(f"{count(len(found), 'task')}, {'smallest' if half == 'bottom' else 'largest'} ω̄ first.")
    if services.has_media(dataset):
        captions = [f"ω̄ {omega:.3f} · {label}" for omega, label in zip(found["mean ω"], found[reference], strict=True)]
        cards(dataset, found.index.tolist(), captions, "omega")
    ids = services.dataset(dataset).task_ids
    table(
        found,
        "omega-tasks",
        name=f"{dataset}-omega-tasks-{choice.view.run[:8]}",
        noun="task",
        rows=14,
        on_row=lambda task: state.put(task=str(ids[task])),
    )
