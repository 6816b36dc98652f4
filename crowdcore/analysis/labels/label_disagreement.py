"""Where several aggregators disagree, and which of them is right there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtr

from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class LabelDisagreement:
    """M labellings of the same tasks, compared in pairs; NaN where a pair has no task.

    Attributes:
        names: (M,) what each labelling is called.
        compared: (M, M) tasks that both label.
        differ: (M, M) tasks that both label, but not alike.
        share: (M, M) ``differ / compared``.
        n_judged: (M,) tasks with a label and gold.
        accuracy: (M,) share of these whose label is the gold one.
        row_right: (M, M) judged tasks on which the two differ and the row's label is the gold one.
        p_value: (M, M) McNemar's exact test that both are right equally often where they differ.
        reference: what accuracies rest on.
    """

    names: tuple[str, ...]
    compared: IntArray
    differ: IntArray
    share: FloatArray
    n_judged: IntArray
    accuracy: FloatArray
    row_right: IntArray
    p_value: FloatArray
    reference: str = "gold"

    def frame(self) -> pd.DataFrame:
        """One row per pair: how often they differ, and how often either is right there."""
        a, b = np.triu_indices(len(self.names), 1)
        names = np.array(self.names, object)
        return pd.DataFrame(
            {
                "first": names[a],
                "second": names[b],
                "compared": self.compared[a, b],
                "differ": self.differ[a, b],
                "share": self.share[a, b],
                "first_right": self.row_right[a, b],
                "second_right": self.row_right[b, a],
                "p_value": self.p_value[a, b],
            }
        )


def label_disagreement(
    dataset: CrowdDataset, labellings: Mapping[str, ReferenceLike], gold: IntArray | None = None
) -> LabelDisagreement:
    """Compare every pair of labellings task by task, in O(M² N) time and O(M N) memory.

    Args:
        labellings: name -> result, aggregator's name, or reference; ``"gold"`` counts as one too.
        gold: (n_tasks,) classes to judge by, -1 = do not judge; default is the gold of the annotated tasks.
            Leave out the tasks whose gold an aggregator was shown.

    Raises:
        SettingError: no labelling, or one (or gold) of another length.
    """
    if not labellings:
        raise SettingError("labellings", "hold at least one", dict(labellings))
    truth = judging_gold(dataset, gold)
    labels = np.stack([resolve_reference(dataset, which).labels for which in labellings.values()])
    known = labels >= 0
    judged = known & (truth >= 0)
    right = judged & (labels == truth)
    compared, differ, row_right = (np.zeros((len(labels), len(labels)), np.int64) for _ in range(3))
    for a, row in enumerate(labels):
        both = known & known[a]
        unlike = both & (labels != row)
        compared[a], differ[a] = both.sum(1), unlike.sum(1)
        row_right[a] = (unlike & right[a]).sum(1)
    n_judged = judged.sum(1)
    with np.errstate(invalid="ignore"):
        share, accuracy = differ / compared, right.sum(1) / n_judged
    p_value = mcnemar(row_right, row_right.T)
    return LabelDisagreement(tuple(labellings), compared, differ, share, n_judged, accuracy, row_right, p_value)


def mcnemar(only_first: IntArray, only_second: IntArray) -> FloatArray:
    """Exact two-sided p-values of McNemar's test; NaN where the two are never right alone.

    Args:
        only_first: tasks that only the first has right (any shape).
        only_second: tasks that only the second has right (same shape).
    """
    n = np.asarray(only_first) + np.asarray(only_second)
    p = np.minimum(1.0, 2 * bdtr(np.minimum(only_first, only_second), n, 0.5))
    return np.where(n > 0, p, np.nan)


def p_in_words(p_value: float) -> str:
    """``p = 0.024``, or ``p < 1e-9`` where digits would say nothing."""
    return f"p = {p_value:.2g}" if not p_value < _TINY else f"p < {_TINY:g}"


def label_difference(
    dataset: CrowdDataset, first: ReferenceLike, second: ReferenceLike, gold: IntArray | None = None
) -> pd.DataFrame:
    """The tasks that two labellings label differently, the most confident first.

    Args:
        first: a result, an aggregator's name, or a reference.
        second: another one.
        gold: as in `label_disagreement`.

    Returns:
        Index = task number; ``task``, ``first``, ``first_probability``, ``second``, ``second_probability`` (1 where
        a labelling has no probabilities), ``gold`` (class name, "" where not judged), ``annotations``.

    Raises:
        SettingError: a labelling (or gold) of another length.
    """
    truth = judging_gold(dataset, gold)
    pair = [resolve_reference(dataset, which) for which in (first, second)]
    one, other = (labelling.labels for labelling in pair)
    tasks = np.flatnonzero((one >= 0) & (other >= 0) & (one != other))
    sure = [_probability(labelling, tasks) for labelling in pair]
    order = np.lexsort((tasks, -np.maximum(*sure), -np.minimum(*sure)))
    tasks = tasks[order]
    names = np.array([*dataset.classes, ""], object)  # -1 is the last
    return pd.DataFrame(
        {
            "task": dataset.task_ids[tasks],
            "first": names[one[tasks]],
            "first_probability": sure[0][order],
            "second": names[other[tasks]],
            "second_probability": sure[1][order],
            "gold": names[truth[tasks]],
            "annotations": dataset.labels_per_task[tasks],
        },
        index=tasks,
    )


def judging_gold(dataset: CrowdDataset, gold: IntArray | None = None) -> IntArray:
    """(n_tasks,) ``gold``, or that of the annotated tasks; -1 where a task is not judged.

    Raises:
        SettingError: gold of another length.
    """
    if gold is None:
        return np.where(dataset.annotated, dataset.gold, -1)
    if gold.shape != (dataset.n_tasks,):
        raise SettingError("gold", f"have the shape ({dataset.n_tasks},)", gold.shape)
    return gold


def _probability(labelling: Reference, tasks: IntArray) -> FloatArray:
    """(len(tasks),) probability of the labels; 1 for a hard reference."""
    if labelling.posterior is None:
        return np.ones(len(tasks))
    return np.asarray(labelling.posterior[tasks, labelling.labels[tasks]])
