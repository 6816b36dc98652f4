"""`Run`: what the record says of one run, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from crowdcore.runs.spec import RunSpec

if TYPE_CHECKING:
    import mlflow.entities

__all__ = ["ENDED", "STATES", "STATUS", "TAG", "Run", "State", "read_run"]

State = Literal["queued", "running", "finished", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
ENDED: tuple[State, ...] = ("finished", "failed", "cancelled")
STATUS: Mapping[State, str] = {
    "queued": "SCHEDULED",
    "running": "RUNNING",
    "finished": "FINISHED",
    "failed": "FAILED",
    "cancelled": "KILLED",
}
"""State -> what MLflow calls it."""
TAG = "crowdcore."
"""Begin of the names of our tags: spec, message, progress, heartbeat, started, device, priority, result …"""

_STATE = {status: state for state, status in STATUS.items()}


@dataclass(frozen=True)
class Run:
    """A run as it stood when the record was read.

    Args:
        id: 32 hexadecimal digits, MLflow's run id.
        spec: what was asked for.
        state: queued, running, finished, failed or cancelled.
        message: why it failed or was cancelled, what was resumed; "" when there is nothing to say.
        epoch: epochs done.
        epochs: how many there will be at most; 0 while unknown.
        done: share of the run that is done, 0…1.
        remaining: seconds to go; None while unknown.
        created: when it was asked for, UTC.
        started: when its (last) child began.
        ended: when it came to its end.
        device: where it runs, in words.
        scores: last known means over seeds, such as ``test_accuracy`` and ``test_accuracy_std``; with a result also
            ``test_accuracy_selected``, ``…_last``, ``…_best`` and their ``…_std``.
        heartbeat: when its child last gave a sign of life.
        has_result: whether `result` has something to give.
    """

    id: str
    spec: RunSpec
    state: State
    message: str = ""
    epoch: int = 0
    epochs: int = 0
    done: float = 0.0
    remaining: float | None = None
    created: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    device: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    heartbeat: datetime | None = None
    has_result: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come by itself."""
        return self.state in ENDED


def read_run(entry: mlflow.entities.Run) -> Run | None:
    """MLflow's record of a run; None when it is not one of ours, or its tags were broken by hand."""
    tags: dict[str, str] = entry.data.tags
    try:
        spec = RunSpec(**json.loads(tags[f"{TAG}spec"]))
        progress: dict[str, Any] = json.loads(tags.get(f"{TAG}progress", "{}"))
        priority = int(tags.get(f"{TAG}priority", spec.priority))
    except (KeyError, ValueError, TypeError):
        return None
    state = _STATE.get(entry.info.status, "failed")
    return Run(
        id=entry.info.run_id,
        spec=spec if priority == spec.priority else spec.model_copy(update={"priority": priority}),
        state=state,
        message=tags.get(f"{TAG}message", ""),
        epoch=progress.get("epoch", 0),
        epochs=progress.get("epochs", 0) or _asked(spec),
        done=1.0 if state == "finished" else progress.get("done", 0.0),
        remaining=progress.get("remaining") if state == "running" else None,
        created=_when(entry.info.start_time),
        started=_tagged(tags, "started"),
        ended=_when(entry.info.end_time) if state in ENDED else None,
        device=tags.get(f"{TAG}device", ""),
        scores=dict(entry.data.metrics),
        heartbeat=_tagged(tags, "heartbeat"),
        has_result=tags.get(f"{TAG}result") == "yes",
    )


def _asked(spec: RunSpec) -> int:
    epochs = spec.settings.get("epochs", 0)
    return epochs if isinstance(epochs, int) else 0


def _when(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def _tagged(tags: Mapping[str, str], name: str) -> datetime | None:
    try:
        return datetime.fromisoformat(tags[TAG + name])
    except (KeyError, ValueError):
        return None
