"""Tasks ranked by ω̄, the classes in the halves of the ranking, and the tasks themselves."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from crowdcore.data.media import has_media
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.numbers import numbers
from dashboard.components.pickers import named, optional
from dashboard.components.recovered import Choice
from dashboard.components.text import as_text, count, number


def tasks(choice: Choice) -> None:
    """How ω̄ spreads, and the halves of the ranking, a row for each seed shown; then the list."""
    summary(choice)
    task = _marked(choice)
    grid = st.grid(2, min_column_width=400, gap="small")
    for view in choice.view.one_by_one():
        which = f"-seed-{view.seed}" if choice.view.seed == "each" else ""
        for exhibit, key in (
            (exhibits.omega.omega_ranking(view, task), "ranking"),
            (exhibits.omega.omega_halves(view), "halves"),
        ):
            with grid.cell():
                show(exhibit, f"{key}{which}", file=f"{choice.file(exhibit)}{which}", notes=False)
    one(choice)
    listing(choice)


def _marked(choice: Choice) -> int | None:
    """Number of the task that the address names."""
    return next(iter((choice.view.dataset.task_ids == state.get("task")).nonzero()[0].tolist()), None)


def summary(choice: Choice) -> None:
    """What sums ω up."""
    of = exhibits.omega.numbers(choice.view)
    agree = number(of.seed_correlation, 2) + (f" · {of.agreement}" if of.agreement else "")
    cells = (
        ("Mean ω", number(of.mean), "Mean over annotations: the share of labels attributed to the common confusion"),
        ("Spread of ω", number(of.spread), "Standard deviation over annotations; below 0.03 there is no ranking"),
        ("ω̄ and label entropy", number(of.task_correlation, 2), "Spearman's correlation over tasks"),
        (
            "Seeds agree",
            agree,
            "Mean rank correlation of the tasks' ω̄ between seeds: good from 0.8, poor below 0.5",
        ),
    )
    numbers(cells, 160)
    if of.words:
        st.warning(as_text(of.words), icon=":material/bar_chart_off:")


def one(choice: Choice) -> None:
    """The chosen task in a line, with a link to it."""
    found = exhibits.omega.ranked(choice.view)
    at = (found.task == _marked(choice)).nonzero()[0]
    if not len(at):
        st.caption("Click a bar to list its tasks, and a row of the list to mark its task.")
        return
    k, name = int(at[0]), state.get("task")
    known = found.classes[found.label[k]] if found.label[k] >= 0 else "unknown"
    with st.container(horizontal=True, vertical_alignment="center"):
        link("tasks", as_text(f"Task {name}"), task=name)
        st.markdown(
            f"{as_text(known)} · rank **{k + 1:,}** of {len(found.task):,} · ω̄ **{number(found.omega[k])}** · "
            f"{count(found.n_workers[k], 'worker')} · entropy of the labels {number(found.entropy[k], 2)}"
        )


def listing(choice: Choice) -> None:
    """Tasks of a half and of a class; a row leads to the task."""
    view = choice.view
    with st.container(horizontal=True):
        half = named("ω̄", "half", exhibits.omega.ranges(view), width=260)
        true = optional("True class", "true", view.classes, "Any class")
    found = exhibits.omega.omega_tasks(view, half, true)
    if not len(found.table):
        st.info("No task matches these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
        return
    of = f" of seed {view.shown_seed}" if view.seed == "each" else ""
    st.caption(f"{count(len(found.table), 'task')}{of}, {'smallest' if half == 'bottom' else 'largest'} ω̄ first.")
    if has_media(view.dataset):
        shown = zip(found.table["mean ω"], found.table[view.reference], strict=True)
        captions = [f"ω̄ {omega_bar:.3f} · {label}" for omega_bar, label in shown]
        cards(state.get("dataset"), found.table.index.tolist(), captions, "omega")
    show(found, "omega-tasks", file=choice.file(found), noun="task", rows=14)
