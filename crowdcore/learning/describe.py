"""What can be trained, as plain JSON for those that must not load torch: ``python -m crowdcore.learning.describe``."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from crowdcore.data.simulate import synthetic
from crowdcore.learning import backbones, methods
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import Problem, pose

__all__ = ["describe"]


def describe() -> dict[str, Any]:
    """Everything a form needs.

    Returns:
        ``training``: the JSON schema of `TrainSettings`. ``methods`` and ``backbones``: name -> ``title``, ``words``
        (its docstring's first paragraph) and ``schema`` of its settings; a method has also ``paper`` and ``training``,
        a list of [choice, settings that come with it: the trainer's and the method's own] where the empty choice stands
        for the defaults, and
        ``recovers``, the parts of a result that it fills; a backbone says whether it wants ``images``.
    """
    return {
        "training": TrainSettings.model_json_schema(),
        "methods": methods.REGISTRY.map(_method),
        "backbones": backbones.REGISTRY.map(lambda found: {**_said(found), "images": found.images}),
    }


def _method(found: type[CrowdMethod]) -> dict[str, Any]:
    training = [[dict(choice), dict(given)] for choice, given in _training(found)]
    return {**_said(found), "paper": found.paper, "training": training, "recovers": _recovered(found)}


def _recovered(found: type[CrowdMethod]) -> list[str]:
    """The parts that a method says it recovers of a small crowd, and ``omega`` if it has one."""
    [module] = make_replicas(_small_problem(), found, [Replica(found.Settings(), 0)], TrainSettings())
    return [*module.recovered(), *(["omega"] if found.omega is not CrowdMethod.omega else [])]


@functools.cache
def _small_problem() -> Problem:
    return pose(synthetic(n_tasks=60, n_valid=10, n_test=10, n_workers=5), TrainSettings())


def _said(found: Any) -> dict[str, Any]:
    words = (found.__doc__ or "").strip().split("\n\n")[0]
    return {"title": found.title, "words": " ".join(words.split()), "schema": found.Settings.model_json_schema()}


def _training(found: type[CrowdMethod]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The settings that come with the method's default variant, and with each other one."""
    usual = getattr(found.Settings(), "variant", "")
    for variant, given in found.variants.items():
        yield {} if variant == usual else {"variant": variant}, given


if __name__ == "__main__":
    print(json.dumps(describe()))
