"""Schedule of replicas (in parallel or in sequence, with a fallback when memory is full), and their joint result."""

from __future__ import annotations

import contextlib
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import crowdcore
from crowdcore.analysis.recovery.recovered import names_at_risk
from crowdcore.analysis.workers.confusion import confusion_of_counts
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning import backbones, methods
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.counted import counts_of_problem
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results.result import Result, TrainingResult
from crowdcore.learning.settings import TrainSettings, execution
from crowdcore.learning.training.checkpoint import GENERATIONS, Checkpoint
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.device import is_out_of_memory
from crowdcore.learning.training.events import EpochEvent, Listener, NoteEvent, Pace
from crowdcore.learning.training.loop import OnEpoch, Replica, Stage
from crowdcore.learning.training.problem import Problem, RatingProblem
from crowdcore.learning.training.trainer import Outcome, first_stage_epochs, train_stack

_CPU_STACK = 256  # tasks per step up to which stacking pays on a CPU (measured: benchmarks/learning_speed.py)


@dataclass(frozen=True)
class Job:
    """One replica to train, for combination ``point`` of the swept settings."""

    training: TrainSettings
    replica: Replica
    point: int


@dataclass
class Session:
    """Shared context of the jobs of one call.

    Args:
        dataset: the dataset.
        method: the method.
        device: training device.
        listen: receives the events.
        should_stop: called after every epoch.
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
        """Name of the device."""
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"

    def stopping(self) -> bool:
        """Return True if the run shall end: no further stack starts."""
        return self.stopped or self.should_stop()

    def note(self, message: str) -> None:
        """Keep a note for the result, and send it to the listener."""
        self.notes.append(message)
        self.listen(NoteEvent(message))

    def used(self, training: TrainSettings) -> TrainSettings:
        """The settings with the batch size that fits into memory."""
        smaller = self.batch_size is not None and self.batch_size < training.batch_size
        return training.model_copy(update={"batch_size": self.batch_size}) if smaller else training


def run_jobs(
    session: Session, jobs: Sequence[Job], problem_of: Callable[[TrainSettings], Problem]
) -> list[tuple[Job, Outcome]]:
    """Train all jobs, side by side where possible; fewer are returned if the run was stopped."""
    jobs = [candidate for job in jobs for candidate in _list_starts(job)]
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


def _list_starts(job: Job) -> list[Job]:
    """The job itself, or with ``start="best-of"`` one job for every start."""
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
    if execution().stack == "all" and not can:
        raise SettingError("stack", f"be 'auto' or 'none' for {session.method.name} on {training.backbone}", "all")
    if execution().stack == "none" or not can:
        return 1
    if execution().stack == "all":
        return n
    small = min(training.batch_size, problem.n_train) <= _CPU_STACK
    return n if not own_backbone and (session.device.type == "cuda" or small) else 1


def _run_group(
    session: Session, number: int, group: list[Job], problem: Problem, targets: AnyArray | None, n_jobs: int
) -> list[tuple[Job, Outcome]]:
    size = _stack_size(session, group[0].training, problem, len(group))
    resident = {"auto": None, "device": True, "stream": False}[execution().feed]
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
        listener = _make_listener(session, jobs, training, data.problem, n_jobs)
        checkpoint = _make_checkpoint(session, f"{name}-{first}", stack, training, data.problem)
        begun = checkpoint is not None and any(checkpoint.folder.rglob(GENERATIONS))
        if session.done and not begun and session.stopping():
            break
        outcome = train_stack(Stage(data, stack, training, listener, checkpoint, session.stopping), session.method)
        session.done += len(jobs) / n_jobs
        results += [(job, outcome.replica(s)) for s, job in enumerate(jobs)]
    return results


def _make_listener(
    session: Session, jobs: Sequence[Job], training: TrainSettings, problem: Problem, n_jobs: int
) -> OnEpoch:
    seeds = tuple(job.replica.seed for job in jobs)
    ahead = max(first_stage_epochs(job.replica.settings, training) for job in jobs)

    def on_epoch(epoch: int, metrics: dict[str, FloatArray], seconds: float) -> bool:
        step = len(jobs) / n_jobs / (training.epochs + ahead)
        done = session.done + step * (epoch + 1 + ahead)
        event = EpochEvent(
            session.method.name,
            seeds,
            max(epoch + 1, 0),
            training.epochs,
            metrics,
            seconds,
            annotations_per_second=problem.n_train_annotations * len(jobs) / max(seconds, 1e-9),
            done=done,
            remaining=session.pace.remaining(done, step),
            first_stage=(epoch + 1 + ahead, ahead) if epoch < 0 else None,
        )
        session.listen(event)
        session.stopped = session.stopping()
        return session.stopped

    return on_epoch


def _make_checkpoint(
    session: Session, name: str, stack: Sequence[Replica], training: TrainSettings, problem: Problem
) -> Checkpoint | None:
    if session.checkpoint is None:
        return None
    folder, every = session.checkpoint
    with contextlib.suppress(OSError):  # reported when a checkpoint is written
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


def conclude(
    problem: Problem,
    method: type[CrowdMethod],
    training: TrainSettings,
    settings: Settings,
    trained: Sequence[tuple[Replica, Outcome]],
    session: Session,
) -> Result:
    """Combine trained replicas into one result: for every seed the start with the lowest training loss."""
    seeds = tuple(dict.fromkeys(replica.seed for replica, _ in trained))
    best, start_loss = _choose_starts(trained, seeds)
    outcome = Outcome.join([o for _, o in best])
    work = problem.n_train_annotations * float(sum((o.last_epoch + 1).sum() for _, o in trained))
    seconds = float(sum(o.seconds.sum() for _, o in trained))
    notes = (*problem.notes, *method.notes(problem, settings, seeds), *session.notes)
    shared: dict[str, Any] = {
        "dataset": problem.dataset.name,
        "fingerprint": problem.dataset.fingerprint,
        "method": methods.named(method),
        "settings": settings.model_dump(),
        "training": session.used(training).model_dump(),
        "seeds": seeds,
        "task": problem.order,
        "split": np.repeat(
            np.arange(len(problem.splits), dtype=np.int8), [s.stop - s.start for s in problem.splits.values()]
        ),
        "validated_on": problem.validated_on,
        "curves": outcome.history,
        "selected_epoch": outcome.selected_epoch + 1,
        "last_epoch": outcome.last_epoch + 1,
        "model": outcome.model,
        "seconds": seconds,
        "annotations_per_second": work / seconds if seconds else 0.0,
        "device": session.device_name,
        "versions": versions(),
    }
    if isinstance(problem, RatingProblem):
        return RatingsResult(**shared, **_of_ratings(problem, outcome), notes=notes)
    recovered = _recovered(problem, outcome)
    return TrainingResult(
        **shared,
        classes=problem.dataset.classes,
        gold=problem.gold,
        valid_label=problem.valid_label,
        probabilities=outcome.predicted,
        preparation=problem.preparation,
        input_shape=problem.input_shape,
        n_workers=problem.n_workers,
        inputs=problem.rows.fingerprint,
        sentence=None if (own := problem.dataset.sentences) is None else own.of_task[problem.order],
        **recovered["selected"],
        last=recovered["last"],
        kept_epochs=outcome.kept_epochs,
        kept=_aligned(problem, outcome.kept),
        names=outcome.names,
        start=tuple(_start_of(r) for r, _ in best),
        start_loss=start_loss,
        notes=(
            *notes,
            *_start_notes([r for r, _ in best], start_loss),
            *_name_notes(problem.dataset, recovered["selected"], training),
        ),
    )


def _aligned(problem: Problem, parts: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """ω in the order of the dataset's annotations, and NaN for the weights of workers without training labels."""
    aligned = dict(parts)
    if (omega := parts.get("omega")) is not None:
        aligned["omega"] = np.full((*omega.shape[:-1], problem.dataset.n_annotations), np.nan, omega.dtype)
        aligned["omega"][..., problem.annotation] = omega
    if "worker_weight" in parts:
        aligned["worker_weight"] = np.where(problem.labels_per_worker == 0, np.nan, parts["worker_weight"])
    return aligned


