"""Checkpoint of a run in two files: tensors as safetensors, the rest as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import FloatArray
from crowdcore.learning.training.kept_epochs import Kept
from crowdcore.learning.training.optimiser import Optimiser
from crowdcore.learning.training.replicas import Replicas
from crowdcore.learning.training.selection import Selection

__all__ = ["Checkpoint"]


@dataclass(frozen=True)
class Checkpoint:
    """A folder that holds the state of one stack of replicas after some epoch.

    Args:
        folder: where; made when first written.
        identity: what must be the same for a run to go on from here (dataset, method, settings, seeds).
        every: epochs between two writes.
        note: told when the disk does not take a checkpoint; training goes on without, and the last good one stays.
    """

    folder: Path
    identity: dict[str, Any]
    every: int = 1
    note: Callable[[str], None] = print

    @property
    def _state(self) -> Path:
        return self.folder / "state.json"

    @property
    def exists(self) -> bool:
        """Whether something was written."""
        return self._state.is_file()

    def write(
        self,
        epoch: int,
        replicas: Replicas,
        optimiser: Optimiser,
        selection: Selection,
        history: dict[str, list[FloatArray]],
        kept: Kept,
    ) -> None:
        """Replace the checkpoint by the state after ``epoch`` (from 0); a crash or a full disk leaves the old one."""
        tensors = f"epoch-{epoch}.safetensors"
        state = {
            "identity": self.identity,
            "epoch": epoch,
            "tensors": tensors,
            "accuracy": selection.accuracy.tolist(),
            "nll": selection.nll.tolist(),
            "best_epoch": selection.epoch.tolist(),
            "last_epoch": selection.last.tolist(),
            "active": selection.active.tolist(),
            "history": {name: np.stack(rows).tolist() for name, rows in history.items()},
        }
        temporary = self._state.with_suffix(".tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            values = {k: v.detach().contiguous() for k, v in _tensors(replicas, optimiser, selection).items()}
            values |= {f"kept.{e}.{k}": torch.from_numpy(v) for e, parts in kept.at.items() for k, v in parts.items()}
            save_file(values, self.folder / tensors)
            temporary.write_text(json.dumps(state))
            temporary.replace(self._state)
        except (OSError, SafetensorError) as error:
            (self.folder / tensors).unlink(missing_ok=True)
            temporary.unlink(missing_ok=True)
            self.note(f"A checkpoint could not be written; an interrupted run would go on from an older one: {error}.")
            return
        for old in self.folder.glob("epoch-*.safetensors"):
            if old.name != tensors:
                old.unlink()

    def read(
        self,
        replicas: Replicas,
        optimiser: Optimiser,
        selection: Selection,
        history: dict[str, list[FloatArray]],
        kept: Kept,
    ) -> int:
        """Put everything back; returns the epoch to go on with, 0 when there is no checkpoint.

        Raises:
            SettingError: the checkpoint is another run's.
            DataError: its files are broken.
        """
        if not self.exists:
            return 0
        try:
            state = json.loads(self._state.read_text())
            saved = load_file(self.folder / state["tensors"])
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise DataError(f"This checkpoint cannot be read: {error}", file=self.folder) from error
        differing = [k for k, v in self.identity.items() if state["identity"].get(k) != json.loads(json.dumps(v))]
        if differing:
            raise SettingError(
                "checkpoint",
                f"belong to this run, whose {', '.join(differing)} differ",
                str(self.folder),
                "Choose another folder, or delete it to start anew.",
            )
        with torch.no_grad():
            for name, value in _tensors(replicas, optimiser, selection).items():
                value.copy_(saved[name])
        selection.accuracy[:] = state["accuracy"]
        selection.nll[:] = state["nll"]
        selection.epoch[:] = state["best_epoch"]
        selection.last[:] = state["last_epoch"]
        selection.active[:] = state["active"]
        for name in (name for name in saved if name.startswith("kept.")):
            _, epoch, part = name.split(".")
            kept.at.setdefault(int(epoch), {})[part] = saved[name].numpy()
        history.update({name: list(np.array(rows, float)) for name, rows in state["history"].items()})
        return int(state["epoch"]) + 1


def _tensors(replicas: Replicas, optimiser: Optimiser, selection: Selection) -> dict[str, Tensor]:
    groups = {
        "now": replicas.tensors(),
        "optimiser": optimiser.tensors(),
        "best": selection.best,
        "final": selection.final,
    }
    return {f"{group}.{name}": value for group, tensors in groups.items() for name, value in tensors.items()}
