"""The local server, and a cache of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data.sources.server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, moved into the test's folder; nothing else is searched for datasets."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_args: str(tmp_path / "cache"))
    monkeypatch.setenv("CROWDCORE_DATA", "")
    return tmp_path / "cache" / "datasets"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.data.sources._download.time.sleep", lambda _seconds: None)
