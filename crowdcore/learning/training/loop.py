"""The epochs of one stack of replicas: steps, evaluation, selection, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.errors import CrowdError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.learning.base import CrowdMethod, EpochContext
from crowdcore.learning.curve_metrics import selecting
from crowdcore.learning.networks.network import make_network
from crowdcore.learning.settings import TrainSettings, execution
from crowdcore.learning.training.checkpoint import Checkpoint, Selection, State
from crowdcore.learning.training.data import Data, make_feed
from crowdcore.learning.training.evaluation import Evaluation, KeptEpochs, RatingEvaluation, fetch, predict
from crowdcore.learning.training.problem import Problem, RatingProblem
from crowdcore.learning.training.steps import Optimiser, Replicas, Steps, find_recorder

_DIVERGED = 1e6  # a larger mean loss means divergence
_WORTH_RECORDING = 30  # steps
_CHUNK = 4096  # tasks
_CHECKPOINT_SECONDS = 20.0  # after which the end of an epoch writes a checkpoint, however few epochs there were

OnEpoch = Callable[[int, dict[str, FloatArray], float], bool]
"""Called with epoch (from 0), metrics and seconds; True stops the run."""


class DivergedError(CrowdError):
    """The loss of a replica became NaN or enormous."""


@dataclass(frozen=True)
class Replica:
    """One member of a stack: its method's settings and its seed."""

    settings: Settings
    seed: int


@dataclass(frozen=True)
class Stage:
    """Data and schedule of a stack of replicas.

    Args:
        data: training, validation and test tasks on the device.
        stack: the replicas; their settings differ in swept ones only.
        training: settings of the trainer.
        on_epoch: listener (epochs of a first stage are below 0); may stop the run after any epoch.
        checkpoint: saves the state; training resumes from it if there is one.
        should_stop: called before training resumes from a checkpoint or continues after a first stage; True makes the
            state so far the last one.
        started: True if a first stage has trained the modules.
    """

    data: Data
    stack: Sequence[Replica]
    training: TrainSettings
    on_epoch: OnEpoch = lambda epoch, metrics, seconds: False
    checkpoint: Checkpoint | None = None
    should_stop: Callable[[], bool] = lambda: False
    started: bool = False


def make_replicas(
    problem: Problem, method: type[CrowdMethod], stack: Sequence[Replica], training: TrainSettings
) -> list[CrowdMethod]:
    """One freshly initialised module per replica; a seed gives the same weights on any device, alone or stacked."""
    network = make_network(training, problem.input_shape)
    modules = []
    for replica in stack:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(replica.seed)
            modules.append(method(problem, replica.settings, network))
    return modules


def run_epochs(stage: Stage, modules: Sequence[CrowdMethod]) -> State:
    """Train modules, one per replica, side by side; return the state after the last epoch.

    Raises:
        DivergedError: a loss became NaN or enormous.
    """
    data, stack, training, checkpoint = stage.data, stage.stack, stage.training, stage.checkpoint
    problem, method = data.problem, type(modules[0])
    replicas = Replicas(modules, data.device)
    record = may_record(data, method, training)
    feed = make_feed(data, tuple(r.seed for r in stack), training.batch_size, fixed_width=record)
    rates = [method.rate(stack[0].settings, name) for name in replicas.parameters]
    optimiser = Optimiser(list(replicas.parameters.values()), training, rates)
    kept, selection = KeptEpochs(replicas, data, training.epochs), Selection(replicas, training.patience)
    kept.keep(0)
    steps = Steps(replicas, optimiser, feed, record)
    state = State(replicas, optimiser, selection, kept, {})
    history = state.history
    start = 0 if checkpoint is None else checkpoint.read(state)
    rated, match = isinstance(problem, RatingProblem), training.names == "validation-gold"
    evaluation = RatingEvaluation(replicas, data) if rated else Evaluation(replicas, data, match, kept.at.get(0, {}))
    saved = time.perf_counter()
    for epoch in range(start, training.epochs):
        if not selection.active.any() or (epoch == start and (start > 0 or stage.started) and stage.should_stop()):
            break
        began = time.perf_counter()
        start_epoch(replicas, data, epoch)
        optimiser.start_epoch(epoch)
        if method.begins_phase(stack[0].settings, epoch, training.epochs):
            optimiser.forget()
        losses = steps.epoch(epoch)
        metrics = fetch({"loss": losses.sum(0), **dict(zip(steps.terms, losses, strict=True)), **evaluation()})
        kept.keep(epoch + 1)
        seconds = time.perf_counter() - began
        _refuse_divergence(metrics["loss"], selection.active, epoch, stage)
        row = {name: np.where(selection.active, value, np.nan) for name, value in metrics.items()}
        selection.update(epoch, *selecting(metrics if problem.validated_on else {}))
        for name, value in {**row, "seconds": np.full(len(stack), seconds)}.items():
            history.setdefault(name, []).append(value)
        stop = stage.on_epoch(epoch, row, seconds)
        late = time.perf_counter() - saved > _CHECKPOINT_SECONDS
        if checkpoint and (stop or late or (epoch + 1) % checkpoint.every == 0 or epoch + 1 == training.epochs):
            checkpoint.write(epoch, state)
            saved = time.perf_counter()
        if stop:
            break
    if not history:
        metrics = fetch({**mean_loss(replicas, data), **evaluation(), "seconds": torch.zeros(len(stack))})
        history.update({name: [value] for name, value in metrics.items()})
        selection.update(0, None, None)
    return state


