"""Train one stack of replicas: first stages, then the method's own epochs.

A mixture of common and individual confusions has bad optima near the identity. A first stage avoids them: it trains the
network on the votes, or one confusion per worker (from Dawid-Skene's estimates, or with trace regularisation), and its
classifier and confusions are the start of the method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from pydantic import Field

from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.method_settings import DirectStartSettings, NoiseLayerSettings
from crowdcore.learning.methods.targets import DlMv
from crowdcore.learning.networks.noise_layers import WorkerModel, counted_confusion
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.checkpoint import State
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.evaluation import omega_of, predict, recovered_of
from crowdcore.learning.training.loop import Replica, Stage, make_replicas, mean_loss, run_epochs
from crowdcore.learning.training.metrics import match_names, reorder_classes
from crowdcore.learning.training.problem import RatingProblem

_ROWS_ARE_CLASSES = ("worker_confusion", "worker_counts", "common_confusion", "correction")
_STRENGTH = {"dawid-skene": 0.0, "trace": 0.01}  # λ of the trace
_CLASSIFIER = "classifier."

Parts = dict[str, AnyArray]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a stack of S replicas; "selected" and "last" are the models of these epochs.

    Args:
        history: metric -> (epochs, S), NaN after a replica's last epoch.
        selected_epoch: (S,) from 0.
        last_epoch: (S,) from 0.
        predicted: "selected" and "last" -> (S, n, C) float32 probabilities, tasks in the problem's order; for ratings
            (S, n) on their scale from 0 to 1.
        recovered: "selected" and "last" -> part -> (S, ...) float64; see `base.Recovered`, and ``omega`` (S, A) in the
            problem's order.
        names: "selected" and "last" -> (S, C) the latent class behind each class, see `metrics.match_names`; empty for
            ratings.
        kept_epochs: (K,) epochs whose matrices and ω were kept, 0 = the start.
        kept: part -> (K, S, ...) float32, classes named as in the selected model.
        final_loss: (S,) mean negative log-likelihood of the training annotations under the last model.
        model: name -> (S, ...) the selected model.
        seconds: (epochs,) wall time of training and evaluation.
    """

    history: dict[str, FloatArray]
    selected_epoch: IntArray
    last_epoch: IntArray
    predicted: dict[str, FloatArray]
    recovered: dict[str, Parts]
    names: dict[str, IntArray]
    kept_epochs: IntArray
    kept: Parts
    final_loss: FloatArray
    model: Parts
    seconds: FloatArray

    def replica(self, s: int) -> Outcome:
        """The outcome of one replica alone, a stack of one."""
        one = slice(s, s + 1)

        def of(parts: Mapping[str, AnyArray]) -> Parts:
            return {name: value[one] for name, value in parts.items()}

        return Outcome(
            {name: rows[:, one] for name, rows in self.history.items()},
            self.selected_epoch[one],
            self.last_epoch[one],
            of(self.predicted),
            {at: of(parts) for at, parts in self.recovered.items()},
            of(self.names),
            self.kept_epochs,
            {name: value[:, one] for name, value in self.kept.items()},
            self.final_loss[one],
            of(self.model),
            self.seconds / len(self.selected_epoch),
        )

    @classmethod
    def join(cls, outcomes: Sequence[Outcome]) -> Outcome:
        """Join several stacks: shorter histories are filled with NaN, seconds add up, epochs kept by all stay."""
        if len(outcomes) == 1:
            return outcomes[0]
        epochs = max(len(o.seconds) for o in outcomes)

        def joined(parts: Sequence[Parts], axis: int = 0) -> Parts:
            return {name: np.concatenate([p[name] for p in parts], axis) for name in parts[0]}

        def filled(rows: FloatArray) -> FloatArray:
            return np.pad(rows, [(0, epochs - len(rows)), (0, 0)], constant_values=np.nan)

        shared = np.array(sorted(set.intersection(*(set(o.kept_epochs.tolist()) for o in outcomes))), np.int64)

        def at_shared(o: Outcome) -> Parts:
            return {name: value[np.isin(o.kept_epochs, shared)] for name, value in o.kept.items()}

        return cls(
            joined([{k: filled(v) for k, v in o.history.items()} for o in outcomes], 1),
            np.concatenate([o.selected_epoch for o in outcomes]),
            np.concatenate([o.last_epoch for o in outcomes]),
            joined([o.predicted for o in outcomes]),
            {at: joined([o.recovered[at] for o in outcomes]) for at in outcomes[0].recovered},
            joined([o.names for o in outcomes]),
            shared,
            joined([at_shared(o) for o in outcomes], 1),
            np.concatenate([o.final_loss for o in outcomes]),
            joined([o.model for o in outcomes]),
            np.sum([np.pad(o.seconds, (0, epochs - len(o.seconds))) for o in outcomes], 0),
        )


