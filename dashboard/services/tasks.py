"""Tasks: which to look at, and what the workers said about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.datasets import reference, workers

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore import CrowdDataset
    from crowdcore.analysis.labels.task_disagreement import TaskDisagreement
    from crowdcore.core.types import BoolArray

__all__ = ["SHOWS", "disagreement", "task_answers", "task_labels", "task_list", "task_number"]

SHOWS = {
    "all": "All annotated tasks",
    "disputed": "Workers disagree",
    "misled": "Most workers contradict the reference",
    "agreed-wrong": "All agree, against the reference",
    "unlabelled": "No annotation",
}


@kept
def disagreement(opened: CrowdDataset, which: str) -> TaskDisagreement:
    """How the labels of every task spread."""
    from crowdcore.analysis.labels.task_disagreement import task_disagreement

    return task_disagreement(opened, reference(opened, which))


def task_list(
    name: str, which: str, show: str, true: int | None, given: int | None, worker: int | None
) -> pd.DataFrame:
    """Tasks that pass all filters, the most disputed first; index = task number."""
    found, opened = disagreement(name, which), dataset(name)
    if show == "unlabelled":
        return found.frame(annotated=False)
    keep = opened.annotated.copy()
    if show == "disputed":
        keep &= found.n_answers > 1
    if show in {"misled", "agreed-wrong"}:
        keep &= (found.reference_label >= 0) & (found.winner != found.reference_label)
    if show == "agreed-wrong":
        keep &= found.n_answers == 1
    if true is not None:
        keep &= found.reference_label == true
    if given is not None or worker is not None:
        keep &= _with_label(opened, given, worker)
    frame = found.frame()
    return frame[keep[frame.index]]


def _with_label(opened: CrowdDataset, given: int | None, worker: int | None) -> BoolArray:
    """(n_tasks,) tasks that got the label ``given`` (or any) from ``worker`` (or anyone)."""
    wanted = np.ones(opened.n_annotations, bool)
    if given is not None:
        wanted &= opened.label == given
    if worker is not None:
        wanted &= opened.worker == worker
    found = np.zeros(opened.n_tasks, bool)
    found[opened.task[wanted]] = True
    return found


def task_number(name: str, task: str) -> int | None:
    """The number of a task id, or None."""
    ids = dataset(name).task_ids
    return int(np.flatnonzero(ids == task)[0]) if task in ids else None


def task_labels(name: str, which: str, task: int, hidden: bool) -> pd.DataFrame:
    """What each worker said about one task; index = worker number."""
    import pandas as pd

    opened = dataset(name)
    rows = slice(opened.task_start[task], opened.task_start[task + 1])
    who, said = opened.worker[rows], opened.label[rows]
    called = workers(name, hidden)
    truth = disagreement(name, which).reference_label[task]
    names = np.array(opened.classes, dtype=object)
    frame = pd.DataFrame({"worker": [called[w] for w in who], "label": names[said]}, index=who)
    if truth >= 0:
        frame[f"agrees with {which}"] = said == truth
    if opened.extra is not None:
        frame = pd.concat([frame, opened.extra.iloc[rows].set_axis(who)], axis=1)
    return frame


def task_answers(name: str, which: str, task: int) -> pd.DataFrame:
    """The classes in question for one task: share of the labels, and what the reference believes."""
    import pandas as pd

    opened, truth = dataset(name), reference(name, which)
    rows = slice(opened.task_start[task], opened.task_start[task + 1])
    votes = np.bincount(opened.label[rows], minlength=opened.n_classes)
    if truth.posterior is not None:
        belief = truth.posterior[task]
    else:
        belief = (np.arange(opened.n_classes) == truth.labels[task]).astype(float)
    shown = np.flatnonzero((votes > 0) | (belief >= 0.01))
    shown = shown[np.lexsort((shown, -np.nan_to_num(belief[shown]), -votes[shown]))]
    return pd.DataFrame(
        {
            "class": np.array(opened.classes, dtype=object)[shown],
            "labels": votes[shown],
            "share of labels": votes[shown] / max(votes.sum(), 1),
            which: belief[shown],
        },
        index=shown,
    )
