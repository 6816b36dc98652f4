"""Asking the record of runs: what goes wrong is one sentence, and a lock is said at once and waited for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from crowdcore.runs.record_errors import explained
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from mlflow import MlflowClient

__all__ = ["Record", "ask", "patient"]

_T = TypeVar("_T")
_patience = 0.0  # seconds
_PAUSE = 0.2  # seconds between two attempts
_log = logging.getLogger("crowdcore.runs")  # without handlers, warnings go to standard error


@contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Within, a record that is locked or out of reach is tried again, after a warning; pages do not wait.

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
    end, told = time.monotonic() + _patience, False
    while True:
        try:
            return question()
        except Exception as error:
            fault = explained(error, workspace)
            if fault is None:
                raise
            if not fault.passes or time.monotonic() > end:
                raise fault from error
            if not told:
                _log.warning("%s It is tried again for %.0f s.", fault, _patience)
                told = True
            time.sleep(_PAUSE)


class Record:
    """MLflow's client for one workspace, each of whose methods is asked by `ask`."""

    def __init__(self, client: MlflowClient, workspace: Workspace) -> None:
        self._client, self._workspace = client, workspace

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *arguments, **named: ask(self._workspace, lambda: method(*arguments, **named))
