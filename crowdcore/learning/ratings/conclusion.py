"""From trained replicas on ratings to their `RatingsResult`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.ratings.problem import RatingProblem
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.schedule import Session, shared_parts
from crowdcore.learning.training.trainer import Outcome


def conclude_ratings(
    problem: RatingProblem,
    method: type[CrowdMethod],
    training: TrainSettings,
    settings: Settings,
    trained: Sequence[tuple[Replica, Outcome]],
    session: Session,
) -> RatingsResult:
    """Combine trained replicas into one result, in the dataset's unit."""
    low, unit = problem.dataset.low, problem.unit
    outcome = Outcome.join([one for _, one in trained])
    train, mu = problem.splits["train"], {at: p.astype(np.float64) for at, p in outcome.predicted.items()}
    return RatingsResult(
        **shared_parts(problem, method, training, settings, trained, outcome, session),
        low=low,
        high=problem.dataset.high,
        seeds=tuple(replica.seed for replica, _ in trained),
        gold=problem.dataset.gold[problem.order],
        predictions={at: low + unit * of for at, of in mu.items()},
        workers={at: _in_unit(parts, mu[at][:, train], unit) for at, parts in outcome.recovered.items()},
        notes=(*problem.notes, *session.notes),
    )


def _in_unit(parts: dict[str, AnyArray], mu: FloatArray, unit: float) -> dict[str, AnyArray]:
    """What is known of the workers, (S, R) each, in the dataset's unit.

    ``bias`` is how far a worker's ratings lie above the network's on average over the training tasks,
    ``mean (f^r(μ_i) - μ_i)``; for the connection b it is ``b^r``.
    """
    found = {name: value for name, value in parts.items() if name == "weight"}
    if "bias" in parts:
        mean = mu.mean(1, keepdims=True)
        found["bias"] = unit * ((parts["scale"] - 1) * mean + parts["bias"])
        found["scale"] = parts["scale"]
    if "precision" in parts:
        found["noise"] = unit / np.sqrt(parts["precision"])
    return found
