"""Noise source: the share of each label that a run attributes to the common confusion, not the worker's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.data.media import has_media
from crowdcore.exhibits.omega import has_true_omega
from dashboard import state
from dashboard.components.exhibit import folded, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.pickers import optional, picker
from dashboard.components.recovered import Choice, choose, show_caveats
from dashboard.components.table import numbers, table
from dashboard.components.text import as_text, count, number

if TYPE_CHECKING:
    from crowdcore.exhibits import Exhibit
    from crowdcore.exhibits.recovered import RunView


ENDS = 4  # items of each end that are shown beside the ranking


def each_seed(
    choice: Choice, make: Callable[[RunView], Exhibit], key: str, *, columns: int = 1, **options: Any
) -> None:
    """An exhibit of each seed that is shown, side by side where there is room."""
    one = choice.view.seed != "each"
    grid = st.grid(1 if one else columns, min_column_width=400, gap="small")
    for view in choice.view.one_by_one():
        drawn, which = make(view), "" if one else f"-seed-{view.seed}"
        with grid.cell():
            show(drawn, f"{key}{which}", file=f"{choice.file(drawn)}{which}", **options)


def ranking(choice: Choice) -> None:
    """Ranking of ω̄ in each class, a figure for each seed shown, and the items at its two ends."""
    view, task = choice.view, _marked_task(choice)
    media = has_media(view.dataset)
    true = state.index_of("true", view.classes)
    left, right = st.columns([3, 2], gap="medium") if media else (st.container(), st.container())
    with left:
        each_seed(choice, lambda one: exhibits.omega.omega_ranking(one, task), "ranking", notes=False)
    with right:
        for half, words in (("bottom", "Lowest ω̄: least like what all share"), ("top", "Highest ω̄")) if media else ():
            tasks = exhibits.omega.omega_tasks(view, half, true).table.head(ENDS)
            of = f" of {view.classes[true]}" if true is not None else ""
            st.markdown(as_text(f"{words}{of}"))
            _pictured(tasks, view.reference, f"end-{half}")
    if judged := exhibits.omega.numbers(view).words:
        st.warning(as_text(judged), icon=":material/bar_chart_off:")
    one(choice)


def _pictured(tasks: pd.DataFrame, reference: str, key: str) -> None:
    """Cards of tasks, with ω̄ and the class by the reference."""
    cards(tasks, lambda row: f"ω̄ {row['mean ω']:.3f} · {row[reference]}", key)


def notes(choice: Choice) -> None:
    """Explain ω, with its epoch and seeds."""
    st.caption(exhibits.omega.MEANING)
    show_caveats(choice)


def tasks(choice: Choice) -> None:
    """Summary of ω, the halves of the ranking for each seed shown, and the list of tasks."""
    summary(choice)
    each_seed(choice, exhibits.omega.omega_halves, "halves", columns=2, notes=False)
    listing(choice)


def _marked_task(choice: Choice) -> int | None:
    """Number of the task that the address names."""
    return next(iter((choice.view.dataset.task_ids == state.get("task")).nonzero()[0].tolist()), None)


def summary(choice: Choice) -> None:
    """Summary of ω in numbers."""
    of = exhibits.omega.numbers(choice.view)
    agree = number(of.seed_correlation, 2) + (f" · {of.agreement}" if of.agreement else "")
    cells = (
        ("Mean ω", number(of.mean), "Mean over annotations: the share of labels attributed to the common confusion"),
        ("Spread of ω", number(of.spread), "Standard deviation over annotations; below 0.03 there is no ranking"),
        ("ω̄ and label entropy", number(of.task_correlation, 2), "Spearman's correlation over tasks"),
        ("Seeds agree", agree, "Mean rank correlation of the tasks' ω̄ between seeds: good from 0.8, poor below 0.5"),
    )
    numbers(cells, 160)


def one(choice: Choice) -> None:
    """The chosen task in a line, with a link to it."""
    ranking = exhibits.omega.ranked(choice.view)
    at = (ranking.task == _marked_task(choice)).nonzero()[0]
    if not len(at):
        st.caption("Click a bar to choose its class and its tasks.")
        return
    k, name = int(at[0]), state.get("task")
    known = ranking.classes[ranking.label[k]] if ranking.label[k] >= 0 else "unknown"
    with st.container(horizontal=True, vertical_alignment="center"):
        link("tasks", as_text(f"Task {name}"), task=name)
        st.markdown(
            f"{as_text(known)} · rank **{k + 1:,}** of {len(ranking.task):,} · ω̄ **{number(ranking.omega[k])}** · "
            f"{count(ranking.n_workers[k], 'worker')} · entropy of the labels {number(ranking.entropy[k], 2)}"
        )


def listing(choice: Choice) -> None:
    """Tasks of a half and of a class; a row leads to the task."""
    view = choice.view
    with st.container(horizontal=True):
        half = picker("ω̄", "half", exhibits.omega.ranges(view), width=260)
        true = optional("True class", "true", view.classes, "Any class")
    exhibit = exhibits.omega.omega_tasks(view, half, None if true is None else view.class_number(true))
    if not len(exhibit.table):
        st.info("No task matches these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
        return
    of = f" of seed {view.shown_seed}" if view.seed == "each" else ""
    st.caption(f"{count(len(exhibit.table), 'task')}{of}, {'smallest' if half == 'bottom' else 'largest'} ω̄ first.")
    if has_media(view.dataset):
        _pictured(exhibit.table, view.reference, "omega")
    show(exhibit, "omega-tasks", file=choice.file(exhibit), noun="task", rows=14)


def classes(choice: Choice) -> None:
    """ω per true class, beside the entropy of its labels; a row leads to the class's tasks."""
    _spread(choice, "class", choice.view.classes, "true")


