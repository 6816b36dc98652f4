"""Scores of an aggregation result on gold labels it has not seen, with warnings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis.evaluation.calibration import calibration
from crowdcore.analysis.labels.label_disagreement import judging_gold, mcnemar, p_in_words
from crowdcore.analysis.labels.votes import majority_labels, sparse_votes
from crowdcore.core.errors import SettingError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.report import plural

NAN = float("nan")


@dataclass(frozen=True)
class Judgement:
    """Scores and warnings of one result; NaN without gold.

    Attributes:
        n_judged: tasks with a label and gold.
        accuracy: share of these whose label is the gold one.
        majority_accuracy: the same of the majority vote (ties to the lowest class) on the same tasks.
        gained: judged tasks that only this result has right, not the majority vote.
        lost: judged tasks that only the majority vote has right.
        p_value: McNemar's exact test that gains and losses are equally frequent.
        calibration_error: expected calibration error of the posterior.
        warnings: sentences, those of the method first.
        reference: what accuracies rest on.
    """

    n_judged: int
    accuracy: float
    majority_accuracy: float
    gained: int
    lost: int
    p_value: float
    calibration_error: float
    warnings: tuple[str, ...]
    reference: str = "gold"


def judge(dataset: CrowdDataset, result: AggregationResult, gold: IntArray | None = None) -> Judgement:
    """Score a result and list its warnings.

    Args:
        dataset: the annotations it was fitted to.
        result: what was found.
        gold: (n_tasks,) classes to judge by, -1 = do not judge; default is the gold of the annotated tasks.
            Leave out the tasks that were clamped: their accuracy was given away.

    Raises:
        SettingError: a result or gold of another length.
    """
    if result.labels.shape != (dataset.n_tasks,):
        raise SettingError("result", f"label {dataset.n_tasks} tasks", len(result.labels))
    truth = judging_gold(dataset, gold)
    votes = majority_labels(sparse_votes(dataset))
    judged = (truth >= 0) & (result.labels >= 0) & (votes >= 0)
    right, voted = (labels[judged] == truth[judged] for labels in (result.labels, votes))
    gained, lost = int((right & ~voted).sum()), int((voted & ~right).sum())
    some = bool(judged.any())
    p_value = float(mcnemar(np.array(gained), np.array(lost)))
    accuracy, majority = (float(right.mean()), float(voted.mean())) if some else (NAN, NAN)
    warnings = [*result.notes]
    if result.converged is False:
        warnings.append(f"It has not converged: {result.stopped}. Its numbers may still move.")
    if lost > gained:
        warnings.append(_loses(accuracy, majority, gained, lost, p_value))
    return Judgement(
        n_judged=int(judged.sum()),
        accuracy=accuracy,
        majority_accuracy=majority,
        gained=gained,
        lost=lost,
        p_value=p_value,
        calibration_error=calibration(result, np.where(judged, truth, -1)).error if some else NAN,
        warnings=tuple(warnings),
    )


def show_gold(dataset: CrowdDataset, percent: float, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Share out gold: some of the training tasks' is shown to an aggregator, and the rest judges it.

    Args:
        dataset: annotated tasks with gold, of the training split or of none, may be shown.
        percent: of these, 0 to 100; the tasks shown at a smaller percentage are among those of a larger one.
        seed: of the choice.

    Returns:
        ``known`` and ``judging``, both (n_tasks,) int32 with -1 elsewhere; no task has both.

    Raises:
        SettingError: no percentage.
    """
    if not 0 <= percent <= 100:
        raise SettingError("percent", "lie between 0 and 100", percent)
    open_to_show = np.flatnonzero(dataset.annotated & (dataset.gold >= 0) & (dataset.split <= SPLITS.index("train")))
    n = round(len(open_to_show) * percent / 100)
    shown = np.random.default_rng(seed).permutation(open_to_show)[:n]
    known = np.full(dataset.n_tasks, -1, np.int32)
    known[shown] = dataset.gold[shown]
    judging = np.where(dataset.annotated, dataset.gold, -1).astype(np.int32)
    judging[shown] = -1
    return known, judging


def _loses(accuracy: float, majority: float, gained: int, lost: int, p_value: float) -> str:
    surely = "" if p_value <= 0.05 else ", which chance can explain"
    return (
        f"It loses to majority vote: {100 * accuracy:.1f} % right against {100 * majority:.1f} %. "
        f"It gains {plural(gained, 'task')} and loses {lost} (McNemar {p_in_words(p_value)}{surely})."
    )
