"""What a run recovered, read from its result: the arrays that the pages on confusions and on ω show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import kept
from dashboard.services.annotators import confusion
from dashboard.services.runs import result
from dashboard.services.train import about_method, learners

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.analysis import RecoveredConfusion, SkillComparison
    from crowdcore.core.types import FloatArray
    from crowdcore.learning.result import TrainingResult

__all__ = ["epochs_in_words", "has_confusions", "recovered", "recovering", "seed_names", "skill_comparison"]


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [name for name in learners() if part in about_method(name)["recovers"]]


def has_confusions(found: TrainingResult) -> bool:
    """Whether there is any confusion to show."""
    return found.worker_confusion is not None or found.common_confusion is not None


def seed_names(run_id: str) -> dict[str, str]:
    """What can be shown of a run's seeds: their mean (key "") and each by itself."""
    seeds = result(run_id).seeds
    mean = {"": f"Mean of {len(seeds)} seeds"} if len(seeds) > 1 else {}
    return mean | {str(seed): f"Seed {seed}" for seed in seeds}


def seed_of(run_id: str, seed: str) -> int | None:
    """The seed that a key of `seed_names` stands for; None is the mean, also where the run lacks that seed."""
    return next((s for s in result(run_id).seeds if str(s) == seed), None)


def epochs_in_words(run_id: str, seed: str) -> str:
    """Which epochs the model is from."""
    found, one = result(run_id), seed_of(run_id, seed)
    epochs = [int(e) for e, s in zip(found.selected_epoch, found.seeds, strict=True) if one is None or s == one]
    last = int(found.last_epoch.max())
    listed = ", ".join(map(str, epochs)) if len(epochs) <= 10 else f"{min(epochs)} to {max(epochs)}"
    words = f"From the selected epoch{'s' if len(epochs) > 1 else ''} {listed} of {last}."
    if last >= 20 and max(epochs) <= last / 10:
        words += " That early, matrices and ω are still close to where the method starts."
    return words


@kept
def recovered(opened: CrowdDataset, run_id: str, seed: str) -> RecoveredConfusion:
    """The workers' confusions and what sums them up; a method with one confusion for all gives it to each."""
    from crowdcore import analysis

    found = result(run_id)
    return analysis.recovered_confusion(
        opened,
        _own(found, opened),
        found.common_confusion,
        found.omega,
        found.group,
        seeds=found.seeds,
        seed=seed_of(run_id, seed),
    )


@kept
def skill_comparison(opened: CrowdDataset, which: str, run_id: str, seed: str) -> SkillComparison:
    """Learnt skills against those that the labels show."""
    from crowdcore import analysis

    found = result(run_id)
    return analysis.skill_comparison(
        confusion(opened, which), _own(found, opened), seeds=found.seeds, seed=seed_of(run_id, seed)
    )


def _own(found: TrainingResult, opened: CrowdDataset) -> FloatArray:
    """(S, R, C, C) confusions of the workers."""
    if found.worker_confusion is not None:
        return found.worker_confusion
    assert found.common_confusion is not None, "asked for confusions of a run without"
    common = found.common_confusion[:, None]
    return np.broadcast_to(common, (len(common), opened.n_workers, *common.shape[2:]))