def train_stack(stage: Stage, method: type[CrowdMethod]) -> Outcome:
    """Train some replicas of a method side by side, including their first stages.

    Raises:
        DivergedError: a loss became NaN or enormous.
    """
    modules = make_replicas(stage.data.problem, method, stage.stack, stage.training)
    if stage.checkpoint is None or not stage.checkpoint.exists:
        stage = _run_first_stages(stage, modules)
    return _make_outcome(run_epochs(stage, modules), stage)


def first_stage_epochs(settings: Any, training: TrainSettings) -> int:
    """Number of epochs before the method's own."""
    return _vote_epochs(settings, training) + _worker_epochs(settings, training)


def _vote_epochs(settings: Any, training: TrainSettings) -> int:
    share = float(getattr(settings, "vote_epochs", 0))
    return max(1, round(share * training.epochs)) if share else 0


def _worker_epochs(settings: Any, training: TrainSettings) -> int:
    if isinstance(settings, DirectStartSettings) or _start_of(settings) not in _STRENGTH:
        return 0
    return max(1, round(float(settings.start_epochs) * training.epochs))


def _start_of(settings: Any) -> str:
    return str(getattr(settings, "start", "identity"))


def _run_first_stages(stage: Stage, modules: Sequence[CrowdMethod]) -> Stage:
    """Start every module as ``vote_epochs`` and ``start`` say; replicas with the same start train side by side.

    Returns:
        The stage of the method's own epochs. There are none if ``on_epoch`` stopped a first stage, and no checkpoint: a
        resumed run resumes in the first stage.
    """
    training, stack, complete = stage.training, stage.stack, True

    def run(
        data: Data, method: type[CrowdMethod], members: Sequence[int], settings: Any, epochs: int, name: str, ahead: int
    ) -> State:
        """Train ``method`` for the members of the stack, ``ahead`` epochs before the first epoch of their own."""
        nonlocal stage, complete
        part = training.model_copy(update={"epochs": epochs, "names": "as-trained", "patience": None})
        replicas = [Replica(settings, stack[s].seed) for s in members]
        first = make_replicas(data.problem, method, replicas, part)
        if method is WorkerModel:
            for module, s in zip(first, members, strict=True):
                module.classifier.load_state_dict(modules[s].classifier.state_dict())
                if name == "dawid-skene":
                    module.start_from(counts)
        on_epoch, before = stage.on_epoch, stage.checkpoint
        own = before and replace(before, folder=before.folder / name)

        def listen(epoch: int, metrics: Any, seconds: float) -> bool:
            return on_epoch(epoch - ahead, {}, seconds)

        state = run_epochs(
            replace(stage, data=data, stack=replicas, training=part, on_epoch=listen, checkpoint=own), first
        )
        for s, member in enumerate(members):
            learnt = {k: v[s].cpu() for k, v in state.replicas.tensors().items() if k.startswith(_CLASSIFIER)}
            modules[member].load_state_dict(learnt, strict=False)
        complete = complete and len(state.history["loss"]) == epochs
        stage = replace(stage, started=True, should_stop=stage.should_stop if complete else (lambda: True))
        return state

    settings: Any = stack[0].settings
    if epochs := _vote_epochs(settings, training):
        of_votes, voted = DlMv.Settings(), copy(stage.data)
        voted.target = torch.from_numpy(DlMv.targets(voted.problem, of_votes)).to(voted.worker.device)
        run(voted, DlMv, range(len(stack)), of_votes, epochs, "votes", first_stage_epochs(settings, training))
    for start in dict.fromkeys(_start_of(r.settings) for r in stack):
        if start == "identity":
            continue
        members = [s for s, r in enumerate(stack) if _start_of(r.settings) == start]
        settings = stack[members[0]].settings
        if start in ("votes", "dawid-skene"):
            aggregator = "majority-vote" if start == "votes" else "dawid-skene"
            counts = torch.from_numpy(counted_confusion(stage.data.problem, aggregator)).float()
        if start == "votes" or isinstance(settings, DirectStartSettings):
            for s in members:
                modules[s].start_from(counts)
            continue
        of_workers = _WorkerSettings(noise_lr=settings.noise_lr, strength=_STRENGTH[start])
        epochs = _worker_epochs(settings, training)
        state = run(stage.data, WorkerModel, members, of_workers, epochs, start, epochs)
        confusions = state.replicas.call("recovered")["worker_confusion"]
        with torch.no_grad():
            for s, member in enumerate(members):
                modules[member].start_from(confusions[s].cpu())
    return stage if complete else replace(stage, checkpoint=None)


