"""A workspace with a small dataset and an engine of its own, and a look at the processes that belong to it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdcore import runs
from crowdcore.data.rows import Rows
from crowdcore.data.writers import write_folder
from crowdcore.runs.locks import Note, leased
from crowdcore.runs.workspace import Workspace
from testkit.crowds import simulate_crowd

LONG = 100_000  # epochs that no test waits for
ENGINE, WORKER = "crowdcore.runs.engine_process", "multiprocessing.spawn"  # words of their command lines


def make_dataset(folder: Path, name: str = "tiny") -> Path:
    """200 tasks of 4 well separated classes, uploaded to a workspace; an epoch of `spec` takes some 50 ms."""
    crowd = simulate_crowd(200, 6, 4)
    rng = np.random.default_rng(1)
    features = (3 * rng.standard_normal((4, 6))[crowd.gold] + rng.standard_normal((200, 6))).astype(np.float32)
    split = np.repeat([0, 1, 2], [100, 50, 50]).astype(np.int8)
    crowd = replace(crowd, features=Rows.from_array(features), split=split)
    (folder / "datasets").mkdir(exist_ok=True)
    return write_folder(crowd.where(split[crowd.task] == 0), folder / "datasets" / name)


def spec(epochs: int, dataset: str = "tiny", **fields: Any) -> runs.RunSpec:
    """A run of ``epochs`` epochs."""
    settings = {"epochs": epochs, "batch_size": 4, "patience": None, **fields.pop("settings", {})}
    return runs.RunSpec(dataset=dataset, method="dl-mv", settings=settings, device="cpu", **fields)


@contextmanager
def workspace_at(folder: Path, **environment: str) -> Iterator[Workspace]:
    """A workspace whose engine ends with the block and leaves no process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MLFLOW_TRACKING_URI", "CROWDCORE_SCHEDULER", "CROWDCORE_SLOTS", "CROWDCORE_ENGINE_IDLE"):
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        folder.mkdir(exist_ok=True)
        workspace = Workspace.open(folder)
        make_dataset(folder)
        try:
            yield workspace
        finally:
            runs.stop_engine(workspace=workspace)
            until(lambda: not processes(workspace), 30, "no process is left")


def processes(workspace: Workspace, what: str = "") -> list[int]:
    """Living processes of a workspace's engine whose command line has these words."""
    names = []
    mark = f"CROWDCORE_WORKSPACE={workspace.folder}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        if what in command:
            names.append(int(entry.name))
    return names


def leave(workspace, run_id, **note):
    """Write the lock note of a supervisor that is gone."""
    with leased(workspace.run_folder(run_id)) as lease:
        lease.write(Note(**{"supervisor": 1, "child": 1, "host": socket.gethostname(), **note}))


def until(condition: Callable[[], Any], seconds: float = 60, what: str = "") -> Any:
    """Wait for a value to become true, and return it; calls take at most a fifth of the time, so as not to delay it."""
    end = time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        if value := condition():
            return value
        time.sleep(max(0.05, 4 * (time.monotonic() - start)))
    raise AssertionError(f"not within {seconds:.0f} s: {what or condition}")
