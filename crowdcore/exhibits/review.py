"""Labels and tasks to look at one by one, with what people marked; what to label again or next, what to train on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.labels.disagreement import task_disagreement
from crowdcore.analysis.reference import Reference  # the command line reads the annotations
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.tasks import tasks, tasks_judged, with_words
from crowdcore.exhibits.verdicts import workers_judged
from crowdcore.exhibits.view import View, cached
from crowdcore.exhibits.worker_words import listed
from crowdcore.marks import MARKS, Mark, current_marks, marks_version

if TYPE_CHECKING:
    from crowdcore.analysis import NextLabels
    from crowdcore.core.types import BoolArray, IntArray


__all__ = ["BY", "REVIEWS", "By", "Which", "marked_tasks", "relabel_list", "review", "training_list"]

By: TypeAlias = Literal["label", "task"]
BY: Mapping[By, str] = {"label": "Labels", "task": "Tasks"}
"""Kinds of rows."""
Which: TypeAlias = Literal["all", "wrong", "alike", "disputed", "check", "relabel", "ambiguous", "unmarked", "marked"]
REVIEWS: Mapping[Which, str] = {
    "all": "All",
    "wrong": "Against the reference",
    "alike": "Wrong alike",
    "disputed": "Workers disagree",
    "check": "Gold that may be wrong",
    "relabel": "Tasks to relabel",
    "ambiguous": "Ambiguous tasks",
    "unmarked": "Not marked yet",
    "marked": "Marked",
}
"""Lists of labels -> words."""
_TEXT = 200  # characters of a text that a table shows


def review(
    view: View,
    by: By = "label",
    show: Which = "all",
    true: str | None = None,
    given: str | None = None,
    workers: tuple[str, ...] = (),
    against: Reference | None = None,
) -> Exhibit:
    """Labels, or whole tasks, that pass all filters, with probability and mark; the likeliest wrong label first.

    Args:
        by: a row per label (index = number of the annotation) or per task (index = task number).
        show: a key of `REVIEWS`; ``alike``: labels that all ``workers`` gave to a task, against the reference.
        true: only tasks of this class.
        given: only labels of this class.
        workers: only labels of these workers; none: of all.
        against: only tasks that this other reference gives another class.
    """
    version = marks_version(view.dataset) if show in {"marked", "unmarked"} else None
    rows = _rows(view, show, true, given, workers, against, version)
    dataset, truth = view.dataset, view.truth
    task = dataset.task[rows]
    if by == "task":
        task = task[np.sort(np.unique(task, return_index=True)[1])]
    names, ids = np.array([*view.classes, ""], object), dataset.task_ids.to_numpy(object)
    marks = current_marks(dataset)
    votes = view.of(task_disagreement)
    columns: dict[str, Any] = {"task": ids[task]}
    if by == "label":
        columns |= {"worker": view.names_of(dataset.worker[rows]), "label": names[dataset.label[rows]]}
    else:
        columns |= {"most given": names[votes.winner[task]], "share": votes.share[task]}
        columns["annotations"] = votes.n_annotations[task]
    columns[view.reference] = names[truth.labels[task]]
    if not truth.checked:
        posterior = tasks_judged(view).posterior
        columns["probability"] = np.where(truth.known[task], posterior[task, truth.labels[task]], np.nan)
        if by == "label":
            columns["probability of label"] = posterior[task, dataset.label[rows]]
    columns |= _texts(view, task)
    some = [marks.get(name) for name in columns["task"]]
    columns["mark"] = [mark.says if mark else "" for mark in some]
    columns["right class"] = [mark.truth if mark else "" for mark in some]
    columns["comment"] = _comments(view, some)
    index = rows if by == "label" else task
    called = view.workers

    def click(row: int) -> dict[str, str]:
        number = int(dataset.task[row] if by == "label" else row)
        return {"task": str(ids[number]), "worker": called[dataset.worker[row]] if by == "label" else ""}

    return Exhibit(
        "review", f"{BY[by]}: {REVIEWS[show].lower()}", None, pd.DataFrame(columns, index=index), click=click
    )


@cached
def _rows(
    view: View,
    show: Which,
    true: str | None,
    given: str | None,
    workers: tuple[str, ...],
    against: Reference | None,
    version: object,
) -> IntArray:
    """Numbers of the annotations to list, in order."""
    dataset, truth = view.dataset, view.truth.labels
    votes = view.of(task_disagreement)
    task, label = dataset.task, dataset.label
    keep = np.ones(len(task), bool)
    if true is not None:
        keep &= truth[task] == view.class_number(true)
    if given is not None:
        keep &= label == view.class_number(given)
    if workers:
        keep &= np.isin(dataset.worker, [view.worker_number(name) for name in workers])
    if against is not None:
        keep &= ((against.labels != truth) & against.known & (truth >= 0))[task]
    if show in {"wrong", "alike"}:
        keep &= (truth[task] >= 0) & (label != truth[task])
    if show == "alike":
        keep &= _repeated_labels(view, keep, max(len(workers), 2))
    if show == "disputed":
        keep &= votes.n_answers[task] > 1
    judged = tasks_judged(view)
    if show in {"check", "relabel", "ambiguous"}:
        keep &= judged.verdict[task] == show
    if show in {"marked", "unmarked"}:
        marked = dataset.task_ids.isin(list(current_marks(dataset)))
        keep &= marked[task] == (show == "marked")
    rows = np.flatnonzero(keep)
    rank = np.argsort(np.argsort(np.array(view.workers), kind="stable"), kind="stable")
    place = np.empty(dataset.n_tasks, np.int64)
    place[judged.order] = np.arange(len(judged.order))
    return np.asarray(rows[np.lexsort((rank[dataset.worker[rows]], place[task[rows]]))])


def _repeated_labels(view: View, keep: BoolArray, n: int) -> BoolArray:
    """(n_annotations,) labels that at least ``n`` different workers, of those kept, gave to the same task."""
    dataset = view.dataset
    cell = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    called = np.unique(cell[keep] * dataset.n_workers + dataset.worker[keep]) // dataset.n_workers
    several, times = np.unique(called, return_counts=True)
    return np.isin(cell, several[times >= n])


def _texts(view: View, task: IntArray) -> dict[str, Any]:
    """Beginning of the tasks' texts, if they have any."""
    media = view.dataset.media
    if media is None or media.columns is None or "text" not in media.columns:
        return {}
    return {"text": media.columns["text"].astype(object).fillna("").iloc[task].str.slice(0, _TEXT).to_numpy(object)}


