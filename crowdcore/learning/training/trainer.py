"""Train one stack of replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.ratings.problem import RatingProblem
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.checkpoint import Checkpoint
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.evaluation import predict
from crowdcore.learning.training.first_stage import first_stage_epochs, start_modules
from crowdcore.learning.training.kept_epochs import omega_of, recovered_of
from crowdcore.learning.training.loop import OnEpoch, Replica, Trained, make_replicas, mean_loss, run_epochs
from crowdcore.learning.training.naming import match_names, renamed
from crowdcore.learning.training.outcome import Outcome

_ROWS_ARE_CLASSES = ("worker_confusion", "common_confusion", "correction")


def train_stack(
    data: Data,
    method: type[CrowdMethod],
    stack: Sequence[Replica],
    training: TrainSettings,
    on_epoch: OnEpoch,
    checkpoint: Checkpoint | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train some replicas side by side, their first stage included.

    Args:
        data: what to learn from, on its device.
        method: the method.
        stack: the replicas; their settings differ in swept ones only.
        training: everything that is not the method's.
        on_epoch: listens (epochs of a first stage count from below 0), and may stop the run after any epoch.
        checkpoint: where to keep the state, and to go on from if there is one.
        should_stop: asked before training goes on from a checkpoint; True makes its state the outcome.

    Raises:
        DivergedError: a loss became NaN or enormous.
    """
    modules = make_replicas(data.problem, method, stack, training)
    started = False
    if checkpoint is None or not checkpoint.exists:
        started = any(first_stage_epochs(r.settings, training) for r in stack)
        if not start_modules(data, modules, stack, training, on_epoch, checkpoint, should_stop):
            checkpoint, should_stop = None, lambda: True  # what goes on later goes on with the first stage
    trained = run_epochs(data, modules, stack, training, on_epoch, checkpoint, should_stop, started)
    return _outcome(trained, data, training)


def _outcome(trained: Trained, data: Data, training: TrainSettings) -> Outcome:
    replicas, selection, kept = trained.replicas, trained.selection, trained.kept
    predicted: dict[str, FloatArray] = {}
    recovered: dict[str, dict[str, AnyArray]] = {}
    names: dict[str, AnyArray] = {}
    best, same = selection.best_model(), bool((selection.epoch == selection.last).all())
    for at, model in (("last", selection.last_model()), ("selected", best))[: 1 if same else 2]:
        selection.load(model)
        found, parts = predict(replicas, data, slice(0, len(data.problem.order))), recovered_of(replicas)
        if isinstance(data.problem, RatingProblem):
            predicted[at], recovered[at] = found.cpu().numpy(), parts
        else:
            p = found.softmax(-1).cpu().numpy()
            names[at] = _names(p, data, training)
            predicted[at], recovered[at] = renamed(p, names[at], -1), _named(parts, names[at])
        omega = omega_of(replicas, data)
        if omega is not None:
            recovered[at]["omega"] = omega.double().cpu().numpy()
        if at == "last":
            loss, *_ = (v.double().cpu().numpy() for k, v in mean_loss(replicas, data).items() if k != "loss")
    if same:
        predicted["selected"], recovered["selected"] = predicted["last"], recovered["last"]
        names |= {"selected": names["last"]} if names else {}
    table = {name: np.stack(rows) for name, rows in trained.history.items()}
    seconds = table.pop("seconds")[:, 0]
    return Outcome(
        table,
        selection.epoch.copy(),
        selection.last.copy(),
        predicted,
        recovered,
        names,
        kept.epochs(),
        {k: np.stack([_named({k: one}, names["selected"])[k] for one in v]) for k, v in kept.parts().items()},
        loss,
        {name: value.detach().cpu().numpy() for name, value in best.items()},
        seconds,
    )


def _names(probabilities: FloatArray, data: Data, training: TrainSettings) -> AnyArray:
    if training.names == "as-trained":
        return np.tile(np.arange(probabilities.shape[-1]), (len(probabilities), 1))
    return match_names(probabilities[:, data.problem.splits["valid"]], data.problem.valid_label)


def _named(parts: dict[str, AnyArray], order: AnyArray) -> dict[str, AnyArray]:
    named = {k: renamed(v, order, -2) if k in _ROWS_ARE_CLASSES else v for k, v in parts.items()}
    return named | ({"q": renamed(named["q"].astype(np.float32), order, -1)} if "q" in named else {})
