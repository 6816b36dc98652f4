"""Auto: trials out of fold choose methods, which then train; predictions are the mean of their probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

from crowdcore.core import spelling
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray
from crowdcore.learning import methods
from crowdcore.learning.base import CrowdMethod, Network
from crowdcore.learning.method_settings import AutoSettings
from crowdcore.learning.networks.network import Blend
from crowdcore.learning.training.problem import Problem


class Auto(CrowdMethod):
    """Stands for what trials choose among gaussian-em, dl-em, conal and with gold max-mig: one, or a mean of some.

    Every candidate is fitted without a fold of the tasks and predicts that fold. Those that validation gold, or the
    likelihood of the crowd's labels, clearly excludes are left aside; the others weigh what makes labels and gold of
    these tasks most probable.
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "Chosen by trials"
    paper: ClassVar[str] = "crowdcore"
    recovers: ClassVar[tuple[str, ...]] = ("common_confusion", "worker_confusion", "q", "omega")
    Settings: ClassVar[type[Settings]] = AutoSettings
    candidates: ClassVar[tuple[str, ...]] = ("gaussian-em", "dl-em", "conal", "max-mig")

    def __new__(cls, problem: Problem, settings: Any, network: Network) -> CrowdMethod:  # type: ignore[misc]
        """A module of the chosen method, or of the one that weighs most."""
        _, method, own = _chosen_parts(settings)[0]
        return method(problem, own, network)

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """Make the chosen method's classifier, or the mean of several."""
        chosen = _chosen_parts(settings)
        parts = [method.make_classifier(network, n_classes, n_workers, own) for _, method, own in chosen]
        weights, powers = zip(*((part.weight, part.power) for part, _, _ in chosen), strict=True)
        return parts[0] if len(parts) == 1 else Blend(parts, weights, powers, n_classes)

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray | None:
        """Targets of the chosen method, or of the one with the largest weight."""
        _, method, own = _chosen_parts(settings)[0]
        return method.targets(problem, own)


def _chosen_parts(settings: Any) -> list[tuple[spelling.Part, type[CrowdMethod], Settings]]:
    """Chosen parts with their methods and settings; before trials, the first candidate."""
    parts = []
    for part in spelling.read_mean(settings.chosen or Auto.candidates[0]):
        name, own = spelling.read(part.line)
        method = methods.get(name)
        known = {k: v for k, v in own.items() if k in method.Settings.model_fields}
        parts.append((part, method, method.Settings(**known)))
    return parts
