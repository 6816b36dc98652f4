"""A Streamlit server on a free port and a Chromium to view it, for tests, benchmarks and pictures."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, expect

ROOT = Path(__file__).resolve().parents[1]
APP = ROOT / "dashboard" / "app.py"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# Chromium would parse scripts a second time to find the lines of stack traces, collect garbage every few milliseconds,
# and load two pages of its address bar with every profile; the last switch replaces Playwright's own list, of which
# these pages need `PaintHolding` and what touches http addresses.
BRIEF = [
    "--js-flags=--no-enable-lazy-source-positions --min-semi-space-size=32 --max-semi-space-size=64",
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,PaintHolding,HttpsUpgrades,"
    "ThirdPartyStoragePartitioning,AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,MediaRouter,"
    "OptimizationHints,NetworkTimeServiceQuerying,PreconnectToSearch",
]


def chromium_path() -> str | None:
    """The system's Chromium."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def launch(playwright: Playwright, *flags: str) -> Browser:
    """Start the system's Chromium, headless; give a busy machine time."""
    expect.set_options(timeout=60_000)
    return playwright.chromium.launch(executable_path=chromium_path(), args=[*FLAGS, *flags])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(script: Path, *arguments: str, port: int = 0, **environment: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start a Streamlit script; return its process and address at once, before it listens."""
    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}", "--server.headless=true"]
    command += ["--browser.gatherUsageStats=false", "--", *arguments]
    log = None if os.environ.get("CROWDCORE_APP_LOG") else subprocess.DEVNULL
    env = {**os.environ, **environment}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log), f"http://localhost:{port}"


def wait_until_up(address: str, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    port = int(address.rsplit(":", 1)[1])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the app stopped with exit code {process.returncode}")
        try:
            socket.create_connection(("localhost", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"nothing listens on {address} after {seconds:.0f} s")


@contextmanager
def serving(
    script: Path = APP, *arguments: str, port: int = 0, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the address of a running app with a workspace of its own; the app ends with the block."""
    with tempfile.TemporaryDirectory() as workspace:
        process, address = start(
            script, *arguments, port=port, **{"CROWDCORE_WORKSPACE": workspace, **(environment or {})}
        )
        try:
            wait_until_up(address, process)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