def _comments(view: View, marks: list[Mark | None]) -> list[str]:
    """Comments; hidden names of workers are replaced by pseudonyms."""
    comments = [mark.comment if mark else "" for mark in marks]
    if not (view.hidden and any(comments)):
        return comments
    called = dict(zip(map(str, view.dataset.worker_ids), view.workers, strict=True))
    longest = sorted(map(re.escape, called), key=len, reverse=True)
    named = re.compile(rf"(?<!\w)(?:{'|'.join(longest)})(?!\w)")
    return [named.sub(lambda name: called[name.group()], text) for text in comments]


def marked_tasks(view: View) -> Exhibit:
    """Marks by people, the last first: the label, the mark, and the class that is right."""
    table = _marks_frame(view, list(current_marks(view.dataset).values())[::-1])
    counts = ", ".join(f"{n:,} {says}" for says in MARKS if (n := int((table["mark"] == says).sum())))
    notes = (f"Marked tasks: {len(table):,}{f' ({counts})' if counts else ''}.",)
    return Exhibit("marked-tasks", "Marks", None, table, notes, click=_to_task(view))


def relabel_list(view: View) -> Exhibit:
    """Tasks to label again: those marked wrong or unclear, with the class that people proposed."""
    marks = [mark for mark in current_marks(view.dataset).values() if mark.says != "right"]
    return Exhibit("relabel-list", "Tasks to label again", None, _marks_frame(view, marks), click=_to_task(view))


