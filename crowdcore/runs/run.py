"""`Run`: what the record says of one run, as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from crowdcore.learning.training.events import epoch_words
from crowdcore.runs.run_config import RunSpec

if TYPE_CHECKING:
    import mlflow.entities

Words: TypeAlias = Callable[[Mapping[str, Any], str], list[str]]
Title: TypeAlias = Callable[[str, str], str]
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
"""Begin of the names of our tags: spec, message, progress, started, device, result, tags …"""
NAME, NOTE = "mlflow.runName", "mlflow.note.content"
"""The tags in which MLflow keeps, and shows, a run's name and what was written about it."""

_ONCE = ("_selected", "_last", "_best", "seconds", "_second", "_bytes")  # ends of scores that are no curves
_CROWDED = "Slow: other programs use the processors."
_SEPARATOR = ","  # between the words of the tag ``crowdcore.tags``
_GIVEN = {"dataset", "fingerprint", "method", "seeds"}  # parameters of MLflow that are no settings
_STATE = {status: state for state, status in STATUS.items()}


@dataclass(frozen=True)
class Run:
    """A run as it stood when the record was read.

    Args:
        id: 32 hexadecimal digits, MLflow's run id.
        spec: what was asked for.
        state: queued, running, finished, failed or cancelled.
        message: why it failed or was cancelled, what was resumed, why it is slow; "" when there is nothing to say.
        epoch: epochs done.
        epochs: how many there will be at most; 0 while unknown.
        first_stage: epoch of a first stage and how many it has, while it goes on.
        done: share of the run that is done, 0…1.
        remaining: seconds to go; None while unknown.
        created: when it was asked for, UTC.
        started: when its (last) child began.
        ended: when it came to its end.
        device: where it runs, in words.
        scores: last known means over seeds, such as ``test_accuracy`` and ``test_accuracy_std``; with a result also
            ``test_accuracy_selected``, ``…_last``, ``…_best``, ``valid_accuracy_selected`` and their ``…_std``.
        has_result: whether `result` has something to give.
        name: what somebody has called it; "" when nobody has.
        note: what somebody has written about it.
        tags: words that somebody has put on it, in their order.
        parameters: every setting of trainer and method as used, as text; empty until training has begun.
        validated_on: which labels its validation accuracy compares with, in words; "" until it has a result.
    """

    id: str
    spec: RunSpec
    state: State
    message: str = ""
    epoch: int = 0
    epochs: int = 0
    first_stage: tuple[int, int] | None = None
    done: float = 0.0
    remaining: float | None = None
    created: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    device: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    has_result: bool = False
    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    validated_on: str = ""

    @property
    def title(self) -> str:
        """What it is called, else its method and what differs from the defaults."""
        return self.name or described(self.spec)

    @property
    def at(self) -> str:
        """How far it is: ``epoch 3 of 10``, ``first stage, epoch 3 of 10`` or, of a search, ``trial 3 of 10``."""
        if self.spec.search is not None:
            return f"trial {self.epoch} of {self.epochs}" if self.epoch else "first trial"
        if not self.epoch and self.first_stage is None:
            return f"before epoch 1 of {self.epochs}" if self.epochs else "starting"
        return epoch_words(self.epoch, self.epochs, self.first_stage)

    @property
    def curve_metrics(self) -> list[str]:
        """Names of the scores that are measured after every epoch, as `curves` has them."""
        return [name for name in self.scores if not (is_spread(name, self.scores) or name.endswith(_ONCE))]

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
    except (KeyError, ValueError, TypeError):
        return None
    state = _STATE.get(entry.info.status, "failed")
    crowded = _CROWDED if state == "running" and progress.get("crowded") else ""
    return Run(
        id=entry.info.run_id,
        spec=spec,
        state=state,
        message=" ".join(filter(None, (tags.get(f"{TAG}message", ""), crowded))),
        epoch=progress.get("epoch", 0),
        epochs=progress.get("epochs", 0) or _asked(spec),
        first_stage=tuple(first) if (first := progress.get("first_stage")) else None,
        done=1.0 if state == "finished" else progress.get("done", 0.0),
        remaining=progress.get("remaining") if state == "running" else None,
        created=_when(entry.info.start_time),
        started=_tagged(tags, "started"),
        ended=_when(entry.info.end_time) if state in ENDED else None,
        device=tags.get(f"{TAG}device", ""),
        scores=dict(entry.data.metrics),
        has_result=tags.get(f"{TAG}result") == "yes",
        name="" if tags.get(NAME) == default_name(spec) else tags.get(NAME, ""),
        note=tags.get(NOTE, ""),
        tags=tuple(word for part in tags.get(f"{TAG}tags", "").split(_SEPARATOR) if (word := part.strip())),
        parameters={name: value for name, value in entry.data.params.items() if name not in _GIVEN},
        validated_on=tags.get(f"{TAG}validated_on", ""),
    )


def is_spread(name: str, known: Collection[str]) -> bool:
    """Whether a score is the standard deviation over seeds of another one; ``omega_std`` by itself is none."""
    return name.endswith("_std") and name.removesuffix("_std") in known


def default_name(spec: RunSpec) -> str:
    """What MLflow shows of a run that nobody has named."""
    return f"{spec.method}, {len(spec.seeds)} seed{'s' if len(spec.seeds) > 1 else ''}"


def plain_title(name: str, method: str) -> str:
    """A setting of a method by its own name."""
    return name.replace("_", " ")


def plain_words(settings: Mapping[str, Any], method: str) -> list[str]:
    """A phrase for each setting of a method, by its own name: ``embedding 40``."""
    return [f"{plain_title(name, method)} {value_in_words(value)}" for name, value in settings.items()]


def value_in_words(value: object) -> str:
    """The value of a setting, ``none`` for None or nothing; those of a network one after another: ``hidden 8``."""
    if value is None or value == {}:
        return "none"
    return ", ".join(f"{name} {inner}" for name, inner in value.items()) if isinstance(value, Mapping) else str(value)


def described(spec: RunSpec, words: Words = plain_words, title: Title = plain_title) -> str:
    """Method and what differs from its defaults, what is searched first.

    Args:
        spec: of a run.
        words: makes a phrase of each setting of a method.
        title: what to call a setting of a method.
    """
    said = words(spec.settings, spec.method)
    if spec.search is not None:
        said = [f"search of {', '.join(title(name, spec.method) for name in spec.search.space)}", *said]
    return " · ".join([spec.method, *said])


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
