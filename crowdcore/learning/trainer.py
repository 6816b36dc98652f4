"""The training loop of one stack of replicas."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from crowdcore.core.errors import CrowdError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning.base import CrowdMethod, EpochContext
from crowdcore.learning.checkpoint import Checkpoint
from crowdcore.learning.data import Data, Feed
from crowdcore.learning.evaluation import Evaluation, fetch, predict
from crowdcore.learning.network import make_network
from crowdcore.learning.optimiser import Optimiser
from crowdcore.learning.problem import Problem
from crowdcore.learning.replicas import Replicas
from crowdcore.learning.selection import Selection
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.steps import Steps

__all__ = ["DivergedError", "Outcome", "Replica", "make_replicas", "train_stack"]

_DIVERGED = 1e6  # a mean loss beyond this is no longer learning
_OMEGA_CHUNK = 4096
_WORTH_RECORDING = 100  # steps

OnEpoch = Callable[[int, dict[str, FloatArray], float], bool]
"""Called with epoch (from 0), metrics and seconds; True stops the run."""


class DivergedError(CrowdError):
    """The loss of a replica became NaN or grew beyond all bounds."""


@dataclass(frozen=True)
class Replica:
    """One training run among those of a stack: its method's settings and its seed."""

    settings: Settings
    seed: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a stack of S replicas came to.

    Args:
        history: metric -> (epochs, S), NaN after a replica's last epoch.
        selected_epoch: (S,) from 0.
        last_epoch: (S,) from 0.
        probabilities: "selected" and "last" -> (S, n, C) float32, tasks in the problem's order.
        recovered: part -> (S, ...) float64, of the selected model; see `base.Recovered`.
        omega: (S, A) in the problem's order, or None.
        model: name -> (S, ...) the selected model.
        seconds: (epochs,) wall time of training and evaluation.
    """

    history: dict[str, FloatArray]
    selected_epoch: IntArray
    last_epoch: IntArray
    probabilities: dict[str, FloatArray]
    recovered: dict[str, AnyArray]
    omega: FloatArray | None
    model: dict[str, AnyArray]
    seconds: FloatArray

    def replica(self, s: int) -> Outcome:
        """The outcome of one replica alone, a stack of one."""
        one = slice(s, s + 1)
        return Outcome(
            {name: rows[:, one] for name, rows in self.history.items()},
            self.selected_epoch[one],
            self.last_epoch[one],
            {name: value[one] for name, value in self.probabilities.items()},
            {name: value[one] for name, value in self.recovered.items()},
            None if self.omega is None else self.omega[one],
            {name: value[one] for name, value in self.model.items()},
            self.seconds / len(self.selected_epoch),
        )

    @classmethod
    def join(cls, outcomes: Sequence[Outcome]) -> Outcome:
        """Several stacks as one; shorter histories are filled with NaN, seconds add up."""
        if len(outcomes) == 1:
            return outcomes[0]
        epochs = max(len(o.seconds) for o in outcomes)

        def joined(parts: Sequence[dict[str, AnyArray]], axis: int = 0) -> dict[str, AnyArray]:
            return {name: np.concatenate([p[name] for p in parts], axis) for name in parts[0]}

        def filled(rows: FloatArray) -> FloatArray:
            return np.pad(rows, [(0, epochs - len(rows)), (0, 0)], constant_values=np.nan)

        omegas = [o.omega for o in outcomes if o.omega is not None]
        return cls(
            joined([{k: filled(v) for k, v in o.history.items()} for o in outcomes], 1),
            np.concatenate([o.selected_epoch for o in outcomes]),
            np.concatenate([o.last_epoch for o in outcomes]),
            joined([o.probabilities for o in outcomes]),
            joined([o.recovered for o in outcomes]),
            np.concatenate(omegas) if omegas else None,
            joined([o.model for o in outcomes]),
            np.sum([np.pad(o.seconds, (0, epochs - len(o.seconds))) for o in outcomes], 0),
        )


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


def train_stack(
    problem: Problem,
    data: Data,
    method: type[CrowdMethod],
    stack: Sequence[Replica],
    training: TrainSettings,
    on_epoch: OnEpoch,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """Train some replicas side by side.

    Args:
        problem: what to learn from.
        data: the same on its device.
        method: the method.
        stack: the replicas; their settings differ in swept ones only.
        training: everything that is not the method's.
        on_epoch: listens, and may stop the run after any epoch.
        checkpoint: where to keep the state, and to go on from if there is one.

    Raises:
        DivergedError: a loss became NaN or enormous.
    """
    replicas = Replicas(make_replicas(problem, method, stack, training), data.device)
    record = _may_record(problem, data, method, training)
    feed = Feed(data, tuple(r.seed for r in stack), training.batch_size, fixed_width=record)
    optimiser = Optimiser(list(replicas.parameters.values()), training)
    steps, evaluation = Steps(replicas, optimiser, feed, record), Evaluation(replicas, data)
    selection = Selection(replicas, training.patience)
    history: dict[str, list[FloatArray]] = {}
    start = 0 if checkpoint is None else checkpoint.read(replicas, optimiser, selection, history)
    prepares = method.start_epoch is not CrowdMethod.start_epoch
    for epoch in range(start, training.epochs):
        if not selection.active.any():
            break
        began = time.perf_counter()
        if prepares:
            _start_epoch(replicas, data, epoch)
        optimiser.start_epoch(epoch)
        losses = steps.epoch(epoch)
        found = {"loss": losses.sum(0), **dict(zip(steps.terms, losses, strict=True)), **evaluation()}
        metrics = fetch(found)
        seconds = time.perf_counter() - began
        _check(metrics["loss"], selection.active, epoch, stack, training)
        row = {name: np.where(selection.active, value, np.nan) for name, value in metrics.items()}
        scores = metrics if problem.validated_on else {}
        selection.update(epoch, scores.get("valid_accuracy"), scores.get("valid_nll"))
        for name, value in {**row, "seconds": np.full(len(stack), seconds)}.items():
            history.setdefault(name, []).append(value)
        stop = on_epoch(epoch, row, seconds)
        if checkpoint and (stop or (epoch + 1) % checkpoint.every == 0 or epoch + 1 == training.epochs):
            checkpoint.write(epoch, replicas, optimiser, selection, history)
        if stop:
            break
    return _outcome(replicas, data, selection, history)


def _may_record(problem: Problem, data: Data, method: type[CrowdMethod], training: TrainSettings) -> bool:
    """Whether steps are recorded: pure methods and our own networks, for as many steps as pay it back."""
    n_steps = training.epochs * math.ceil(problem.n_train / training.batch_size)
    pure = method.stackable and ":" not in training.backbone
    capturable = data.device.type == "cpu" or not training.deterministic  # deterministic sums on CUDA sort, and wait
    return training.record and pure and capturable and data.resident and n_steps >= _WORTH_RECORDING


def _start_epoch(replicas: Replicas, data: Data, epoch: int) -> None:
    problem = data.problem
    n, device = problem.n_train_annotations, data.device
    log_probs = predict(replicas, data, slice(0, problem.n_train))
    task = torch.from_numpy(problem.task[:n]).to(device)
    context = EpochContext(epoch, log_probs, task, data.worker[:n].to(device), data.label[:n].to(device))
    with torch.no_grad():
        replicas.call("start_epoch", context, in_dims=(EpochContext(*(None, 0, None, None, None)),))  # type: ignore[arg-type]


def _check(loss: FloatArray, active: AnyArray, epoch: int, stack: Sequence[Replica], training: TrainSettings) -> None:
    bad = np.flatnonzero(active & ~(np.abs(loss) < _DIVERGED))
    if len(bad):
        raise DivergedError(
            f"Training diverged: the loss of seed {stack[bad[0]].seed} became {loss[bad[0]]:g} in epoch {epoch + 1}. "
            f"Lower `lr` (it is {training.lr:g}), or look for extreme values in the features."
        )


def _outcome(replicas: Replicas, data: Data, selection: Selection, history: dict[str, list[FloatArray]]) -> Outcome:
    whole = slice(0, len(data.problem.order))

    def probabilities() -> FloatArray:
        return np.asarray(predict(replicas, data, whole).softmax(-1).cpu().numpy())

    best, last = selection.best_model(), selection.last_model()
    selection.load(last)
    found = {"last": probabilities()}
    selection.load(best)
    found["selected"] = probabilities()
    table = {name: np.stack(rows) for name, rows in history.items()}
    seconds = table.pop("seconds")[:, 0]
    with torch.no_grad():
        exact = {k: v.double() if v.is_floating_point() else v for k, v in replicas.tensors().items()}
        recovered: dict[str, Any] = replicas.call("recovered", state=exact)
        parts = {name: value.cpu().numpy() for name, value in recovered.items()}
    return Outcome(
        table,
        selection.epoch.copy(),
        selection.last.copy(),
        found,
        parts,
        _omega(replicas, data),
        {name: value.detach().cpu().numpy() for name, value in best.items()},
        seconds,
    )


@torch.no_grad()
def _omega(replicas: Replicas, data: Data) -> FloatArray | None:
    """ω of every annotation in the problem's order, (S, A)."""
    if replicas.method.omega is CrowdMethod.omega:
        return None
    replicas.train(False)
    pieces = data.chunks(slice(0, len(data.problem.order)), _OMEGA_CHUNK)
    parts = [replicas.call("omega", batch).cpu() for batch in map(data.stretch, pieces) if len(batch.row)]
    return np.asarray(torch.cat(parts, 1).double().numpy())
