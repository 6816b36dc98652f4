"""`RunSpec`: specification of a run; `SearchPlan`: that of a search; `Run`: a run as recorded."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import Field, field_validator

from crowdcore.core.errors import SettingError
from crowdcore.core.processes import can_import
from crowdcore.core.settings import Settings
from crowdcore.core.spelling import spell_options
from crowdcore.learning.curve_metrics import SCORES, SelectionScore
from crowdcore.learning.training.events import epoch_words

if TYPE_CHECKING:
    import mlflow.entities

    from crowdcore.analysis import Reference
    from crowdcore.data import CrowdDataset

_GRID = 10  # points of a continuous range in a grid


class Range(Settings):
    """Numbers between two bounds, both included."""

    low: float = Field(description="Smallest value.")
    high: float = Field(description="Largest value.")
    log: bool = Field(default=False, description="Search its logarithm.")
    integer: bool = Field(default=False, description="Whole numbers only.")

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SettingError("high", f"be above `low`, which is {self.low:g}", self.high)
        if self.log and self.low <= 0:
            raise SettingError("low", "be positive where the logarithm is searched", self.low)

    def points(self) -> list[float]:
        """Values in a grid: all whole numbers of a short range, else evenly spaced ones."""
        if self.integer and self.high - self.low < _GRID:
            return [float(v) for v in range(round(self.low), round(self.high) + 1)]
        shares = [k / (_GRID - 1) for k in range(_GRID)]
        if self.log:
            points = [self.low * (self.high / self.low) ** share for share in shares]
        else:
            points = [self.low + (self.high - self.low) * share for share in shares]
        return sorted({float(round(p)) for p in points}) if self.integer else points


class Choice(Settings):
    """One of several values."""

    values: tuple[str | bool | int | float | None, ...] = Field(min_length=1, description="To choose from.")


class SearchPlan(Settings):
    """Plan of a search for the settings with the best validation score."""

    space: dict[str, Range | Choice] = Field(min_length=1, description="Setting -> its values.")
    trials: int = Field(default=20, ge=1, description="Runs at most; a grid ends sooner when it is exhausted.")
    sampler: Literal["tpe", "grid", "random"] = Field(default="tpe", description="How to choose the next settings.")
    score: Literal["valid_accuracy", "valid_span_f1", "valid_rmse"] = Field(
        default="valid_accuracy", description="What trials are compared by."
    )
    seed: int = Field(default=0, ge=0, description="Of the sampler.")
    parallel: int = Field(default=0, ge=0, description="Trials at once; 0: as many as the engine has slots.")

    @property
    def selection(self) -> SelectionScore:
        """Score by which trials are compared."""
        return SCORES[self.score]

    def grid(self) -> dict[str, list[Any]]:
        """Setting -> its values in a grid."""
        return {
            name: list(part.values) if isinstance(part, Choice) else part.points() for name, part in self.space.items()
        }


class RunSpec(Settings):
    """One training run: dataset, method, settings and seeds."""

    dataset: str = Field(min_length=1, description="Name of a dataset, or a path to one.")
    fingerprint: str = Field(
        default="", description="Content hash that the dataset must have; empty: whatever is there."
    )
    method: str = Field(min_length=1, description="Name of a learning method.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the trainer and of the method.")
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1, description="One replica for each.")
    device: str = Field(default="auto", description="auto, cpu, cuda or cuda:N.")
    priority: int = Field(default=0, description="Higher goes first.")
    accept: bool = Field(default=False, description="Leave out tasks whose image or text cannot be used.")
    group: str = Field(default="", description="Runs that were started together share it.")
    parent: str = Field(default="", description="The search that this run is a trial of.")
    search: SearchPlan | None = Field(default=None, description="A search, whose trials are runs; empty: one run.")

    def __init__(self, **given: Any) -> None:
        method, settings = given.get("method"), given.get("settings")
        if isinstance(method, type):
            given["method"] = _importable_name("method", method)
        if isinstance(settings, Mapping) and not isinstance(settings.get("backbone", ""), str):
            given["settings"] = {**settings, "backbone": _importable_name("backbone", settings["backbone"])}
        super().__init__(**given)

    @field_validator("seeds")
    @classmethod
    def _different(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if min(seeds) < 0 or len(set(seeds)) < len(seeds):
            raise ValueError("Seeds must be different non-negative numbers")
        return seeds


def command_line(spec: RunSpec) -> str:
    """Write ``crowdcore train …``, which computes a run again without the record and accepts what reading drops."""
    words = ["crowdcore", "train", spec.dataset, "--method", spec.method]
    if spec.seeds == tuple(range(len(spec.seeds))):
        words += ["--seeds", str(len(spec.seeds))]
    else:
        words += [word for seed in spec.seeds for word in ("--seed", str(seed))]
    if spec.device != "auto":
        words += ["--device", spec.device]
    for name, value in spec.settings.items():
        words += ["--epochs", str(value)] if name == "epochs" else ["--set", *spell_options({name: value})]
    return shlex.join([*words, "--accept"])


def _importable_name(setting: Literal["method", "backbone"], own: Any) -> str:
    """Name by which the run's process finds a method or network of one's own."""
    from crowdcore.learning import backbones, methods

    name = methods.named(own) if setting == "method" else backbones.named(own)
    if name in (methods if setting == "method" else backbones).REGISTRY or can_import(name):
        return name
    must = "be in a module that the run's own process can import: an installed package, or a folder on PYTHONPATH"
    shown = getattr(own, "__qualname__", type(own).__name__)
    raise SettingError(setting, must, shown, "`learning.train` trains it here.")


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
"""State -> MLflow's status."""
TAG = "crowdcore."
"""Prefix of our tags: spec, message, progress, started, device, result, tags …"""
NAME, NOTE = "mlflow.runName", "mlflow.note.content"
"""MLflow's tags for the name of a run and the note on it."""

