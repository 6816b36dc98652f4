"""What may come before everything else: the network alone learns the majority vote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import torch

from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.methods.dl_mv import DlMv
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.checkpoint import Checkpoint
from crowdcore.learning.training.data import Data
from crowdcore.learning.training.loop import OnEpoch, Replica, make_replicas, run_epochs

_CLASSIFIER = "classifier."


def vote_epochs(settings: Any, training: TrainSettings) -> int:
    """Epochs on the vote shares that a method's settings ask for."""
    share = float(getattr(settings, "vote_epochs", 0))
    return max(1, round(share * training.epochs)) if share else 0


def learn_votes(
    data: Data,
    modules: Sequence[CrowdMethod],
    stack: Sequence[Replica],
    training: TrainSettings,
    on_epoch: OnEpoch,
    checkpoint: Checkpoint | None,
    should_stop: Callable[[], bool],
) -> bool:
    """Train the modules' classifiers as `dl-mv` does, for `vote_epochs` of the stack's settings.

    Returns:
        Whether it came to its end; False when ``on_epoch`` stopped it.
    """
    part = training.model_copy(
        update={"epochs": vote_epochs(stack[0].settings, training), "names": "as-trained", "patience": None}
    )
    settings = DlMv.Settings()
    voted = copy(data)
    voted.target = torch.from_numpy(DlMv.targets(data.problem, settings)).to(data.worker.device)
    first = make_replicas(data.problem, DlMv, [Replica(settings, r.seed) for r in stack], part)
    own = None if checkpoint is None else replace(checkpoint, folder=checkpoint.folder / "votes")
    trained = run_epochs(voted, first, [Replica(settings, r.seed) for r in stack], part, on_epoch, own, should_stop)
    learnt = trained.replicas.tensors()
    for s, module in enumerate(modules):
        state = {k.removeprefix(_CLASSIFIER): v[s].cpu() for k, v in learnt.items() if k.startswith(_CLASSIFIER)}
        module.classifier.load_state_dict(state)
    return len(trained.history["loss"]) == part.epochs
