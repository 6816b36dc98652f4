"""Tasks: which to look at, and what the workers said about one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.labels.disagreement import task_disagreement
from crowdcore.analysis.verdicts import SURE
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.exhibits.aggregation import with_difficulty
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import View

if TYPE_CHECKING:
    from crowdcore.analysis import TaskVerdicts

Show: TypeAlias = Literal["all", "disputed", "misled", "agreed-wrong", "unlabelled"]
SHOWS: Mapping[Show, str] = {
    "all": "All annotated tasks",
    "disputed": "Workers disagree",
    "misled": "Most workers contradict the reference",
    "agreed-wrong": "All agree, against the reference",
    "unlabelled": "No annotation",
}
"""Lists of tasks -> words."""
Sort: TypeAlias = Literal["gain", "disputed"]
SORTS: Mapping[Sort, str] = {"gain": "Likeliest wrong label first", "disputed": "The most disputed first"}
"""Orders of tasks -> words."""
_AROUND = 8  # words shown on either side of a token


def tasks_judged(view: View, sure: float = SURE) -> TaskVerdicts:
    """Verdict, label, probability and order of the tasks, shared by all exhibits."""
    return view.of(analysis.task_verdicts, sure=sure, peers=view.of(peer_beliefs))


def tasks(
    view: View,
    show: Show = "all",
    true: str | None = None,
    given: str | None = None,
    worker: str | None = None,
    sort: Sort = "gain",
) -> Exhibit:
    """Tasks that pass all filters, the likeliest wrong label or the most disputed first; index = task number.

    Args:
        show: a key of `SHOWS`.
        true: only tasks of this class.
        given: only tasks with this label.
        worker: only tasks that this worker labelled (with ``given``, if chosen).
        sort: a key of `SORTS`.
    """
    votes, dataset = view.of(task_disagreement), view.dataset
    keep = dataset.annotated.copy()
    if show == "disputed":
        keep &= votes.n_answers > 1
    if show in {"misled", "agreed-wrong"}:
        keep &= (votes.reference_label >= 0) & (votes.winner != votes.reference_label)
    if show == "agreed-wrong":
        keep &= votes.n_answers == 1
    if true is not None:
        keep &= votes.reference_label == view.class_number(true)
    if given is not None or worker is not None:
        keep &= _with_label(
            dataset,
            None if given is None else view.class_number(given),
            None if worker is None else view.worker_number(worker),
        )
    frame = votes.frame(annotated=show != "unlabelled")
    table = frame if show == "unlabelled" else frame[keep[frame.index]].copy(deep=False)
    if sort == "gain" and show != "unlabelled":
        judged = tasks_judged(view)
        table = table.loc[judged.order[np.isin(judged.order, table.index)]]
        table.insert(1, "gain", judged.gain[table.index])
    table = table.assign(**with_difficulty(view, view.truth, table.index.to_numpy()))
    return Exhibit("tasks", SHOWS[show], None, with_words(dataset, table), click=view.to_task)


def with_words(dataset: CrowdDataset, table: pd.DataFrame) -> pd.DataFrame:
    """Add the word of each token beside its id, if tasks are tokens; the table's index is task numbers."""
    if dataset.sentences is None:
        return table
    with_word = table.copy(deep=False)
    with_word.insert(1, "word", dataset.sentences.words[table.index])
    return with_word


def with_context(dataset: CrowdDataset, table: pd.DataFrame) -> pd.DataFrame:
    """Add the words around each token as last column, the token in brackets, if tasks are tokens."""
    sentences = dataset.sentences
    if sentences is None:
        return table
    words, of = sentences.words.tolist(), sentences.of_task[table.index]
    task, begin, end = table.index.to_numpy(), sentences.start[of], sentences.start[of + 1]
    first, last = np.maximum(begin, task - _AROUND), np.minimum(end, task + _AROUND + 1)
    cut_before, cut_after = np.where(first > begin, "… ", ""), np.where(last < end, " …", "")
    return table.assign(
        context=[
            before + " ".join([*words[a:t], f"[{words[t]}]", *words[t + 1 : b]]) + after
            for before, a, t, b, after in zip(cut_before, first, task, last, cut_after, strict=True)
        ]
    )


def sentence_of(dataset: CrowdDataset, task: str) -> tuple[str, str, str]:
    """Words of a sentence before a token, the token, and the words after it; empty if tasks are no tokens."""
    if dataset.sentences is None:
        return "", "", ""
    number, sentences = task_number(dataset, task), dataset.sentences
    first, end = sentences.start[sentences.of_task[number] + np.arange(2)]
    parts = slice(first, number), slice(number, number + 1), slice(number + 1, end)
    before, word, after = (" ".join(sentences.words[part]) for part in parts)
    return before, word, after