def training_list(view: View) -> Exhibit:
    """Labels that differ from the class marked as right, for each worker to learn from; index = annotation."""
    dataset, marks = view.dataset, current_marks(view.dataset)
    number = {name: c for c, name in enumerate(("", *dataset.classes), -1)}
    right = np.full(dataset.n_tasks, -1, np.int64)
    right[dataset.task_ids.get_indexer(pd.Index([*marks]))] = [number[mark.truth] for mark in marks.values()]
    rows = np.flatnonzero((right[dataset.task] >= 0) & (right[dataset.task] != dataset.label))
    task, names = dataset.task[rows], np.array(view.classes, object)
    ids = dataset.task_ids.to_numpy(object)[task]
    table = pd.DataFrame(
        {
            "worker": view.names_of(dataset.worker[rows]),
            "task": ids,
            "label": names[dataset.label[rows]],
            "right class": names[right[task]],
            **_texts(view, task),
            "comment": _comments(view, [marks[name] for name in ids]),
        },
        index=rows,
    ).sort_values(["worker", "task"], kind="stable")
    return Exhibit("training-list", "Labels to train workers on", None, table)


def _marks_frame(view: View, marks: list[Mark]) -> pd.DataFrame:
    """Row per mark; index = task number. Where names are hidden, those of the people who marked are too."""
    dataset = view.dataset
    task = np.asarray(dataset.task_ids.get_indexer(pd.Index([mark.task for mark in marks])), np.int64)
    called = {"": "", **dict(zip(map(str, dataset.worker_ids), view.workers, strict=True))}
    names = np.array([*view.classes, ""], object)
    columns: dict[str, Any] = {
        "task": [mark.task for mark in marks],
        "worker": [called.get(mark.worker, "") for mark in marks],
        "label": [mark.label for mark in marks],
        "mark": [mark.says for mark in marks],
        "right class": [mark.truth for mark in marks],
        view.reference: names[view.truth.labels[task]],
        **_texts(view, task),
        "comment": _comments(view, [*marks]),
    }
    if not view.hidden:
        columns["by"] = [mark.by for mark in marks]
    return pd.DataFrame({**columns, "at": [mark.at for mark in marks]}, index=task)


def _to_task(view: View) -> Any:
    return lambda number: {"task": str(view.dataset.task_ids[number]), "worker": ""}


BUDGET = 100
MODEL = (
    "The likeliest wrong label comes first, as on Home, and goes to the available worker whose label tells most of "
    "it, by the workers' mistakes so far and as if they erred independently."
)

WHOLE = "A row is about one token; a worker tags its whole sentence, which gives more information than the row says."


