"""What the engine keeps in the workspace so that it is found again."""

from __future__ import annotations

import os
import time
from pathlib import Path


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
