"""Auto: trials out of fold choose a method, which then trains."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import nn

from crowdcore.core import method_string
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray
from crowdcore.learning import methods
from crowdcore.learning.base import CrowdMethod, Network
from crowdcore.learning.training.problem import Problem

__all__ = ["Auto", "AutoSettings"]


class AutoSettings(Settings):
    """Settings of auto."""

    chosen: str = Field(
        default="",
        title="Chosen method",
        description="A method with its settings, as in 'gaussian-em balance=0.3', to train without trials; empty: "
        "trials choose.",
    )
    unlabelled: Literal["no", "validation", "all"] = Field(
        default="no",
        title="Tasks without labels",
        description="Features that gaussian-em uses beside those of training tasks: none, those of validation tasks, "
        "or those of all tasks, the test ones included. Never compare results of different values.",
    )


class Auto(CrowdMethod):
    """Stands for the method that trials choose among gaussian-em, dl-em and conal.

    Every candidate is fitted without a fold of the tasks and predicts that fold. Gold of validation tasks chooses;
    where accuracies are within two standard errors, or without gold, the likelihood of the crowd's labels does.
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "Chosen by trials"
    paper: ClassVar[str] = "crowdcore"
    Settings: ClassVar[type[Settings]] = AutoSettings
    candidates: ClassVar[tuple[str, ...]] = ("gaussian-em", "dl-em", "conal")

    def __new__(cls, problem: Problem, settings: Any, network: Network) -> CrowdMethod:  # type: ignore[misc]
        """A module of the chosen method."""
        method, own = _chosen(settings)
        return method(problem, own, network)

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """That of the chosen method."""
        method, own = _chosen(settings)
        return method.make_classifier(network, n_classes, n_workers, own)

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray | None:
        """Those of the chosen method."""
        method, own = _chosen(settings)
        return method.targets(problem, own)


def _chosen(settings: Any) -> tuple[type[CrowdMethod], Settings]:
    """The chosen method, the first candidate before trials, and its settings."""
    name, own = method_string.read(settings.chosen or Auto.candidates[0])
    method = methods.get(name)
    return method, method.Settings(**{k: v for k, v in own.items() if k in method.Settings.model_fields})
