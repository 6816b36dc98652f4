"""Plan of a recovery study, presets, and defaults for planted crowds; torch is not loaded here."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, field_validator

from crowdcore.core import spelling
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings
from crowdcore.data import CrowdDataset, simulate
from crowdcore.data.catalogue import open_labels
from crowdcore.data.ratings import Labelled
from crowdcore.data.settings import need_classes
from crowdcore.data.simulate import TaskChoice


class Candidate(Settings):
    """A method with settings of its own."""

    method: str = Field(min_length=1, description="Name of a learning method.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Its settings, or the trainer's for it alone.")

    @property
    def name(self) -> str:
        """Name in tables and figures."""
        return ", ".join([self.method, *(f"{k.replace('_', ' ')} {v}" for k, v in self.settings.items())])


class RecoveryPlan(Settings):
    """Plan of a recovery study: crowds with known confusions, and methods to train on them.

    Examples:
        >>> plan = RecoveryPlan(over={"common_strength": (0.4, 0.7)}, crowds=2)
        >>> [point.varied for point in plan.points()]
        [{'common_strength': 0.4}, {'common_strength': 0.7}]
    """

    simulation: str = Field(default="synthetic", description="Name of a simulator.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Its settings.")
    over: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict, description="Settings of the simulator that vary, with their values; all combinations."
    )
    dataset: str = Field(
        default="", description="Whose tasks and gold the crowd labels: a name or a path; empty: made tasks."
    )
    tasks: TaskChoice = Field(default=TaskChoice(), description="Which of its tasks.")
    accept: bool = Field(
        default=False, description="Continue although rows of it would be dropped, images or texts left out."
    )
    crowds: int = Field(default=1, ge=1, description="Crowds at each point; they differ in the simulator's seed.")
    methods: tuple[Candidate, ...] = Field(default=(), description="What is trained on each crowd.")
    training: dict[str, Any] = Field(default_factory=dict, description="Settings of the trainer, for every method.")
    seeds: int = Field(default=1, ge=1, description="Training seeds.")

    @field_validator("over")
    @classmethod
    def _some(cls, over: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        if any(not values for values in over.values()):
            raise ValueError("Every setting that varies needs a value")
        return over

    @field_validator("methods")
    @classmethod
    def _different(cls, methods: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        if len({candidate.name for candidate in methods}) < len(methods):
            raise ValueError("Methods must differ in their name or a setting")
        return methods

    def points(self) -> list[Point]:
        """The combinations of what varies, the last one varying fastest."""
        return [Point(dict(zip(self.over, values, strict=True))) for values in itertools.product(*self.over.values())]

    @property
    def words(self) -> str:
        """Number of crowds, and the settings that vary, in words."""
        n = len(self.points()) * self.crowds
        varied = [f"{name.replace('_', ' ')} {', '.join(map(str, values))}" for name, values in self.over.items()]
        return f"{n} crowd{'s' if n > 1 else ''}" + (f": {'; '.join(varied)}" if varied else "")

    def simulator(self, point: Point, crowd: int = 0) -> simulate.Simulation:
        """Simulator of one crowd.

        Raises:
            SettingError: no such simulator or setting, or a value out of bounds.
        """
        settings = {**self.settings, **point.varied}
        return simulate.get(self.simulation)(**{**settings, "seed": settings.get("seed", 0) + crowd})


@dataclass(frozen=True)
class Point:
    """Values of the varied settings of some crowds of a plan.

    Args:
        varied: setting -> value.
    """

    varied: Mapping[str, Any]

    @property
    def words(self) -> str:
        """Values for titles; "" where nothing varies."""
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.varied.items())


def plant(plan: RecoveryPlan, point: Point, crowd: int = 0, source: CrowdDataset | None = None) -> Labelled:
    """Simulate one crowd of a plan, with its parameters in ``truth``.

    Args:
        plan: names the simulator and its tasks.
        point: one of ``plan.points()``.
        crowd: number of the crowd, from 0.
        source: the plan's dataset, if it is open already.

    Raises:
        SettingError: settings that the simulator refuses, or a dataset for one that makes its own tasks.
        DataError: no gold to plant on, or no dataset where one is needed.
    """
    simulator = plan.simulator(point, crowd)
    if simulator.makes_tasks:
        if plan.dataset:
            others = ", ".join(
                name for name, simulation in simulate.REGISTRY.usable().items() if not simulation.makes_tasks
            )
            raise SettingError(
                "dataset",
                f"be left out: {simulator.name!r} makes its own tasks",
                plan.dataset,
                f"On given tasks: {others}.",
            )
        return simulator.run()
    if source is None and not plan.dataset:
        raise DataError(f"{simulator.name!r} labels tasks that are given", "Name a dataset with gold labels.")
    if source is None:
        source = need_classes(open_labels(plan.dataset, accept=plan.accept))
    return simulator.run(plan.tasks.of(source))


def preset(name: str) -> RecoveryPlan:
    """Return a plan by name.

    Raises:
        SettingError: there is none.
    """
    if name not in PRESETS:
        raise SettingError("preset", f"be one of {', '.join(PRESETS)}", name)
    return PRESETS[name][1]


def _candidates(*lines: str | tuple[str, Mapping[str, Any]]) -> tuple[Candidate, ...]:
    pairs = [(line, {}) if isinstance(line, str) else line for line in lines]
    return tuple(Candidate(method=method, settings=dict(settings)) for method, settings in pairs)


_BEST = {"start": "best-of"}
_ALL = _candidates(
    *("dl-true", "dl-mv", "dl-glad", "dl-ds", "dl-wc", "soft-bootstrap", "single-cm", "dl-em", "generalized-em"),
    ("crowd-layer", _BEST),
    "trace",
    ("conal", _BEST),
)
_FLIPPERS = _candidates("trace", ("trace", {"strength": 0.0}), "crowd-layer", "dl-em")
_BOTH = ("asymmetric", "symmetric")
_TRAINING = {"epochs": 20, "lr": 0.005, "batch_size": 256, "schedule": "cosine", "names": "validation-gold"}

_SWEEP = RecoveryPlan(methods=_ALL, training=_TRAINING)
PRESETS: Mapping[str, tuple[str, RecoveryPlan]] = {
    "strength": (
        "Accuracy and recovery by the strength of the common confusion (CoNAL, Fig. 4)",
        _SWEEP.model_copy(update={"over": {"pattern": _BOTH, "common_strength": (0.4, 0.5, 0.6, 0.7, 0.8)}}),
    ),
    "proportion": (
        "Accuracy and recovery by the share of labels from the common confusion (CoNAL, Fig. 6)",
        _SWEEP.model_copy(update={"over": {"pattern": _BOTH, "proportion": (0.0, 0.3, 0.4, 0.5, 0.6, 0.7)}}),
    ),
    "recovery": (
        "Confusions and ω of CoNAL's Synthetic in both readings of individual strength (CoNAL, Fig. 7)",
        RecoveryPlan(
            settings={"common_strength": 0.7},
            over={"pattern": _BOTH, "individual_strength": (0.7, 0.3)},
            methods=_candidates(("conal", _BEST), "trace", ("crowd-layer", _BEST)),
            training=_TRAINING,
        ),
    ),
    "flippers": (
        "Five pairwise flippers on digits of MNIST, all or one of them per image (trace regularisation, Figs. 3 and 4)",
        RecoveryPlan(
            simulation="tanno",
            settings={"seed": 1},
            over={"labels": ("dense", "one"), "skill": (0.6, 0.35)},
            dataset="mnist",
            tasks=TaskChoice(n_train=6_000, n_test=2_000),
            methods=_FLIPPERS,
            training={"epochs": 12, "lr": 0.01, "batch_size": 64, "schedule": "cosine", "select_on": "none"},
        ),
    ),
    "binary": (
        "Five annotators by sensitivity and specificity on two garments of Fashion-MNIST (crowd layer, Fig. 2)",
        RecoveryPlan(
            simulation="rodrigues",
            dataset="fashion_mnist",
            tasks=TaskChoice(classes=("Pullover", "Coat"), n_train=6_000, n_test=2_000),
            methods=_candidates("crowd-layer", "trace"),
            training={"epochs": 12, "lr": 0.002, "batch_size": 32, "select_on": "none"},
        ),
    ),
}
"""Name -> title and plan, with one crowd and one seed, which is quick: raise both for a table to print."""

FIRST = ("synthetic", "conal")
_LARGE, _VALID = 4000, 1  # training tasks; the validation split


def simulators(dataset: Labelled) -> dict[str, str]:
    """Name -> title of the simulators, the usual one for the dataset's kind of labels first.

    Those for benchmarks are left out, and where labels are numbers, those that label the tasks of a dataset.
    """
    titles = simulate.REGISTRY.map(lambda simulation: simulation.title)
    without = {"large"}
    if dataset.kind.numeric:
        without |= {one for one in titles if not simulate.get(one).makes_tasks}
    return {one: titles[one] for one in (usual_simulator(dataset), *FIRST, *titles) if one not in without}


def usual_simulator(dataset: Labelled) -> str:
    """Default simulator for the dataset's kind of labels."""
    if dataset.kind.numeric:
        return "ratings"
    return "spans" if dataset.sentences is not None else "synthetic"


def usual_settings(crowd: Labelled) -> str:
    """Seeds and settings of the trainer for a planted crowd, as a line; gold names the classes where there is some."""
    if crowd.kind.numeric:
        return ""
    if crowd.sentences is not None:
        return spelling.spell_settings({"seeds": 1, "epochs": 20, "lr": 0.005, "schedule": "cosine"})
    large = int((crowd.split <= 0).sum()) >= _LARGE
    gold = bool((crowd.gold[crowd.split == _VALID] >= 0).any())
    usual = {
        "seeds": 1,
        **({"epochs": 20, "batch_size": 256} if large else {"epochs": 50}),
        "lr": 0.005,
        "schedule": "cosine",
        **({"names": "validation-gold"} if gold else {}),
    }
    return spelling.spell_settings(usual)
