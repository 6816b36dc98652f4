"""List methods and backbones as JSON, for processes without torch: ``python -m crowdcore.learning.describe``."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from crowdcore.data.simulate import synthetic
from crowdcore.learning import backbones, methods
from crowdcore.learning.backbones.base import Backbone
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.ratings import methods as rating_methods
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import Problem, make_problem


def describe() -> dict[str, Any]:
    """Settings schemas of the trainer, all methods and all backbones.

    Returns:
        ``training``: the JSON schema of `TrainSettings`. ``methods`` and ``backbones``: name -> ``title``, ``words``
        (its docstring's first paragraph) and ``schema`` of its settings; a method has also ``paper`` and ``training``,
        a list of [choice, settings that come with it: the trainer's and the method's own] where the empty choice stands
        for the defaults, and
        ``recovers``, the parts of a result that it fills; ``rating_methods`` are those for labels that are numbers; a
        backbone says whether it wants ``images``,
        and whether it reads ``sentences``.
    """
    return {
        "training": TrainSettings.model_json_schema(),
        "methods": methods.REGISTRY.map(_method),
        "rating_methods": {name: _rating_method(found) for name, found in rating_methods.METHODS.items()},
        "backbones": backbones.REGISTRY.map(_backbone),
    }


def _backbone(found: type[Backbone]) -> dict[str, Any]:
    return {**_entry(found), "images": found.images, "sentences": found.sentences}


def _method(method: type[CrowdMethod]) -> dict[str, Any]:
    training = [[dict(choice), dict(given)] for choice, given in _training(method)]
    return {**_entry(method), "paper": method.paper, "training": training, "recovers": _recovered(method)}


def _rating_method(method: type[CrowdMethod]) -> dict[str, Any]:
    return {**_entry(method), "paper": method.paper, "training": [], "recovers": []}


def _recovered(method: type[CrowdMethod]) -> list[str]:
    """The parts that a method, or the one it chooses, recovers of a small crowd, and ``omega`` if it has one."""
    if method.candidates:
        return list(dict.fromkeys(part for name in method.candidates for part in _recovered(methods.get(name))))
    [module] = make_replicas(_small_problem(), method, [Replica(method.Settings(), 0)], TrainSettings())
    return [*module.recovered(), *(["omega"] if method.omega is not CrowdMethod.omega else [])]


@functools.cache
def _small_problem() -> Problem:
    return make_problem(synthetic(n_tasks=60, n_valid=10, n_test=10, n_workers=5), TrainSettings())


def _entry(described: Any) -> dict[str, Any]:
    words = (described.__doc__ or "").strip().split("\n\n")[0]
    return {
        "title": described.title,
        "words": " ".join(words.split()),
        "schema": described.Settings.model_json_schema(),
    }


def _training(method: type[CrowdMethod]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The settings that come with the method's default variant, and with each other one."""
    usual = getattr(method.Settings(), "variant", "")
    for variant, given in method.variants.items():
        yield {} if variant == usual else {"variant": variant}, given


if __name__ == "__main__":
    torch.set_num_threads(1)  # a small crowd: on a busy machine threads would wait for each other for many seconds
    print(json.dumps(describe()))
