"""What trains before a method: the network on the votes, then one confusion per worker, from Dawid-Skene's or by trace.

A mixture of common and individual confusions has bad optima near the identity; a model of the workers alone finds its
way out of them, and its classifier and confusions are where the second stage begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from pydantic import Field

from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.method_settings import DirectStartSettings, NoiseLayerSettings
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.checkpoint import Checkpoint
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.loop import OnEpoch, Replica, make_replicas, run_epochs
from crowdcore.learning.training.start import counted_confusion
from crowdcore.learning.training.vote_stage import learn_votes, vote_epochs
from crowdcore.learning.training.worker_model import WorkerModel

_STRENGTH = {"dawid-skene": 0.0, "trace": 0.01}  # λ of the trace
_CLASSIFIER = "classifier."


class _Settings(NoiseLayerSettings):
    strength: float = Field(default=0.0, description="λ of the sum of traces.")


def first_stage_epochs(settings: Any, training: TrainSettings) -> int:
    """Epochs that come before the method's own."""
    return vote_epochs(settings, training) + _worker_epochs(settings, training)


def _worker_epochs(settings: Any, training: TrainSettings) -> int:
    if _starts_directly(settings) or getattr(settings, "start", "identity") not in _STRENGTH:
        return 0
    return max(1, round(float(settings.start_epochs) * training.epochs))


def start_modules(
    data: Data,
    modules: Sequence[CrowdMethod],
    stack: Sequence[Replica],
    training: TrainSettings,
    on_epoch: OnEpoch,
    checkpoint: Checkpoint | None,
    should_stop: Callable[[], bool],
) -> bool:
    """Put every module where ``vote_epochs`` and ``start`` say; replicas with the same start train side by side.

    Returns:
        Whether all stages came to their end; False when ``on_epoch`` stopped one.
    """
    whole, started = True, vote_epochs(stack[0].settings, training) > 0
    if started:
        ahead = first_stage_epochs(stack[0].settings, training)

        def told(epoch: int, metrics: Any, seconds: float) -> bool:
            return on_epoch(epoch - ahead, {}, seconds)

        whole = learn_votes(data, modules, stack, training, told, checkpoint, should_stop)
        should_stop = should_stop if whole else (lambda: True)
    for start in dict.fromkeys(getattr(r.settings, "start", "identity") for r in stack):
        members = [s for s, r in enumerate(stack) if getattr(r.settings, "start", "identity") == start]
        if start == "identity":
            continue
        settings: Any = stack[members[0]].settings
        if start == "votes" or _starts_directly(settings):
            aggregator = "majority-vote" if start == "votes" else "dawid-skene"
            for s in members:
                modules[s].start_from(torch.from_numpy(counted_confusion(data.problem, aggregator)).float())
            continue
        first = _Settings(noise_lr=settings.noise_lr, strength=_STRENGTH[start])
        replicas = [Replica(first, stack[s].seed) for s in members]
        epochs = _worker_epochs(settings, training)
        part = training.model_copy(update={"epochs": epochs, "names": "as-trained", "patience": None})
        own = None if checkpoint is None else replace(checkpoint, folder=checkpoint.folder / start)
        mine = [modules[s] for s in members]
        whole = _run(data, mine, replicas, part, start, on_epoch, own, should_stop, started) and whole
        started, should_stop = True, should_stop if whole else (lambda: True)
    return whole


def _starts_directly(settings: Any) -> bool:
    """Whether the method takes Dawid-Skene's estimates itself."""
    return isinstance(settings, DirectStartSettings)


def _run(
    data: Data,
    modules: Sequence[CrowdMethod],
    stack: Sequence[Replica],
    training: TrainSettings,
    start: str,
    on_epoch: OnEpoch,
    checkpoint: Checkpoint | None,
    should_stop: Callable[[], bool],
    started: bool,
) -> bool:
    first = make_replicas(data.problem, WorkerModel, stack, training)
    for module, mine in zip(first, modules, strict=True):
        module.classifier.load_state_dict(mine.classifier.state_dict())
    if start == "dawid-skene":
        confusion = torch.from_numpy(counted_confusion(data.problem, "dawid-skene")).float()
        for module in first:
            module.start_from(confusion)

    def told(epoch: int, metrics: Any, seconds: float) -> bool:
        return on_epoch(epoch - training.epochs, {}, seconds)

    trained = run_epochs(data, first, stack, training, told, checkpoint, should_stop, started)
    learnt, confusions = trained.replicas.tensors(), trained.replicas.call("recovered")["worker_confusion"]
    with torch.no_grad():
        for s, module in enumerate(modules):
            state = {k: v[s].cpu() for k, v in learnt.items() if k.startswith(_CLASSIFIER)}
            module.load_state_dict(state, strict=False)
            module.start_from(confusions[s].cpu())
    return len(trained.history["loss"]) == training.epochs
