"""Run the command line with its arguments and read what it printed and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from crowdcore.cli import main


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
def refused(run: Callable[..., Done]) -> Callable[..., str]:
    """``refused("info", "nope")`` must end with exit code 2 and one line on standard error, which it returns."""

    def call(*arguments: object) -> str:
        done = run(*arguments)
        assert done.code == 2, done
        assert len(done.err.strip().splitlines()) == 1, done.err
        return done.err

    return call