def next_labels(
    view: View,
    budget: int = BUDGET,
    capacity: int = 0,
    explore: float = 0.0,
    workers: tuple[str, ...] = (),
    flagged: bool = False,
    per: Literal["label", "worker"] = "label",
    true: str | None = None,
    given: str | None = None,
) -> Exhibit:
    """Plan of the next labels, task and worker, the likeliest wrong label first; index = task number.

    With ``per="worker"``: the number of labels for each worker, and their expected gain; index = worker number.

    Args:
        budget: labels to ask for.
        capacity: most labels of each worker; 0 = no limit.
        explore: weight of what is learnt about the workers.
        workers: those who are available; default: all.
        flagged: include workers who, by Home, guess, act with others, or drift.
        per: kind of the rows.
        true, given: only tasks of this class, with this label, as in `tasks`.
    """
    plan = _plan(view, budget, capacity, explore, workers, flagged, true, given)
    if per == "worker":
        each = plan.per_worker()
        each["worker"] = view.names_of(each.index.to_numpy())
        each = each.sort_values(["labels", "worker"], ascending=[False, True])
        return Exhibit("next-labels-per-worker", "Next labels of each worker", None, each)
    table = pd.DataFrame(
        {"task": plan.task_ids[plan.task], "worker": view.names_of(plan.worker), "gain_bits": plan.gain},
        index=plan.task,
    )
    tasks = np.unique(plan.task)
    words = (
        f"{plural(len(plan.task), 'label')} for {plural(len(tasks), view.dataset.task_noun)}, of whose labels about "
        f"{plan.wrong[tasks].sum():,.0f} are wrong now; of all that may be labelled {np.nansum(plan.wrong):,.0f} are."
    )
    doubt = acting_together(view, plan) if flagged else left_out(view, workers)
    short = f"No more than {plural(len(plan.task), 'label')} can be asked for." if len(plan.task) < budget else ""
    model = f"{MODEL} {WHOLE}" if view.dataset.kind.sequential else MODEL
    notes = tuple(note for note in (words, doubt, short, _known_in_words(view), model) if note)
    return Exhibit("next-labels", "Next labels", None, with_words(view.dataset, table), notes, click=view.to_task)


def left_out(view: View, workers: tuple[str, ...] = ()) -> str:
    """Sentence about available workers who get no task, with reasons; empty without any."""
    judged, available = workers_judged(view), np.isin(view.workers, workers or view.workers)
    why = {
        "no knowledge": judged.verdict == "remove",
        "copying": judged.together,
        "worse than before": judged.drifts,
    }
    named, words = ~available, []
    for reason, flagged in why.items():
        if (new := flagged & ~named).any():
            words.append(f"{listed(sorted(view.names_of(np.flatnonzero(new))))} ({reason})")
        named = named | flagged
    n = int((judged.accused & available).sum())
    return f"{plural(n, 'available worker')} flagged on Home get no tasks: {'; '.join(words)}." if n else ""


def acting_together(view: View, plan: NextLabels) -> str:
    """Warn of planned labels by workers who act together; empty without any."""
    chosen = np.unique(plan.worker[workers_judged(view).together[plan.worker]])
    if not len(chosen):
        return ""
    names = listed(sorted(view.names_of(chosen)))
    return (
        f"{names} {'acts' if len(chosen) == 1 else 'act'} with others, as Home says: labels that confirm each "
        "other give less information than is expected here."
    )


@cached
def _plan(
    view: View,
    budget: int,
    capacity: int,
    explore: float,
    workers: tuple[str, ...],
    flagged: bool,
    true: str | None,
    given: str | None,
) -> NextLabels:
    chosen = np.isin(np.arange(len(view.workers)), [view.worker_number(name) for name in workers or view.workers])
    if not flagged:
        chosen &= ~workers_judged(view).accused
    ids = None if chosen.all() else [str(name) for name in view.dataset.worker_ids[chosen]]
    settled = _settled(view)
    if true or given:
        settled = settled | ~np.isin(np.arange(view.dataset.n_tasks), tasks(view, "all", true, given).table.index)
    return analysis.next_labels(
        view.dataset,
        budget,
        workers=ids,
        capacity=capacity or None,
        explore=explore,
        beliefs=tasks_judged(view).posterior,
        settled=settled,
    )


def _settled(view: View) -> BoolArray:
    """(n_tasks,) tasks with known gold; none if all have gold, which then judges the next labels."""
    known = view.dataset.gold >= 0
    return known & bool((view.dataset.annotated & ~known).any())


def _known_in_words(view: View) -> str:
    noun, known, settled = view.dataset.task_noun, (view.dataset.gold >= 0).sum(), _settled(view).sum()
    if not known:
        return ""
    if settled:
        return f"No label is asked for the {settled:,} {noun}s whose gold is known."
    return f"Gold is known of every labelled {noun}, and is not used: labels are asked for as if it were not."