def sentences_beside(dataset: CrowdDataset, task: str) -> tuple[str, str]:
    """First tokens of the next tagged sentences before and after that of a token; empty without any.

    Raises:
        DataError: no such task.
    """
    if dataset.sentences is None:
        return "", ""
    number, start = task_number(dataset, task), dataset.sentences.start[:-1]
    first = start[np.logical_or.reduceat(dataset.annotated, start)]
    own = int(dataset.sentences.start[dataset.sentences.of_task[number]])
    beside = first[first < own][-1:], first[first > own][:1]
    before, after = (str(dataset.task_ids[tokens[0]]) if len(tokens) else "" for tokens in beside)
    return before, after


def _with_label(dataset: CrowdDataset, given: int | None, worker: int | None) -> BoolArray:
    """(n_tasks,) tasks with the label ``given`` (or any) by ``worker`` (or anyone)."""
    wanted = np.ones(dataset.n_annotations, bool)
    if given is not None:
        wanted &= dataset.label == given
    if worker is not None:
        wanted &= dataset.worker == worker
    labelled = np.zeros(dataset.n_tasks, bool)
    labelled[dataset.task[wanted]] = True
    return labelled


def task_title(dataset: CrowdDataset, name: str) -> str:
    """Title of a task's page: a token's word, else the task's id.

    Raises:
        DataError: no such task.
    """
    number = task_number(dataset, name)
    return name if dataset.sentences is None else f"{dataset.sentences.words[number]} ({name})"


def task_number(dataset: Labelled, task: str) -> int:
    """Number of a task by its id.

    Raises:
        DataError: no such task.
    """
    matches = np.flatnonzero(dataset.task_ids == task)
    if not len(matches):
        remedy = f"Tasks are called {', '.join(dataset.task_ids[:3])} …"
        raise DataError(f"{dataset.name} has no task {task!r}", remedy)
    return int(matches[0])


def task(view: View, task: str) -> Exhibit:
    """One task in a row: its class by the reference, the most frequent label, and the disagreement."""
    votes, number = view.of(task_disagreement), task_number(view.dataset, task)
    names = (*view.classes, "unknown")
    row = {
        "task": task,
        view.reference: names[votes.reference_label[number]],
        "most given": names[votes.winner[number]] if votes.n_annotations[number] else "–",
        "wrong": votes.wrong[number],
        "entropy": votes.entropy[number],
        "annotations": votes.n_annotations[number],
    }
    row |= {name: of[0] for name, of in with_difficulty(view, view.truth, np.array([number])).items()}
    return Exhibit("task", task, None, pd.DataFrame([row], index=[number]))


def task_labels(view: View, task: str) -> Exhibit:
    """Labels of all workers on one task; index = worker number."""
    dataset, number = view.dataset, task_number(view.dataset, task)
    rows = slice(dataset.task_start[number], dataset.task_start[number + 1])
    worker, label = dataset.worker[rows], dataset.label[rows]
    truth = view.of(task_disagreement).reference_label[number]
    table = pd.DataFrame(
        {"worker": view.names_of(worker), "label": np.array(view.classes, object)[label]}, index=worker
    )
    if truth >= 0:
        table[f"agrees with {view.reference}"] = label == truth
    if dataset.file_row is not None:
        table["row of the file"] = dataset.file_row[rows]
    if view.extra is not None:
        beside = view.extra.iloc[rows].set_axis(worker)
        zoned = list(beside.select_dtypes("datetimetz"))  # as text, as pandas will change how pyarrow reads them
        table = pd.concat([table, beside.astype(dict.fromkeys(zoned, "str"))], axis=1)
    return Exhibit(f"{task}-labels", f"Labels of {task}", None, table)


def task_answers(view: View, task: str) -> Exhibit:
    """Classes in question for one task: their shares of the labels, and their probabilities by the reference."""
    dataset, truth, number = view.dataset, view.truth, task_number(view.dataset, task)
    rows = slice(dataset.task_start[number], dataset.task_start[number + 1])
    votes = np.bincount(dataset.label[rows], minlength=dataset.n_classes)
    if not truth.checked and dataset.annotated[number]:
        belief = tasks_judged(view).posterior[number]
    else:
        belief = (np.arange(dataset.n_classes) == truth.labels[number]).astype(float)
    shown = np.flatnonzero((votes > 0) | (belief >= 0.01))
    shown = shown[np.lexsort((shown, -np.nan_to_num(belief[shown]), -votes[shown]))]
    table = pd.DataFrame(
        {
            "class": np.array(view.classes, object)[shown],
            "labels": votes[shown],
            "share of labels": votes[shown] / max(votes.sum(), 1),
            view.reference: belief[shown],
        },
        index=shown,
    )
    return Exhibit(f"{task}-answers", f"Classes in question for {task}", None, table)
