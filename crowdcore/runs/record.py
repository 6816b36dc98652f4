"""Asking the record of runs: what goes wrong is one sentence, and a lock is said at once and waited for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from crowdcore.runs.patience import insist
from crowdcore.runs.record_errors import explained
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from mlflow import MlflowClient

_T = TypeVar("_T")
_patience = 0.0  # seconds


@contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Within, a record that is locked or out of reach is tried again, and standard error says so; pages do not wait.

    Args:
        seconds: for how long; SQLite itself waits for 3 s each time.
    """
    global _patience
    before, _patience = _patience, seconds
    try:
        yield
    finally:
        _patience = before


def ask(workspace: Workspace, question: Callable[[], _T]) -> _T:
    """The answer of the record of a workspace.

    Raises:
        RecordError: there is none, and why.
    """

    def asked() -> _T:
        try:
            return question()
        except Exception as error:
            fault = explained(error, workspace)
            if fault is None or fault is error:
                raise
            raise fault from error

    return insist(asked, patience=_patience, say=_say)


def _say(fault: Exception) -> None:
    print(f"{fault} It is tried again for {_patience:.0f} s.", file=sys.stderr, flush=True)


class Record:
    """MLflow's client for one workspace, each of whose methods is asked by `ask`."""

    def __init__(self, client: MlflowClient, workspace: Workspace) -> None:
        self._client, self._workspace = client, workspace

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *arguments, **named: ask(self._workspace, lambda: method(*arguments, **named))
