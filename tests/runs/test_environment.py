from __future__ import annotations

import getpass
import socket
from importlib.metadata import version
from pathlib import Path

import pytest

from crowdcore.runs.train_process import environment


def test_versions_and_machine_but_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "tok-0123456789")
    found = environment()
    assert found["torch"] == version("torch")
    assert found["mlflow"] == version("mlflow")
    assert {"crowdcore", "python", "system", "machine", "cores"} <= found.keys()
    text = " ".join(found.values())
    for private in ("tok-0123456789", socket.gethostname(), str(Path.home()), f"/{getpass.getuser()}"):
        assert private not in text
