"""Tasks whose class, by a run, is one that no worker gave: the labels to look at first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore.analysis.labels.disagreement import task_disagreement
from crowdcore.core.types import FloatArray
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.recovered import RunView


def contradicted_tasks(view: RunView) -> Exhibit:
    """Tasks whose most probable class by the run is a label of none of their workers, the surest first.

    Probabilities are the posterior ``q`` of the training tasks where the run has one, else the predictions for all
    annotated tasks; of the seed that is shown, or the mean over seeds. Index = task number; a click chooses a task.
    """
    dataset, (tasks, probabilities) = view.dataset, _probabilities(view)
    found = probabilities.argmax(1)
    key = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    labelled = dataset.annotated[tasks]
    contradicted = labelled & ~np.isin(tasks * dataset.n_classes + found, key)
    rows = np.flatnonzero(contradicted)
    rows = rows[np.argsort(-probabilities[rows, found[rows]], kind="stable")]
    shown, classes = tasks[rows], np.array([*view.classes, "unknown"], object)
    labels = view.of(task_disagreement)
    table = pd.DataFrame(
        {
            "task": dataset.task_ids[shown],
            "class by the run": classes[found[rows]],
            "probability": probabilities[rows, found[rows]],
            "most given": classes[labels.winner[shown]],
            "share": labels.share[shown],
            "annotations": labels.n_annotations[shown],
            view.reference: classes[labels.reference_label[shown]],
        },
        index=shown,
    )
    source = "features and labels together" if view.result.q is not None else "the features alone"
    notes = [
        f"On {len(rows):,} of {int(labelled.sum()):,} annotated tasks, the most probable class by {source} is one that "
        "no worker gave."
    ]
    known = labels.reference_label[shown] >= 0
    if known.any():
        right = int((found[rows] == labels.reference_label[shown])[known].sum())
        voted = int((labels.winner[shown] == labels.reference_label[shown])[known].sum())
        notes.append(
            f"Where {view.reference} knows the class ({int(known.sum()):,} of them), it agrees with the run on "
            f"{right:,} and with the most frequent label on {voted:,}."
        )
    title = f"Tasks on which {view.run_name} contradicts every label"
    return Exhibit(
        "contradicted-tasks", title, None, table, tuple(notes), "", lambda task: {"task": str(dataset.task_ids[task])}
    )


def _probabilities(view: RunView) -> tuple[np.ndarray, FloatArray]:
    """Task numbers (n,), and class probabilities (n, C) of the seed shown or the mean over seeds."""
    result = view.result
    of = result.probabilities["selected"] if result.q is None else result.q
    tasks = result.task[: of.shape[1]].astype(np.int64)
    at = view.shown_seed
    chosen = of.mean(0) if at is None else of[result.seeds.index(at)]
    return tasks, np.asarray(chosen, np.float64)
