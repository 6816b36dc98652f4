"""What the engine keeps in the workspace so that it is found again."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["EngineFiles", "read_json", "write_json"]


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object; empty when it is not there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file as a whole, for its owner alone: readers see the old one or the new one."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as written:
        json.dump(value, written)
    draft.replace(path)


@dataclass(frozen=True)
class EngineFiles:
    """Paths below ``<workspace>/engine``.

    Args:
        workspace: the workspace's folder.
    """

    workspace: Path

    @property
    def folder(self) -> Path:
        """Only its owner may look in: its key lets one run code."""
        return self.workspace / "engine"

    def make(self) -> None:
        """Make the folder; an engine whose workspace was deleted does not bring it back."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def lock(self) -> Path:
        """Held by the engine as long as it lives."""
        return self.folder / "engine.lock"

    @property
    def engine(self) -> Path:
        """Process and host of the engine."""
        return self.folder / "engine.json"

    @property
    def state(self) -> Path:
        """What `engine_state` says."""
        return self.folder / "state.json"

    @property
    def scheduler(self) -> Path:
        """Dask's scheduler file."""
        return self.folder / "scheduler.json"

    @property
    def key(self) -> Path:
        """Private key and certificate by which the engine's own scheduler and workers know each other."""
        return self.folder / "key.pem"

    @property
    def poke(self) -> Path:
        """Touched when there is something to do."""
        return self.folder / "poke"

    @property
    def wanted(self) -> Path:
        """There as long as runs wait or go on."""
        return self.folder / "wanted"

    @property
    def scratch(self) -> Path:
        """Dask's own."""
        return self.folder / "scratch"

    def log(self, name: str) -> Path:
        """What a process of the engine said last."""
        return self.folder / f"{name}.log"

    def poked(self) -> int:
        """When somebody last asked for something, in nanoseconds; 0 = never."""
        try:
            return self.poke.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def do_poke(self) -> None:
        """Ask the engine to look."""
        self.make()
        self.poke.touch()
        now = time.time_ns()
        os.utime(self.poke, ns=(now, now))
