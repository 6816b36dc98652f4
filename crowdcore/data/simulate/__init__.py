"""Simulated crowds; every file of this folder is one family, its settings next to it.

``simulate.names()`` lists them, ``simulate.get(name)`` is the settings model of one (a pydantic model with bounds
and descriptions), ``simulate.get(name)(**settings).run(source)`` or the function of that name makes the dataset, with
the true parameters in ``dataset.truth``. `copy_leader`, `push_class` and `imitate_common` put workers who coordinate
into a crowd.
"""

from __future__ import annotations

from crowdcore.core.registry import Registry
from crowdcore.data.simulate._attacks import copy_leader, imitate_common, push_class
from crowdcore.data.simulate.base import ClassSimulation, Simulation, TaskChoice, TaskSource
from crowdcore.data.simulate.classes import ccc, conal, large, rodrigues, synthetic, tanno
from crowdcore.data.simulate.judges import judges
from crowdcore.data.simulate.ratings import ratings
from crowdcore.data.simulate.tags import spans, tags

__all__ = [
    "REGISTRY",
    "ClassSimulation",
    "Simulation",
    "TaskChoice",
    "TaskSource",
    "ccc",
    "conal",
    "copy_leader",
    "get",
]
__all__ += [
    "imitate_common",
    "judges",
    "large",
    "names",
    "push_class",
    "ratings",
    "rodrigues",
    "spans",
    "synthetic",
    "tags",
    "tanno",
]

REGISTRY: Registry[Simulation] = Registry(__name__, Simulation, "simulation")


def names() -> list[str]:
    """Names of the simulations that `get` takes."""
    return list(REGISTRY)


get = REGISTRY.find
"""The settings model of a simulation, by name."""