_ONCE = ("_selected", "_last", "_best", "seconds", "_second", "_bytes")  # suffixes of scores that are no curves
_CROWDED = "Slow: other programs use the processors."
_SEPARATOR = ","  # between the words of the tag ``crowdcore.tags``
_GIVEN = {"dataset", "fingerprint", "method", "seeds"}  # parameters of MLflow that are no settings
_STATE = {status: state for state, status in STATUS.items()}


@dataclass(frozen=True)
class Run:
    """A run at the time when the record was read.

    Args:
        id: 32 hexadecimal digits, MLflow's run id.
        spec: its specification.
        state: queued, running, finished, failed or cancelled.
        message: why it failed or was cancelled, was resumed or is slow; "" without.
        epoch: epochs done.
        epochs: maximum number of epochs; 0 while unknown.
        first_stage: epoch and number of epochs of a first stage, while it goes on.
        done: share of the run that is done, 0…1.
        remaining: seconds to go; None while unknown.
        created: time of its submission, UTC.
        started: time at which its (last) child began.
        ended: time of its end.
        device: its device, in words.
        scores: last known means over seeds, such as ``test_accuracy`` and ``test_accuracy_std``; with a result also
            ``test_accuracy_selected``, ``…_last``, ``…_best``, ``valid_accuracy_selected`` and their ``…_std``.
        has_result: True if there is a result.
        name: name given by a user, or "".
        note: note written by a user.
        tags: tags given by users, in their order.
        parameters: every setting of trainer and method as used, as text; empty until training has begun.
        validated_on: labels that its validation accuracy compares with, in words; "" until it has a result.
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
        """Its name, else its method and the settings that differ from the defaults."""
        return self.name or describe_spec(self.spec)

    @property
    def at(self) -> str:
        """Progress: ``epoch 3 of 10``, ``first stage, epoch 3 of 10`` or, for a search, ``trial 3 of 10``."""
        if self.spec.search is not None:
            return f"trial {self.epoch} of {self.epochs}" if self.epoch else "first trial"
        if not self.epoch and self.first_stage is None:
            return f"before epoch 1 of {self.epochs}" if self.epochs else "starting"
        return epoch_words(self.epoch, self.epochs, self.first_stage)

    @property
    def curve_metrics(self) -> list[str]:
        """Names of the scores that are measured after every epoch, as in `curves`."""
        return [name for name in self.scores if not (is_spread(name, self.scores) or name.endswith(_ONCE))]

    @property
    def has_ended(self) -> bool:
        """True if the run is finished, failed or cancelled."""
        return self.state in ENDED

    def as_reference(self, dataset: CrowdDataset) -> Reference:
        """Predictions for the tasks of its dataset, by its result in the workspace; see `runs.reference`."""
        from crowdcore import runs

        return runs.reference(self.id, dataset)


def read_run(entry: mlflow.entities.Run) -> Run | None:
    """Read MLflow's record of a run; None if it is not one of ours, or its tags were broken by hand."""
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
        epochs=progress.get("epochs", 0) or (epochs if isinstance(epochs := spec.settings.get("epochs"), int) else 0),
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
    """Return True if a score is the standard deviation over seeds of another one; ``omega_std`` alone is none."""
    return name.endswith("_std") and name.removesuffix("_std") in known


