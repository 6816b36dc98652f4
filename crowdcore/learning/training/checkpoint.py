"""Checkpoints of a run: one safetensors file per generation, with identity and checksum in its metadata."""

from __future__ import annotations

import contextlib
import json
import os
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
from crowdcore.core.types import FloatArray
from crowdcore.learning.training.kept_epochs import Kept
from crowdcore.learning.training.optimiser import Optimiser
from crowdcore.learning.training.replicas import Replicas
from crowdcore.learning.training.selection import Selection

GENERATIONS = "epoch-*.safetensors"
"""Pattern of the files in a checkpoint's folder."""
_KEPT = 2  # generations


@dataclass(frozen=True)
class Checkpoint:
    """A folder that holds the state of one stack of replicas after its last epochs.

    Args:
        folder: where; made when first written.
        identity: what must be the same for a run to go on from here (dataset, method, settings, seeds).
        every: epochs between two writes.
        note: told when the disk does not take a checkpoint (training goes on, and the last good one stays), and when
            a broken one is passed over.
    """

    folder: Path
    identity: dict[str, Any]
    every: int = 1
    note: Callable[[str], None] = print

    @property
    def exists(self) -> bool:
        """Whether there is one that can be read."""
        return read_checkpoint(self.folder)[0] is not None

    def write(
        self,
        epoch: int,
        replicas: Replicas,
        optimiser: Optimiser,
        selection: Selection,
        history: dict[str, list[FloatArray]],
        kept: Kept,
    ) -> None:
        """Add the state after ``epoch`` (from 0), and drop all but the one before it.

        It is on the disk when this returns; a crash, a power cut or a full disk leaves those before.
        """
        values = {k: v.detach().contiguous() for k, v in _tensors(replicas, optimiser, selection).items()}
        values |= {f"selection.{k}": torch.from_numpy(v) for k, v in _scores(selection).items()}
        values |= {f"history.{k}": torch.from_numpy(np.stack(rows).astype(float)) for k, rows in history.items()}
        values |= {f"kept.{e}.{k}": torch.from_numpy(v) for e, parts in kept.at.items() for k, v in parts.items()}
        metadata = {"identity": json.dumps(self.identity), "epoch": str(epoch), "checksum": _checksum(values)}
        path = self.folder / f"epoch-{epoch:06}.safetensors"
        draft = path.with_suffix(".new")
        try:
            for folder in (self.folder.parent, self.folder):  # not what is around them: a deleted run stays deleted
                folder.mkdir(exist_ok=True)
            save_file(values, draft, metadata)
            _flush(draft)
            draft.replace(path)
            _flush(self.folder)
        except (OSError, SafetensorError) as error:
            draft.unlink(missing_ok=True)
            self.note(f"A checkpoint could not be written; an interrupted run would resume from an older one: {error}.")
            return
        for old in sorted(self.folder.glob(GENERATIONS))[:-_KEPT]:
            old.unlink()

    def read(
        self,
        replicas: Replicas,
        optimiser: Optimiser,
        selection: Selection,
        history: dict[str, list[FloatArray]],
        kept: Kept,
    ) -> int:
        """Put everything back; returns the epoch to go on with, 0 when there is no checkpoint that can be read.

        Raises:
            SettingError: the checkpoint is another run's.
        """
        found, broken = read_checkpoint(self.folder)
        for path in broken:
            instead = "begins again" if found is None else f"goes on after epoch {int(found[0]['epoch']) + 1}"
            self.note(f"The checkpoint {path.name} is broken: training {instead}.")
            with contextlib.suppress(OSError):
                path.replace(path.with_suffix(".broken"))
        if found is None:
            return 0
        metadata, saved = found
        identity = json.loads(metadata["identity"])
        differing = [k for k, v in self.identity.items() if identity.get(k) != json.loads(json.dumps(v))]
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
        for name, scores in _scores(selection).items():
            scores[:] = saved[f"selection.{name}"].numpy()
        for group, _, name in (key.partition(".") for key in saved):
            if group == "history":
                history[name] = list(saved[f"history.{name}"].numpy())
            elif group == "kept":
                epoch, _, part = name.partition(".")
                kept.at.setdefault(int(epoch), {})[part] = saved[f"kept.{name}"].numpy()
        return int(metadata["epoch"]) + 1


def read_checkpoint(folder: Path) -> tuple[tuple[dict[str, str], dict[str, Tensor]] | None, list[Path]]:
    """Metadata and tensors of the last whole generation in a folder (None: there is none), and the broken ones."""
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


def _flush(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _scores(selection: Selection) -> dict[str, Any]:
    """(S,) arrays, which the selection keeps; the score has the name that it has in older checkpoints."""
    return {"accuracy": selection.score} | {
        name: getattr(selection, name) for name in ("nll", "epoch", "last", "active")
    }


def _tensors(replicas: Replicas, optimiser: Optimiser, selection: Selection) -> dict[str, Tensor]:
    groups = {
        "now": replicas.tensors(),
        "optimiser": optimiser.tensors(),
        "best": selection.best,
        "final": selection.final,
    }
    return {f"{group}.{name}": value for group, tensors in groups.items() for name, value in tensors.items()}
