"""What the engine keeps in the workspace so that it is found again."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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


class EngineFiles:
    """Paths below ``<workspace>/engine``.

    Args:
        workspace: the workspace's folder.

    Attributes:
        folder: only its owner may look in, as its key lets one run code.
        lock: held by the engine as long as it lives.
        note: process and host of the engine, and what `engine_state` says.
        key: private key and certificate by which the engine's own scheduler and workers know each other.
        wanted: there as long as runs wait or go on; touched when there is something to do.
        scratch: Dask's own.
    """

    def __init__(self, workspace: Path) -> None:
        self.folder = workspace / "engine"
        self.lock = self.folder / "engine.lock"
        self.note = self.folder / "engine.json"
        self.key = self.folder / "key.pem"
        self.wanted = self.folder / "wanted"
        self.scratch = self.folder / "scratch"

    def asked(self) -> int:
        """When somebody last asked for something, in nanoseconds; 0 = nothing is wanted."""
        try:
            return self.wanted.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def ask(self) -> None:
        """Ask the engine to look, and whoever looks to start one."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.wanted.touch()
        now = time.time_ns()
        os.utime(self.wanted, ns=(now, now))
