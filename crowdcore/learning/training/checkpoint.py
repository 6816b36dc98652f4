"""State of a stack of replicas: selection of the best epoch, and checkpoints.

A checkpoint is one safetensors file per generation, with identity and checksum in its metadata.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from crowdcore.core.errors import SettingError
from crowdcore.core.files import flush, replacing
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.learning.settings import drop_retired
from crowdcore.learning.training.evaluation import KeptEpochs
from crowdcore.learning.training.steps import Optimiser, Replicas

GENERATIONS = "epoch-*.safetensors"
"""Pattern of the files in a checkpoint's folder."""
_KEPT = 2  # generations


class Selection:
    """Keeps the model of each replica's best epoch and, once stopped, of its last.

    Best is the highest validation score: accuracy, of taggers the F1 of spans (nearly all tokens are outside of spans,
    so that accuracy hardly differs between taggers), of ratings minus the RMSE; among equals, the lowest NLL (small
    validation sets tie often).

    Args:
        replicas: the stack.
        patience: epochs without a better score after which a replica stops, or None.

    Attributes:
        score: (S,) best score so far, -inf at first.
        nll: (S,) NLL of that epoch.
        epoch: (S,) its epoch, from 0.
        last: (S,) last epoch of each replica.
        active: (S,) True for replicas that still train.
    """

    def __init__(self, replicas: Replicas, patience: int | None) -> None:
        self.replicas, self.patience = replicas, patience
        n = replicas.size
        self.score: FloatArray = np.full(n, -np.inf)
        self.nll: FloatArray = np.full(n, np.inf)
        self.epoch: IntArray = np.zeros(n, np.int64)
        self.last: IntArray = np.full(n, -1, np.int64)
        self.active: BoolArray = np.ones(n, bool)
        self.best = self._copy()
        self.final = self._copy() if patience is not None else {}

    def _current(self) -> dict[str, Tensor]:
        tensors = self.replicas.tensors()
        return {name: tensors[name].detach() for name in self.replicas.model}

    def _copy(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._current().items()}

    def update(self, epoch: int, score: FloatArray | None, nll: FloatArray | None) -> None:
        """Compare an epoch's validation scores (S,) with the best; without scores the last epoch is the best."""
        self.last[self.active] = epoch
        if score is None or nll is None:
            self.epoch[:] = self.last
            return
        better = self.active & ((score > self.score) | ((score == self.score) & (nll < self.nll)))
        self._keep(self.best, better)
        self.epoch[better], self.score[better], self.nll[better] = epoch, score[better], nll[better]
        if self.patience is not None:
            stopping = self.active & (epoch - self.epoch >= self.patience)
            self._keep(self.final, stopping)
            self.active = self.active & ~stopping

    def _keep(self, model: dict[str, Tensor], replicas: BoolArray) -> None:
        for name, value in self._current().items():
            if replicas.all():
                model[name].copy_(value)
            else:
                for s in np.flatnonzero(replicas):
                    model[name][s].copy_(value[s])

    def best_model(self) -> dict[str, Tensor]:
        """name -> (S, ...): each replica's model of its best epoch."""
        return self.last_model() if np.isneginf(self.score).all() else self.best

    def last_model(self) -> dict[str, Tensor]:
        """name -> (S, ...): each replica's model after its last epoch."""
        model = self._copy()
        for name, value in self.final.items():
            for s in np.flatnonzero(~self.active):
                model[name][s].copy_(value[s])
        return model

    def load(self, model: dict[str, Tensor]) -> None:
        """Copy a model into the replicas."""
        with torch.no_grad():
            for name, value in self._current().items():
                value.copy_(model[name])


@dataclass(frozen=True, eq=False)
class State:
    """Everything that changes while a stack trains; ``history`` is metric -> one (S,) array per epoch."""

    replicas: Replicas
    optimiser: Optimiser
    selection: Selection
    kept: KeptEpochs
    history: dict[str, list[FloatArray]]

    def tensors(self) -> dict[str, Tensor]:
        """Parameters, buffers, moments and selected models by name; changing them in place changes the state."""
        groups = {
            "now": self.replicas.tensors(),
            "optimiser": self.optimiser.tensors(),
            "best": self.selection.best,
            "final": self.selection.final,
        }
        return {f"{group}.{name}": value for group, tensors in groups.items() for name, value in tensors.items()}

    def scores(self) -> dict[str, Any]:
        """(S,) arrays of the selection; "accuracy" is the score's name in files since the first version."""
        own = self.selection
        return {"accuracy": own.score, **{k: getattr(own, k) for k in ("nll", "epoch", "last", "active")}}