@torch.no_grad()
def mean_loss(replicas: Replicas, data: Data) -> dict[str, Tensor]:
    """Term of the loss -> (S,) its mean over the training tasks, in evaluation mode; ``loss`` is their sum."""
    n = data.problem.n_train
    replicas.train(False)
    total: dict[str, Tensor] = {}
    for piece in data.chunks(slice(0, n), _CHUNK):
        for name, term in replicas.call("loss", data.stretch(piece)).items():
            total[name] = total.get(name, 0) + term * (piece.stop - piece.start) / n
    return {"loss": torch.stack(list(total.values())).sum(0), **total}


def may_record(data: Data, method: type[CrowdMethod], training: TrainSettings) -> bool:
    """Return True if recording steps pays off: stackable methods on our own networks, for enough steps."""
    n_steps = training.epochs * math.ceil(data.problem.n_train / training.batch_size)
    alike = data.problem.sentence_start is None  # steps of sentences differ in shape
    pure = method.stackable and ":" not in training.backbone
    # Deterministic sums on CUDA sort, and wait.
    capturable = data.device.type == "cpu" or (method.capturable and not training.deterministic)
    wanted = execution().record and pure and capturable and data.resident and alike and n_steps >= _WORTH_RECORDING
    return wanted and find_recorder(data.device) is not None


def start_epoch(replicas: Replicas, data: Data, epoch: int) -> None:
    """Call `CrowdMethod.start_epoch` (from 0) if the method overrides it."""
    if replicas.method.start_epoch is CrowdMethod.start_epoch:
        return
    problem = data.problem
    n, device = problem.n_train_annotations, data.device
    log_probs = predict(replicas, data, slice(0, problem.n_train), training_tasks=True)
    task = torch.from_numpy(problem.task[:n]).to(device)
    context = EpochContext(epoch, log_probs, task, data.worker[:n].to(device), data.label[:n].to(device))
    with torch.no_grad():
        replicas.call("start_epoch", context, in_dims=(EpochContext(*(None, 0, None, None, None)),))  # type: ignore[arg-type]


def _refuse_divergence(loss: FloatArray, active: AnyArray, epoch: int, stage: Stage) -> None:
    bad = np.flatnonzero(active & ~(np.abs(loss) < _DIVERGED))
    if len(bad):
        seed, noise = stage.stack[bad[0]].seed, getattr(stage.stack[0].settings, "noise_lr", None)
        also = "" if noise is None else f" or `noise_lr` (it is {noise:g})"
        raise DivergedError(
            f"Training diverged: the loss of seed {seed} became {loss[bad[0]]:g} in epoch {epoch + 1}. "
            f"Lower `lr` (it is {stage.training.lr:g}){also}, or look for extreme values in the features."
        )