def _recovered(problem: Problem, outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Recovered parts of the selected and the last model; labels are counted by the posterior unless a method did."""
    recovered: dict[str, dict[str, Any]] = {at: _aligned(problem, parts) for at, parts in outcome.recovered.items()}
    if not execution().brief and "worker_counts" not in recovered["selected"]:
        moved = outcome.selected_epoch != outcome.last_epoch
        p = np.concatenate([outcome.predicted["selected"], outcome.predicted["last"][moved]])
        counts = np.split(counts_of_problem(problem, p), [len(moved)])
        recovered["selected"]["worker_counts"] = recovered["last"]["worker_counts"] = counts[0]
        if moved.any():
            recovered["last"]["worker_counts"] = counts[0].copy()
            recovered["last"]["worker_counts"][moved] = counts[1]
    return recovered


def versions() -> dict[str, str]:
    """Package -> version, of those that a result depends on."""
    return {
        "crowdcore": crowdcore.__version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _start_of(replica: Replica) -> str:
    return str(getattr(replica.settings, "start", ""))


def _choose_starts(
    trained: Sequence[tuple[Replica, Outcome]], seeds: Sequence[int]
) -> tuple[list[tuple[Replica, Outcome]], dict[str, FloatArray]]:
    """Choose the replica with the lowest final training loss per seed; start -> (S,) that loss if there are several."""
    own = [[pair for pair in trained if pair[0].seed == seed] for seed in seeds]
    best = [min(pairs, key=lambda pair: float(pair[1].final_loss[0])) for pairs in own]
    if len(trained) == len(seeds):
        return best, {}
    losses: dict[str, FloatArray] = {}
    for s, pairs in enumerate(own):
        for replica, outcome in pairs:
            losses.setdefault(_start_of(replica), np.full(len(seeds), np.nan))[s] = outcome.final_loss[0]
    return best, losses


def _name_notes(dataset: CrowdDataset, recovered: Mapping[str, AnyArray], training: TrainSettings) -> list[str]:
    """Note about classes whose names the labels alone cannot determine."""
    if not {"worker_confusion", "worker_counts"} <= recovered.keys() or training.names != "as-trained":
        return []
    risks = names_at_risk(dataset, np.stack([confusion_of_counts(one) for one in recovered["worker_counts"]]))
    listed = ", ".join(f"{dataset.classes[a]!r} (most often {dataset.classes[b]!r})" for a, b in risks[:3])
    more = f" and {len(risks) - 3} more" if len(risks) > 3 else ""
    if not risks:
        return []
    return [
        f"By the recovered confusions, tasks of some classes mostly get another label: {listed}{more}. Labels alone "
        "cannot name such classes; names='validation-gold' matches them with gold of the validation split."
    ]


def _start_notes(best: Sequence[Replica], losses: Mapping[str, FloatArray]) -> list[str]:
    if not losses:
        return []
    table = np.stack(list(losses.values()))
    count = Counter(map(_start_of, best))
    lead = float(np.median(np.nanmax(table, 0) - np.nanmin(table, 0)))
    words = ", ".join(f"{start} for {n} of {len(best)} seeds" for start, n in count.most_common())
    return [f"Lower training loss of the starts that were tried: {words}; the losses differ by {lead:.3g} (median)."]


def _of_ratings(problem: RatingProblem, outcome: Outcome) -> dict[str, Any]:
    """Range, gold, predictions and workers of a result, in the dataset's unit."""
    low, unit, train = problem.dataset.low, problem.unit, problem.splits["train"]
    mu = {at: p.astype(np.float64) for at, p in outcome.predicted.items()}
    return {
        "low": low,
        "high": problem.dataset.high,
        "gold": problem.dataset.gold[problem.order],
        "predictions": {at: low + unit * of for at, of in mu.items()},
        "workers": {at: _in_unit(parts, mu[at][:, train], unit) for at, parts in outcome.recovered.items()},
    }


def _in_unit(parts: dict[str, AnyArray], mu: FloatArray, unit: float) -> dict[str, AnyArray]:
    """Parameters of the workers, (S, R) each, in the dataset's unit.

    ``bias`` is how far a worker's ratings lie above the network's on average over the training tasks,
    ``mean (f^r(μ_i) - μ_i)``; for the connection b it is ``b^r``.
    """
    workers = {name: value for name, value in parts.items() if name == "weight"}
    if "bias" in parts:
        mean = mu.mean(1, keepdims=True)
        workers["bias"] = unit * ((parts["scale"] - 1) * mean + parts["bias"])
        workers["scale"] = parts["scale"]
    if "precision" in parts:
        workers["noise"] = unit / np.sqrt(parts["precision"])
    return workers
