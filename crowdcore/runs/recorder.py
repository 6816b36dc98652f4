"""`Recorder`: writes the events of a training run to the record, from its own thread and without losses."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdcore.core import forkserver
from crowdcore.core.processes import ProcessorShare
from crowdcore.core.types import FloatArray
from crowdcore.learning.training.events import Event, NoteEvent
from crowdcore.runs.locks import Ending
from crowdcore.runs.record import client_of
from crowdcore.runs.store import log_progress
from crowdcore.runs.workspace import Workspace

_EVERY = 1.0  # seconds between two batches
_LOOK, _CROWDED = 5.0, 0.5  # seconds between checks of the processors; share of them below which the run is slow
_BATCH = 500  # numbers in one write (MLflow takes 1,000)
_GRACE = 20.0  # seconds that an orphan has to end its epoch
_PATIENCE = 300.0  # seconds that the end of a run waits for a record that does not answer


class Recorder:
    """Records means over seeds and the progress of one run; a locked or lost database is retried."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self._workspace, self._run_id = workspace, run_id
        client_of(workspace)  # loads MLflow
        self._values: dict[tuple[str, int], dict[int, float]] = {}  # (metric, epoch) -> seed -> value
        self._pending: list[tuple[str, float, int, int]] = []  # metric, value, milliseconds, epoch
        self._progress: dict[str, Any] = {}
        self._written: dict[str, Any] = {}  # progress in the record; a first stage writes nothing else
        self._share, self._crowded, self._looked = ProcessorShare(), False, time.monotonic()
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._write_on, name="recorder", daemon=True)
        self._failing = False
        self.deleted = False
        """True if the run has been deleted meanwhile."""
        self._orphaned_since: float | None = None

    def __enter__(self) -> Recorder:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._ending.set()
        self._thread.join()

    @property
    def orphaned(self) -> bool:
        """True if the supervising process is gone; this process then ends by itself, or is ended."""
        return self._orphaned_since is not None

    def listen(self, event: Event) -> None:
        """Take an event of the training, and return at once."""
        if isinstance(event, NoteEvent):
            print(event.message, flush=True)
            return
        self._take(event.epoch, event.seeds, event.metrics)
        if time.monotonic() - self._looked > _LOOK:
            self._crowded, self._looked = self._share.measure() < _CROWDED, time.monotonic()
        with self._lock:
            self._progress = {
                "epoch": event.epoch,
                "epochs": event.epochs,
                "first_stage": event.first_stage,
                "done": round(event.done, 5),
                "remaining": round(event.remaining, 1),
                "crowded": self._crowded,
            }

    def restore(self, seeds: Sequence[int], history: Mapping[str, FloatArray]) -> None:
        """Take a checkpoint's epochs, (epochs, S) per metric: a killed child may not have written the last ones."""
        for epoch in range(max((len(rows) for rows in history.values()), default=0)):
            self._take(epoch + 1, seeds, {n: np.asarray(rows[epoch]) for n, rows in history.items() if n != "seconds"})

    def _take(self, epoch: int, seeds: Sequence[int], metrics: Mapping[str, FloatArray]) -> None:
        at = int(time.time() * 1000)
        for name, values in metrics.items():
            known = self._values.setdefault((name, epoch), {})
            known.update({s: float(v) for s, v in zip(seeds, values, strict=True) if np.isfinite(v)})
            rows = spread(name, list(known.values()))
            with self._lock:
                self._pending += [(key, value, at, epoch) for key, value in rows.items()]

    def _write_on(self) -> None:
        deadline = None
        while True:
            ending = self._ending.wait(_EVERY)
            if ending and deadline is None:
                deadline = time.monotonic() + _PATIENCE
            self._watch()
            if self._has_news():
                self._write()
            if ending and (not self._has_news() or self.deleted or time.monotonic() > (deadline or 0.0)):
                return

    def _has_news(self) -> bool:
        with self._lock:
            return bool(self._pending) or self._progress != self._written

    def _write(self) -> None:
        """Write one batch; keep it if that fails."""
        with self._lock:
            batch = self._pending[:_BATCH]
            progress = dict(self._progress)
        try:
            log_progress(self._run_id, progress, batch, workspace=self._workspace)
        except Exception as error:  # a locked file, a lost server, a full disk: all are transient
            self._note_failure(error)
            return
        if self._failing:
            print("The record can be written again; nothing was lost.", flush=True)
            self._failing = False
        with self._lock:
            del self._pending[: len(batch)]
            self._written = progress

    def _note_failure(self, error: Exception) -> None:
        if not self._failing:
            print(f"The record cannot be written now and is tried again: {error}", flush=True)
        self._failing = True
        if "deleted" in str(error) or getattr(error, "error_code", "") == "RESOURCE_DOES_NOT_EXIST":
            self.deleted = True

    def _watch(self) -> None:
        self.deleted = self.deleted or not self._workspace.run_folder(self._run_id).exists()
        if self._orphaned_since is None and forkserver.caller_is_gone():
            self._orphaned_since = time.monotonic()
        if self._orphaned_since is not None and time.monotonic() - self._orphaned_since > _GRACE:
            os._exit(Ending.LOST.code)  # the last checkpoint stays


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """Mean over seeds under the name itself and, from two seeds on, the standard deviation under ``<name>_std``."""
    finite = [v for v in values if np.isfinite(v)]
    if not finite:
        return {}
    return {name: float(np.mean(finite))} | ({f"{name}_std": float(np.std(finite, ddof=1))} if len(finite) > 1 else {})


def checkpointed(folder: Path) -> list[tuple[list[int], dict[str, FloatArray]]]:
    """Seeds and per-epoch history of every stack in a checkpoint folder; broken ones are skipped."""
    from crowdcore.learning.training.checkpoint import read_checkpoint

    stacks = []
    for stack in sorted(folder.glob("*/")):
        whole, _ = read_checkpoint(stack)
        if whole is not None:
            metadata, tensors = whole
            seeds = [seed for _, seed in json.loads(metadata["identity"])["replicas"]]
            history = {k.removeprefix("history."): v.numpy() for k, v in tensors.items() if k.startswith("history.")}
            stacks.append((seeds, history))
    return stacks