@dataclass(frozen=True)
class Checkpoint:
    """A folder with the state of one stack of replicas after its last epochs.

    Args:
        folder: created by the first `write`.
        identity: values that must be equal for a run to resume from here (dataset, method, settings, seeds).
        every: epochs between two writes.
        note: called when a checkpoint cannot be written (training goes on, and the last good one stays), and when a
            broken one is skipped.
    """

    folder: Path
    identity: dict[str, Any]
    every: int = 1
    note: Callable[[str], None] = print

    @property
    def exists(self) -> bool:
        """True if there is a readable checkpoint."""
        return read_checkpoint(self.folder)[0] is not None

    def write(self, epoch: int, state: State) -> None:
        """Add the state after ``epoch`` (from 0), and drop all but the generation before it.

        The file is on the disk when this returns; a crash, a power cut or a full disk leaves the earlier ones.
        """
        values = {k: v.detach().contiguous() for k, v in state.tensors().items()}
        values |= {f"selection.{k}": torch.from_numpy(v) for k, v in state.scores().items()}
        values |= {f"history.{k}": torch.from_numpy(np.stack(v).astype(float)) for k, v in state.history.items()}
        values |= {f"kept.{e}.{k}": torch.from_numpy(v) for e, parts in state.kept.at.items() for k, v in parts.items()}
        metadata = {"identity": json.dumps(self.identity), "epoch": str(epoch), "checksum": _checksum(values)}
        path = self.folder / f"epoch-{epoch:06}.safetensors"
        try:
            for folder in (self.folder.parent, self.folder):  # no further parents: a deleted run stays deleted
                folder.mkdir(exist_ok=True)
            with replacing(path, draft=f"{path.stem}.new") as draft:
                save_file(values, draft, metadata)
                flush(draft)
            flush(self.folder)
        except (OSError, SafetensorError) as error:
            self.note(f"A checkpoint could not be written; an interrupted run would resume from an older one: {error}.")
            return
        for old in sorted(self.folder.glob(GENERATIONS))[:-_KEPT]:
            old.unlink()

    def read(self, state: State) -> int:
        """Restore the state; returns the next epoch, 0 without a readable checkpoint.

        Raises:
            SettingError: the checkpoint belongs to another run.
        """
        last, broken = read_checkpoint(self.folder)
        for path in broken:
            instead = "begins again" if last is None else f"goes on after epoch {int(last[0]['epoch']) + 1}"
            self.note(f"The checkpoint {path.name} is broken: training {instead}.")
            with contextlib.suppress(OSError):
                path.replace(path.with_suffix(".broken"))
        if last is None:
            return 0
        metadata, saved = last
        identity = json.loads(metadata["identity"])
        identity["training"] = drop_retired(identity.get("training", {}))
        differing = [k for k, v in self.identity.items() if identity.get(k) != json.loads(json.dumps(v))]
        if differing:
            raise SettingError(
                "checkpoint",
                f"belong to this run, whose {', '.join(differing)} differ",
                str(self.folder),
                "Choose another folder, or delete it to start anew.",
            )
        if not state.tensors().keys() <= saved.keys():
            self.note("The checkpoint is of another version of crowdcore: training begins again.")
            return 0
        with torch.no_grad():
            for name, value in state.tensors().items():
                value.copy_(saved[name])
        for name, scores in state.scores().items():
            scores[:] = saved[f"selection.{name}"].numpy()
        for group, _, name in (key.partition(".") for key in saved):
            if group == "history":
                state.history[name] = list(saved[f"history.{name}"].numpy())
            elif group == "kept":
                epoch, _, part = name.partition(".")
                state.kept.at.setdefault(int(epoch), {})[part] = saved[f"kept.{name}"].numpy()
        return int(metadata["epoch"]) + 1


def read_checkpoint(folder: Path) -> tuple[tuple[dict[str, str], dict[str, Tensor]] | None, list[Path]]:
    """Metadata and tensors of the last intact generation in a folder, or None; and the broken ones after it."""
    broken: list[Path] = []
    for path in sorted(folder.glob(GENERATIONS), reverse=True):
        try:
            with safe_open(path, "pt") as file:
                metadata: dict[str, str] = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it has no iterator
        except (OSError, SafetensorError):
            metadata, tensors = {}, {}
        if metadata.get("checksum") == _checksum(tensors):
            return (metadata, tensors), broken
        broken.append(path)
    return None, broken


def _checksum(values: Mapping[str, Tensor]) -> str:
    """CRC-32 over names and contents."""
    total = 0
    for name in sorted(values):
        content = values[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        total = zlib.crc32(content.numpy().data, zlib.crc32(name.encode(), total))
    return f"{total:08x}"