def workers(choice: Choice) -> None:
    """ω per worker; a row leads to the worker's tasks."""
    _spread(choice, "worker", choice.view.workers, "worker")


def _spread(choice: Choice, by: Literal["class", "worker"], names: Sequence[str], key: str) -> None:
    """A figure for each seed shown, and the table of the first."""
    chosen = state.index_of(key, names)
    each_seed(choice, lambda view: exhibits.omega.omega_spread(view, by, chosen), f"by-{by}")
    exhibit = exhibits.omega.omega_spread(choice.view, by, chosen)
    if chosen is not None:
        label = as_text(f"Tasks {'of class' if by == 'class' else 'labelled by'} {names[chosen]}")
        link("tasks", label, **{key: names[chosen]})
    else:
        st.caption(f"Click a row to mark its {by} and to go to its tasks.")
    if choice.view.seed == "each":
        st.caption(f"The table shows seed {choice.view.shown_seed}.")

    def marked(row: int) -> None:
        state.put(**{key: names[row]})

    table(exhibit.table, f"omega-{by}", name=choice.file(exhibit), noun=by, rows=14, on_row=marked)


def truth(choice: Choice) -> None:
    """Recovered ω beside the true one; numbers are those of the first seed where all are shown."""
    comparison = exhibits.omega.against_truth(choice.view)
    auc = f"{number(comparison.auc)} of {number(comparison.auc_limit)}"
    cells = (
        ("Correlation", number(comparison.correlation, 2), "Pearson's, over annotations"),
        ("By ranks", number(comparison.rank_correlation, 2), "Spearman's, over annotations"),
        ("Mean ω", f"{number(comparison.mean_recovered)} of {number(comparison.mean_true)}", "Recovered, and true"),
        ("AUC", auc, "How well it tells which labels were common; the true ω's"),
    )
    numbers(cells, 160)
    each_seed(choice, exhibits.omega.omega_truth, "truth", columns=2)


FOLDED = {
    "Tasks": tasks,
    "Classes": classes,
    "Workers": workers,
    "Truth": truth,
    "How to read ω": notes,
}


@fragment
def draw() -> None:
    """The pickers and the ranking per class with the ends of one of them; the rest is folded."""
    heading()
    choice = choose("omega", "No finished run separates common from individual noise.")
    if choice is None:
        return
    ranking(choice)
    for name, part in FOLDED.items():
        if name != "Truth" or has_true_omega(choice.view):
            folded(name, partial(part, choice), open=name == "Tasks" and bool(state.get("half") or state.get("true")))


page("omega", draw)