class _WorkerSettings(NoiseLayerSettings):
    strength: float = Field(default=0.0, description="λ of the sum of traces.")


def _make_outcome(state: State, stage: Stage) -> Outcome:
    replicas, selection, kept, data = state.replicas, state.selection, state.kept, stage.data
    predicted: dict[str, FloatArray] = {}
    recovered: dict[str, Parts] = {}
    names: dict[str, IntArray] = {}
    best, same = selection.best_model(), bool((selection.epoch == selection.last).all())
    for at, model in (("last", selection.last_model()), ("selected", best))[: 1 if same else 2]:
        selection.load(model)
        output, parts = predict(replicas, data, slice(0, len(data.problem.order))), recovered_of(replicas)
        if isinstance(data.problem, RatingProblem):
            predicted[at], recovered[at] = output.cpu().numpy(), parts
        else:
            p = output.softmax(-1).cpu().numpy()
            names[at] = _name_classes(p, data, stage.training)
            predicted[at], recovered[at] = reorder_classes(p, names[at], -1), _reorder_parts(parts, names[at])
        omega = omega_of(replicas, data)
        if omega is not None:
            recovered[at]["omega"] = omega.double().cpu().numpy()
        if at == "last":
            loss, *_ = (v.double().cpu().numpy() for k, v in mean_loss(replicas, data).items() if k != "loss")
    if same:
        predicted["selected"], recovered["selected"] = predicted["last"], recovered["last"]
        names |= {"selected": names["last"]} if names else {}
    table = {name: np.stack(rows) for name, rows in state.history.items()}
    seconds = table.pop("seconds")[:, 0]
    return Outcome(
        table,
        selection.epoch.copy(),
        selection.last.copy(),
        predicted,
        recovered,
        names,
        kept.epochs(),
        {k: np.stack([_reorder_parts({k: one}, names["selected"])[k] for one in v]) for k, v in kept.parts().items()},
        loss,
        {name: value.detach().cpu().numpy() for name, value in best.items()},
        seconds,
    )


def _name_classes(probabilities: FloatArray, data: Data, training: TrainSettings) -> IntArray:
    """(S, C) the latent class behind each class."""
    if training.names == "as-trained":
        return np.tile(np.arange(probabilities.shape[-1]), (len(probabilities), 1))
    return match_names(probabilities[:, data.problem.splits["valid"]], data.problem.valid_label)


def _reorder_parts(parts: Parts, order: IntArray) -> Parts:
    named = {k: reorder_classes(v, order, -2) if k in _ROWS_ARE_CLASSES else v for k, v in parts.items()}
    return named | ({"q": reorder_classes(named["q"].astype(np.float32), order, -1)} if "q" in named else {})
