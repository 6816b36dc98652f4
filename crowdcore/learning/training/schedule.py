"""Schedule of replicas: in parallel or in sequence, with a fallback when memory is full."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.ratings import Labelled
from crowdcore.learning import backbones
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.checkpoint import GENERATIONS, Checkpoint
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.device import is_out_of_memory
from crowdcore.learning.training.events import EpochEvent, Listener, NoteEvent
from crowdcore.learning.training.first_stage import first_stage_epochs
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.outcome import Outcome
from crowdcore.learning.training.pace import Pace
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.training.trainer import train_stack

_CPU_STACK = 256  # tasks per step up to which stacking pays on a CPU (measured: benchmarks/learning_speed.py)


@dataclass(frozen=True)
class Job:
    """One replica to train, for the combination of settings number ``point``."""

    training: TrainSettings
    replica: Replica
    point: int


@dataclass
class Session:
    """What the jobs of one call share.

    Args:
        dataset: what is learnt from.
        method: by what.
        device: where.
        listen: gets the events.
        should_stop: asked after every epoch.
        checkpoint: folder and epochs between writes, or None.
    """

    dataset: Labelled
    method: type[CrowdMethod]
    device: torch.device
    listen: Listener
    should_stop: Callable[[], bool]
    checkpoint: tuple[Path, int] | None
    notes: list[str] = field(default_factory=list)
    stopped: bool = False
    batch_size: int | None = None
    done: float = 0.0
    pace: Pace = field(default_factory=Pace)

    @property
    def device_name(self) -> str:
        """The device in words."""
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"

    def stopping(self) -> bool:
        """Whether the run ends here: what has begun comes to its end, what has not is left out."""
        return self.stopped or self.should_stop()

    def note(self, message: str) -> None:
        """Record and tell."""
        self.notes.append(message)
        self.listen(NoteEvent(message))

    def used(self, training: TrainSettings) -> TrainSettings:
        """The settings with the batch size that memory allowed."""
        smaller = self.batch_size is not None and self.batch_size < training.batch_size
        return training.model_copy(update={"batch_size": self.batch_size}) if smaller else training


def run_jobs(
    session: Session, jobs: Sequence[Job], problem_of: Callable[[TrainSettings], Problem]
) -> list[tuple[Job, Outcome]]:
    """Train all jobs; those that may share a pass do. Fewer come back when the run was asked to stop."""
    jobs = [candidate for job in jobs for candidate in _candidates(job)]
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(_group_key(session.method, job), []).append(job)
    results: dict[int, tuple[Job, Outcome]] = {}
    for g, group in enumerate(groups.values()):
        problem = problem_of(group[0].training)
        targets = session.method.targets(problem, group[0].replica.settings)
        for job, outcome in _run_group(session, g, group, problem, targets, len(jobs)):
            results[jobs.index(job)] = job, outcome
    if len(results) < len(jobs):
        session.note(f"Stopped on request: {len(jobs) - len(results)} of {len(jobs)} replicas were not trained.")
    return [results[k] for k in sorted(results)]


def _candidates(job: Job) -> list[Job]:
    """The job itself, or with ``start="best-of"`` one for every start that is tried."""
    settings: Any = job.replica.settings
    if getattr(settings, "start", "") != "best-of":
        return [job]
    tried = [settings.model_copy(update={"start": start}) for start in settings.candidates]
    return [replace(job, replica=replace(job.replica, settings=own)) for own in tried]


def _group_key(method: type[CrowdMethod], job: Job) -> str:
    """Jobs with the same key differ in swept settings and seeds only."""
    swept = {
        name
        for name, info in method.Settings.model_fields.items()
        if isinstance(info.json_schema_extra, dict) and info.json_schema_extra.get("swept")
    }
    return job.training.model_dump_json() + job.replica.settings.model_dump_json(exclude=swept)


def _stack_size(session: Session, training: TrainSettings, problem: Problem, n: int) -> int:
    own_backbone = ":" in training.backbone
    can = session.method.stackable and (own_backbone or not backbones.fills_device(training.backbone))
    if training.stack == "all" and not can:
        raise SettingError("stack", f"be 'auto' or 'none' for {session.method.name} on {training.backbone}", "all")
    if training.stack == "none" or not can:
        return 1
    if training.stack == "all":
        return n
    small = min(training.batch_size, problem.n_train) <= _CPU_STACK
    return n if not own_backbone and (session.device.type == "cuda" or small) else 1


def _run_group(
    session: Session, number: int, group: list[Job], problem: Problem, targets: AnyArray | None, n_jobs: int
) -> list[tuple[Job, Outcome]]:
    size = _stack_size(session, group[0].training, problem, len(group))
    resident = {"auto": None, "device": True, "stream": False}[group[0].training.feed]
    while True:
        training = session.used(group[0].training)
        done = session.done
        try:
            data = Data(problem, session.device, resident, targets)
            return _run_stacks(session, f"{number}", group, size, training, data, n_jobs)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        session.done = done
        if session.device.type == "cuda":
            torch.cuda.empty_cache()
        if size > 1:
            size = (size + 1) // 2
            session.note(f"Memory was full: {size} replicas train side by side instead (results do not change).")
        elif min(training.batch_size, problem.n_train) > 1:
            session.batch_size = min(training.batch_size, problem.n_train) // 2
            session.note(f"Memory was full: training restarts with batches of {session.batch_size} tasks.")
        else:
            raise CrowdError(
                f"There is not enough memory on {session.device_name} for a step of one task. Choose a smaller "
                "backbone, or another device."
            )


def _run_stacks(
    session: Session, name: str, group: list[Job], size: int, training: TrainSettings, data: Data, n_jobs: int
) -> list[tuple[Job, Outcome]]:
    results: list[tuple[Job, Outcome]] = []
    for first in range(0, len(group), size):
        jobs = group[first : first + size]
        stack = [job.replica for job in jobs]
        listener = _listener(session, jobs, training, data.problem, n_jobs)
        checkpoint = _checkpoint(session, f"{name}-{first}", stack, training, data.problem)
        begun = checkpoint is not None and any(checkpoint.folder.rglob(GENERATIONS))
        if session.done and not begun and session.stopping():
            break
        outcome = train_stack(data, session.method, stack, training, listener, checkpoint, session.stopping)
        session.done += len(jobs) / n_jobs
        results += [(job, outcome.replica(s)) for s, job in enumerate(jobs)]
    return results


def _listener(
    session: Session, jobs: Sequence[Job], training: TrainSettings, problem: Problem, n_jobs: int
) -> Callable[[int, dict[str, FloatArray], float], bool]:
    seeds = tuple(job.replica.seed for job in jobs)
    ahead = max(first_stage_epochs(job.replica.settings, training) for job in jobs)

    def on_epoch(epoch: int, metrics: dict[str, FloatArray], seconds: float) -> bool:
        step = len(jobs) / n_jobs / (training.epochs + ahead)
        done = session.done + step * (epoch + 1 + ahead)
        speed = problem.n_train_annotations * len(jobs) / max(seconds, 1e-9)
        remaining = session.pace.remaining(done, step)
        now, first = max(epoch + 1, 0), (epoch + 1 + ahead, ahead) if epoch < 0 else None
        name, epochs = session.method.name, training.epochs
        session.listen(EpochEvent(name, seeds, now, epochs, metrics, seconds, speed, done, remaining, first))
        session.stopped = session.stopping()
        return session.stopped

    return on_epoch


def _checkpoint(
    session: Session, name: str, stack: Sequence[Replica], training: TrainSettings, problem: Problem
) -> Checkpoint | None:
    if session.checkpoint is None:
        return None
    folder, every = session.checkpoint
    with contextlib.suppress(OSError):  # which is said when something is to be written
        folder.mkdir(parents=True, exist_ok=True)
    identity = {
        "dataset": session.dataset.fingerprint,
        "features": problem.rows.fingerprint,
        "method": session.method.name,
        "training": training.model_dump(exclude={"epochs"} if training.schedule == "constant" else set()),
        "replicas": [[r.settings.model_dump(), r.seed] for r in stack],
    }

    def note_once(message: str) -> None:
        if message not in session.notes:
            session.note(message)

    return Checkpoint(folder / name, identity, every, note_once)
