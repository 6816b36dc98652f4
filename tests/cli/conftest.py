"""Run the command line with its arguments and read what it printed and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crowdcore import cli
from crowdcore.cli import main
from crowdcore.core.errors import CrowdError


@pytest.fixture
def workspace_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the workspace that commands use; nothing is there yet."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path / "workspace"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``run("info", "demo")``: exit code, standard output, standard error."""

    def call(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        return Done(int(ended.value.code or 0), *capfd.readouterr())

    return call


@pytest.fixture
def crowdcore(run: Callable[..., Done]) -> Callable[..., Any]:
    """``crowdcore("info", "demo")`` runs with ``--json`` and returns what it printed; it must succeed."""

    def call(*arguments: object) -> Any:
        done = run(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    return call


@pytest.fixture
def refused(run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """``refused("info", "nope")`` ends with exit code 2 and one line on standard error; returns the error behind it."""
    raised: list[Exception] = []
    execute = cli.execute

    def noting(arguments: list[str] | None = None) -> None:
        try:
            execute(arguments)
        except (CrowdError, OSError) as error:
            raised.append(error)
            raise

    monkeypatch.setattr(cli, "execute", noting)

    def call(*arguments: object) -> Any:
        raised.clear()
        done = run(*arguments)
        assert done.code == 2, done
        assert len(done.err.strip().splitlines()) == 1, done.err
        return raised[0]

    return call