def default_name(spec: RunSpec) -> str:
    """Default name of a run in MLflow."""
    return f"{spec.method}, {len(spec.seeds)} seed{'s' if len(spec.seeds) > 1 else ''}"


def plain_title(name: str, method: str) -> str:
    """Title of a setting: its own name."""
    return name.replace("_", " ")


def plain_words(settings: Mapping[str, Any], method: str) -> list[str]:
    """A phrase for each setting of a method, by its own name: ``embedding 40``."""
    return [f"{plain_title(name, method)} {value_in_words(value)}" for name, value in settings.items()]


def value_in_words(value: object) -> str:
    """Value of a setting, ``none`` for None and {}; those of a network are listed: ``hidden 8``."""
    if value is None or value == {}:
        return "none"
    return ", ".join(f"{name} {inner}" for name, inner in value.items()) if isinstance(value, Mapping) else str(value)


def describe_spec(spec: RunSpec, words: Words = plain_words, title: Title = plain_title) -> str:
    """Method, searched settings, then those that differ from the defaults; ``words`` makes a phrase of each setting."""
    phrases = words(spec.settings, spec.method)
    if spec.search is not None:
        phrases = [f"search of {', '.join(title(name, spec.method) for name in spec.search.space)}", *phrases]
    return " · ".join([spec.method, *phrases])


def _when(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def _tagged(tags: Mapping[str, str], name: str) -> datetime | None:
    try:
        return datetime.fromisoformat(tags[TAG + name])
    except (KeyError, ValueError):
        return None


class Measure(NamedTuple):
    """A metric by which runs are judged.

    Args:
        name: without split and epoch.
        words: its title.
        share: True for a value between 0 and 1 that is written in per cent.
    """

    name: str
    words: str
    share: bool = True

    def format_mean(self, value: float) -> str:
        """A single number."""
        return self.format({"": value}, "")

    def format(self, scores: Mapping[str, float], score: str) -> str:
        """A score as mean ± standard deviation over seeds; "–" where it is not known."""
        mean, std = scores.get(score, float("nan")), scores.get(f"{score}_std", float("nan"))
        scale, digits, unit = (100, 1, " %") if self.share else (1, 4, "")
        if mean != mean:
            return "–"
        spread = "" if std != std else f" ± {scale * std:.{digits}f}"
        return f"{scale * mean:.{digits}f}{spread}{unit}"


_MEASURES = (Measure("rmse", "RMSE", share=False), Measure("span_f1", "span F1"), Measure("accuracy", "accuracy"))


def leading(scores: Mapping[str, float]) -> Measure | None:
    """Main measure of a run with these scores of its test or validation split; None without any."""
    names = {name.partition("_")[2] for name in scores if name.startswith(("test_", "valid_"))}
    return next((m for m in _MEASURES if any(name.startswith(m.name) for name in names)), None)
