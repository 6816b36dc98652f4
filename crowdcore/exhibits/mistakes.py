"""Shared mistakes: the matrix of who confuses what with what, and what lies behind each of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.reference import notes_on_unjudged
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import MistakeCell, SharedMistakes
    from crowdcore.core.types import IntArray

Layer: TypeAlias = Literal["percent", "workers", "tasks", "annotations", "q-value"]
LAYERS: Mapping[Layer, str] = {
    "percent": "Share of workers",
    "workers": "Workers",
    "tasks": "Tasks",
    "annotations": "Annotations",
    "q-value": "Chance (q-value)",
}
"""What the colours may be, in words."""
RESAMPLES = 200
LEVEL = 0.05


@cached
def shared_mistakes(view: View, layer: Layer = "percent", marks: bool = True) -> Exhibit:
    """Which mistakes do workers share? The matrix (CoNAL, Fig. 1); its table has bootstrap intervals.

    Args:
        view: whose mistakes.
        layer: what the colours and numbers are.
        marks: mark the mistakes that more workers share than chance explains.
    """
    found = view.of(analysis.shared_mistakes)
    figure = figures.shared_mistakes(view.drawable(found), layer, significance=marks, level=LEVEL)
    alt = f"Share of workers who gave each label to tasks of each true class; reference {view.reference}"

    def table() -> pd.DataFrame:
        return _with_intervals(view).frame()

    notes = (found.null, *found.notes, *notes_on_unjudged(view.dataset, view.truth))
    return Exhibit("shared-mistakes", "Shared mistakes", figure, table, notes, alt, view.clicked)


def most_shared(view: View) -> tuple[str, str]:
    """True class and given label of the mistake that most workers made."""
    workers_of = np.array(view.of(analysis.shared_mistakes).workers)
    np.fill_diagonal(workers_of, -1)
    true, given = np.unravel_index(int(workers_of.argmax()), workers_of.shape)
    return view.classes[int(true)], view.classes[int(given)]


@cached
def mistake(view: View, true: str, given: str) -> Exhibit:
    """One mistake in numbers, and whether chance explains it.

    Args:
        view: whose mistake.
        true: name of the true class.
        given: name of the label that was given.
    """
    cell, found = _cell(view, true, given), _with_intervals(view)
    at = view.class_number(true), view.class_number(given)
    numbers: dict[str, Any] = {
        "true": true,
        "given": given,
        "workers": len(cell.workers),
        "of": found.n_workers,
        "percent": found.percent[at],
        "low": np.nan if found.low is None else found.low[at],
        "high": np.nan if found.high is None else found.high[at],
        "expected": found.expected[at],
        "carriers": found.carriers[at],
        "p_workers": found.p_workers[at],
        "p_value": found.p_value[at],
        "q_value": found.q_value[at],
        "annotations": len(cell.annotations),
        "tasks": len(cell.tasks),
    }
    return Exhibit("mistake", f"{true} labelled {given}", None, pd.DataFrame([numbers]), (_verdict(numbers),))


def _verdict(of: Mapping[str, Any]) -> str:
    """How sure the share of workers is, and whether chance explains it."""
    if of["true"] == of["given"]:
        return "The diagonal: labels that agree with the reference."
    words = [] if np.isnan(of["low"]) else [f"95 % interval {of['low']:.1f} – {of['high']:.1f} %."]
    if np.isnan(of["q_value"]):
        words.append("Whether chance explains it cannot be tested here.")
    else:
        shared, alone = of["q_value"] <= LEVEL, of["p_workers"] <= LEVEL
        verdict = "More than chance" if shared else "No more than chance explains"
        chance = f"{of['expected']:.1f} workers expected, p = {of['p_value']:.2g}, q = {of['q_value']:.2g}"
        words.append(f"{verdict}: {chance}.")
        if of["tasks"]:
            words.append(f"As good as {of['carriers']:.0f} of {of['tasks']:.0f} tasks carry it.")
        if alone and not shared:
            words.append(
                f"Without regard to the tasks p = {of['p_workers']:.2g}: look whether single tasks have a wrong "
                "reference or mislead."
            )
    return " ".join(words)


def mistake_workers(view: View, true: str, given: str) -> Exhibit:
    """The workers who made a mistake, those who made it most often first; index = worker number."""
    found = _cell(view, true, given)
    names = view.names_of(found.workers)
    table = _behind("worker", names, found.worker_times, "labels on the class", found.worker_labels, found.workers)
    return Exhibit(f"{true}-as-{given}-workers", f"Workers who labelled {true} {given}", None, table)


def mistake_tasks(view: View, true: str, given: str) -> Exhibit:
    """The tasks on which a mistake was made, those with it most often first; index = task number."""
    found, ids = _cell(view, true, given), view.dataset.task_ids
    labels = view.dataset.labels_per_task[found.tasks]
    table = _behind("task", ids[found.tasks], found.task_times, "labels", labels, found.tasks)

    def click(task: int) -> dict[str, str]:
        return {"task": str(ids[task])}

    return Exhibit(f"{true}-as-{given}-tasks", f"Tasks of class {true} labelled {given}", None, table, click=click)


def _behind(what: str, names: Any, times: IntArray, of: str, labels: IntArray, numbers: IntArray) -> pd.DataFrame:
    return pd.DataFrame({what: names, "times": times, of: labels, "share": times / labels}, index=numbers)


def _cell(view: View, true: str, given: str) -> MistakeCell:
    return view.of(analysis.mistake_cell, view.class_number(true), view.class_number(given))


def _with_intervals(view: View) -> SharedMistakes:
    """The matrix with bootstrap intervals, which take longer than all the rest."""
    return view.of(analysis.shared_mistakes, resamples=RESAMPLES)
