"""Recovery study: train methods on crowds with known confusions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.data import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning.recovery.measures import Learnt, assembled, bounds, facts, judge, learnt_of, spelled, summary
from crowdcore.learning.recovery.plan import Candidate, Point, RecoveryPlan, plant
from crowdcore.learning.training.events import EpochEvent, Event
from crowdcore.learning.training.inputs import with_inputs


@dataclass(frozen=True, eq=False)
class Trained:
    """A method on a crowd of a study.

    Args:
        point: what sets the crowd apart.
        crowd: number of the crowd at that point.
        candidate: the method.
        learnt: its matrices.
    """

    point: Point
    crowd: int
    candidate: Candidate
    learnt: Learnt


@dataclass(frozen=True, eq=False)
class RecoveryStudy:
    """Results of a plan.

    Args:
        plan: what was planted and trained.
        table: one row per point, method, crowd and seed: what varied, ``crowd``, ``method``, ``seed``,
            `recovery_measures.MEASURES` and ``seconds``; rows without a seed are the bounds "identity" and "counted
            with gold".
        crowds: one row per point and crowd: what varied, ``crowd``, shares of right labels and of right majority votes,
            how many classes are mostly labelled otherwise, and how many annotations there are.
        trained: matrices of every method on every crowd.
        notes: what went wrong or was left out, one sentence each.
        stopped: whether it was stopped before its end.
    """

    plan: RecoveryPlan
    table: pd.DataFrame
    crowds: pd.DataFrame
    trained: tuple[Trained, ...]
    notes: tuple[str, ...] = ()
    stopped: bool = False

    def summary(self) -> pd.DataFrame:
        """One row per point and method: mean and standard deviation over crowds and seeds."""
        return summary(self.table, list(spelled(self.plan.over)))


def study_recovery(
    plan: RecoveryPlan,
    *,
    device: str = "auto",
    on_progress: Callable[[float, str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RecoveryStudy:
    """Plant every crowd of a plan, train every method on it, and compare with the truth.

    A method whose training diverges is a note, not the end.

    Args:
        plan: with at least one method.
        device: where to train.
        on_progress: called with the share done, 0…1, and what goes on.
        should_stop: asked after every epoch; what has ended by then is kept.

    Raises:
        CrowdError: the plan cannot be carried out; all settings are looked at before anything is trained.

    Examples:
        >>> plan = RecoveryPlan(
        ...     settings={"n_tasks": 300, "n_valid": 50, "n_test": 50},
        ...     methods=[{"method": "crowd-layer"}],
        ...     training={"epochs": 2},
        ... )
        >>> list(study_recovery(plan, device="cpu").summary()["method"])
        ['crowd-layer', 'identity', 'counted with gold']
    """
    from crowdcore.learning import train  # first: it says what to install where torch is missing
    from crowdcore.learning.training.loop import DivergedError

    _check(plan)
    tell, stop = on_progress or (lambda share, words: None), should_stop or (lambda: False)
    cells = [(point, k) for point in plan.points() for k in range(plan.crowds)]
    rows: list[pd.DataFrame] = []
    crowds: list[dict[str, Any]] = []
    trained: list[Trained] = []
    notes: list[str] = []
    for n, (point, k, candidate) in enumerate((*cell, candidate) for cell in cells for candidate in plan.methods):
        if stop():
            break
        head = {**spelled(point.varied), "crowd": k}
        if candidate is plan.methods[0]:
            planted = _of_classes(plant(plan, point, k))
            crowd = with_inputs(planted, plan.accept)
            notes += [note for note in crowd.notes[len(planted.notes) :] if note not in notes]
            crowds.append(head | facts(crowd))
            rows.append(bounds(crowd).assign(**head))
        words = " · ".join(filter(None, [candidate.name, point.words]))

        def listen(event: Event, n: int = n, words: str = words) -> None:
            if isinstance(event, EpochEvent):
                tell((n + event.done) / (len(cells) * len(plan.methods)), words)

        settings, start = {**plan.training, **candidate.settings}, time.perf_counter()
        try:
            result = train(
                crowd,
                candidate.method,
                seeds=plan.seeds,
                device=device,
                on_event=listen,
                should_stop=stop,
                **settings,
            )
        except DivergedError as error:
            notes.append(f"{words}: {error}")
            continue
        if stop():
            break
        seconds = (time.perf_counter() - start) / plan.seeds
        rows.append(judge(result, crowd).assign(method=candidate.name, seconds=seconds, **head))
        trained.append(Trained(point, k, candidate, learnt_of(result, crowd)))
    if not rows:
        raise DataError("The study was stopped before the first crowd was simulated", "Let it run longer.")
    table = assembled(rows, list(spelled(plan.over)))
    return RecoveryStudy(plan, table, pd.DataFrame(crowds), tuple(trained), tuple(notes), stop())


def _of_classes(crowd: Labelled) -> CrowdDataset:
    if isinstance(crowd, CrowdDataset):
        return crowd
    raise DataError(
        f"The labels of {crowd.name} are numbers, and a study compares confusions of classes or tags",
        "Leave the methods out to see which aggregators recover what.",
    )


def _check(plan: RecoveryPlan) -> None:
    """Check all settings before training starts."""
    from crowdcore.learning import methods, split_settings

    if not plan.methods:
        raise DataError("There is no method to train", "Name at least one.")
    for candidate in plan.methods:
        split_settings(methods.get(candidate.method), {**plan.training, **candidate.settings})
    for point in plan.points():
        plan.simulator(point)
