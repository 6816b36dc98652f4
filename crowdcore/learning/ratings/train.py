"""`train_ratings`: from a crowd of ratings to a network that predicts them and what it found about the workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.api import split_settings
from crowdcore.learning.ratings import methods
from crowdcore.learning.ratings.methods import RatingMethod
from crowdcore.learning.ratings.problem import RatingProblem, rating_problem
from crowdcore.learning.ratings.result import RatingsResult, rating_scores
from crowdcore.learning.settings import SEEDS
from crowdcore.learning.training.data import Data, Feed
from crowdcore.learning.training.device import deterministic_kernels, resolve_device
from crowdcore.learning.training.events import EpochEvent, Listener
from crowdcore.learning.training.loop import Replica, make_replicas, may_record, refuse_divergence
from crowdcore.learning.training.optimiser import Optimiser
from crowdcore.learning.training.replicas import Replicas
from crowdcore.learning.training.selection import Selection
from crowdcore.learning.training.steps import Steps
from crowdcore.learning.training.versions import versions

__all__ = ["train_ratings"]

_CHUNK = 4096  # tasks


def train_ratings(
    dataset: RatingDataset,
    method: str = "crowd-layer",
    *,
    seeds: int | Sequence[int] = SEEDS,
    device: str = "auto",
    on_event: Listener | None = None,
    should_stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> RatingsResult:
    """Train a network that predicts ratings, all seeds side by side.

    Args:
        dataset: tasks with features; ratings on the training tasks.
        method: crowd-layer (``connection="s"``, ``"b"`` or ``"s+b"``), dl-em, dl-mean, dl-true, doctor-net or wdn.
        seeds: how many replicas (seeds 0, 1, …), or which seeds.
        device: "auto", "cpu", "cuda", "cuda:1".
        on_event: called with an `EpochEvent` after every epoch.
        should_stop: asked after every epoch; True ends the training there, with the result so far.
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
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    problem = rating_problem(dataset, training)
    data = Data(problem, resolve_device(device), targets=cls.target(problem))
    stack = [Replica(own, seed) for seed in numbers]
    replicas = Replicas(make_replicas(problem, cls, stack, training), data.device)
    with deterministic_kernels(training.deterministic):
        listen, stop = on_event or (lambda event: None), should_stop or (lambda: False)
        curves, selection, seconds = _epochs(data, replicas, cls, stack, listen, stop)
        found: dict[str, tuple[FloatArray, dict[str, AnyArray]]] = {}
        best = selection.best_model()
        for at, model in (("last", selection.last_model()), ("selected", best)):
            selection.load(model)
            found[at] = _predict(replicas, data).double().cpu().numpy(), _recovered(replicas)
    low, unit = dataset.low, problem.unit
    split = np.concatenate([np.full(s.stop - s.start, k, np.int8) for k, s in enumerate(problem.splits.values())])
    return RatingsResult(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        method=method,
        settings=own.model_dump(),
        training=training.model_dump(),
        seeds=numbers,
        low=low,
        high=dataset.high,
        task=problem.order,
        split=split,
        gold=dataset.gold[problem.order],
        validated_on=problem.validated_on,
        curves=curves,
        selected_epoch=selection.epoch + 1,
        last_epoch=selection.last + 1,
        predictions={at: low + unit * mu for at, (mu, _) in found.items()},
        workers={at: _in_unit(parts, mu[:, problem.splits["train"]], low, unit) for at, (mu, parts) in found.items()},
        model={name: value.detach().cpu().numpy() for name, value in best.items()},
        seconds=seconds,
        annotations_per_second=problem.n_train_annotations * len(numbers) * len(curves["loss"]) / seconds,
        device=str(data.device),
        versions=versions(),
        notes=problem.notes,
    )


def _epochs(
    data: Data,
    replicas: Replicas,
    cls: type[RatingMethod],
    stack: Sequence[Replica],
    listen: Listener,
    stop: Callable[[], bool],
) -> tuple[dict[str, FloatArray], Selection, float]:
    """Train; curves of (epochs, S) errors in the dataset's unit, the models kept, and seconds."""
    problem, began = data.problem, time.perf_counter()
    assert isinstance(problem, RatingProblem)
    training, record = problem.training, may_record(data, cls, problem.training)
    feed = Feed(data, tuple(r.seed for r in stack), training.batch_size, fixed_width=record)
    rates = [cls.rate(stack[0].settings, name) for name in replicas.parameters]
    optimiser = Optimiser(list(replicas.parameters.values()), training, rates)
    steps, selection = Steps(replicas, optimiser, feed, record), Selection(replicas, training.patience)
    validate = problem.consensus if "mean ratings" in problem.validated_on else problem.gold
    truth = {"train": problem.gold, "valid": validate, "test": problem.gold}
    history: dict[str, list[FloatArray]] = {}
    n = problem.n_train_annotations
    ratings = tuple(torch.from_numpy(a[:n]).to(data.device) for a in (problem.task, problem.worker, problem.label))
    for epoch in range(training.epochs):
        if epoch and cls.e_step is not RatingMethod.e_step:
            mu = _predict(replicas, data, problem.splits["train"])
            with torch.no_grad():
                replicas.call("e_step", mu, *ratings, in_dims=(0, None, None, None))
        optimiser.start_epoch(epoch)
        losses = steps.epoch(epoch).sum(0).double().cpu().numpy()
        refuse_divergence(losses, selection.active, epoch, stack, training)
        predicted = _predict(replicas, data).double().cpu().numpy()
        row = {"loss": losses}
        for name, where in problem.splits.items():
            if name in truth:
                scores = rating_scores(predicted[:, where], truth[name][where], problem.unit)
                row |= {f"{name}_{metric}": value for metric, value in scores.items()}
        for name, value in row.items():
            history.setdefault(name, []).append(np.where(selection.active, value, np.nan))
        error = row["valid_rmse"] if problem.validated_on else None
        selection.update(epoch, None if error is None else -error, error)
        spent = time.perf_counter() - began
        speed = n * len(stack) * (epoch + 1) / spent
        done = (epoch + 1) / training.epochs
        listen(EpochEvent(
            cls.name, tuple(r.seed for r in stack), epoch + 1, training.epochs, row, spent / (epoch + 1), speed, done,
            spent * (1 / done - 1),
        ))  # fmt: skip
        if not selection.active.any() or stop():
            break
    return {name: np.stack(rows) for name, rows in history.items()}, selection, time.perf_counter() - began


@torch.no_grad()
def _predict(replicas: Replicas, data: Data, tasks: slice | None = None) -> Tensor:
    """``μ`` of a range of tasks, or of all, in evaluation mode: (S, n) on the device."""
    replicas.train(False)
    pieces = data.chunks(tasks or slice(0, len(data.problem.order)), _CHUNK)
    return torch.cat([replicas.call("predicted", data.inputs(piece)) for piece in pieces], 1)


@torch.no_grad()
def _recovered(replicas: Replicas) -> dict[str, AnyArray]:
    parts: dict[str, Tensor] = replicas.call("recovered")
    return {name: value.detach().double().cpu().numpy() for name, value in parts.items()}


def _in_unit(parts: dict[str, AnyArray], mu: FloatArray, low: float, unit: float) -> dict[str, AnyArray]:
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
