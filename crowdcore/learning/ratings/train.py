"""`train_ratings`: from a crowd of ratings to a network that predicts them and what it found about the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.api import seed_numbers, split_settings
from crowdcore.learning.ratings import methods
from crowdcore.learning.ratings.problem import RatingProblem, rating_problem
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.settings import SEEDS, TrainSettings
from crowdcore.learning.training.device import numeric_kernels, resolve_device
from crowdcore.learning.training.events import Listener, NoteEvent
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.schedule import Job, Session, run_jobs, versions
from crowdcore.learning.training.trainer import Outcome


def train_ratings(
    dataset: RatingDataset,
    method: str = "crowd-layer",
    *,
    seeds: int | Sequence[int] = SEEDS,
    device: str = "auto",
    on_event: Listener | None = None,
    should_stop: Callable[[], bool] | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: int = 10,
    **settings: Any,
) -> RatingsResult:
    """Train a network that predicts ratings, all seeds side by side.

    Args:
        dataset: tasks with features; ratings on the training tasks.
        method: crowd-layer (``connection="s"``, ``"b"`` or ``"s+b"``), dl-em, dl-mean, dl-true, doctor-net or wdn.
        seeds: how many replicas (seeds 0, 1, …), or which seeds.
        device: "auto", "cpu", "cuda", "cuda:1".
        on_event: called with an `EpochEvent` after every epoch, with a `NoteEvent` when something should be known.
        should_stop: asked after every epoch, and before going on from a checkpoint; True ends the run there, with the
            result so far.
        checkpoint: a folder to keep the state in; when it holds one of the same run, training goes on from there.
        checkpoint_every: epochs between two checkpoints.
        settings: fields of `TrainSettings` (epochs, batch_size, lr, backbone, …) and of the method's own settings.

    Returns:
        Errors of every epoch, predictions, and the workers' biases, scales or precisions as far as the method has them.

    Raises:
        SettingError: unknown method or setting, a value out of bounds, a device that is not here.
        DataError: no features or ratings, too few tasks, nothing to validate on.
        DivergedError: a loss became NaN or enormous.
    """
    cls = methods.find(method)
    training, own = split_settings(cls, settings)
    kept = None if checkpoint is None else (Path(checkpoint), checkpoint_every)
    listen, stop = on_event or (lambda event: None), should_stop or (lambda: False)
    session = Session(dataset, cls, resolve_device(device), listen, stop, kept)
    problem = rating_problem(dataset, training)
    for note in problem.notes:
        session.listen(NoteEvent(note))
    jobs = [Job(training, Replica(own, seed), 0) for seed in seed_numbers(seeds)]
    with numeric_kernels(training.deterministic):
        trained = run_jobs(session, jobs, lambda training: problem)
    return _conclude(problem, training, own, trained, session)


def _conclude(
    problem: RatingProblem,
    training: TrainSettings,
    own: Settings,
    trained: Sequence[tuple[Job, Outcome]],
    session: Session,
) -> RatingsResult:
    dataset, low, unit = problem.dataset, problem.dataset.low, problem.unit
    outcome = Outcome.join([one for _, one in trained])
    train, mu = problem.splits["train"], {at: p.astype(np.float64) for at, p in outcome.predicted.items()}
    split = np.concatenate([np.full(s.stop - s.start, k, np.int8) for k, s in enumerate(problem.splits.values())])
    seconds = float(outcome.seconds.sum())
    work = problem.n_train_annotations * int((outcome.last_epoch + 1).sum())
    return RatingsResult(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        method=session.method.name,
        settings=own.model_dump(),
        training=session.used(training).model_dump(),
        seeds=tuple(job.replica.seed for job, _ in trained),
        low=low,
        high=dataset.high,
        task=problem.order,
        split=split,
        gold=dataset.gold[problem.order],
        validated_on=problem.validated_on,
        curves=outcome.history,
        selected_epoch=outcome.selected_epoch + 1,
        last_epoch=outcome.last_epoch + 1,
        predictions={at: low + unit * of for at, of in mu.items()},
        workers={at: _in_unit(parts, mu[at][:, train], unit) for at, parts in outcome.recovered.items()},
        model=outcome.model,
        seconds=seconds,
        annotations_per_second=work / seconds,
        device=session.device_name,
        versions=versions(),
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
