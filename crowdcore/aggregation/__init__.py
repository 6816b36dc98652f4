"""Truth inference: every file of this folder is one aggregator.

``aggregation.names()`` lists them, ``aggregation.get("dawid-skene")`` gives the class, and each class is an
attribute: ``aggregation.DawidSkene(smoothing=0.01).fit(dataset).posterior``.
"""

from __future__ import annotations

from typing import Any

from crowdcore.aggregation._partitions import PartitionedResult, fit_partitions
from crowdcore.aggregation._warm_start import align, changed_labels
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.registry import Registry

__all__ = [
    "AggregationResult",
    "Aggregator",
    "PartitionedResult",
    "aggregators",
    "align",
    "changed_labels",
    "crowd_kit_names",
    "fit_partitions",
    "get",
    "names",
]

aggregators: Registry[Aggregator] = Registry(
    __name__,
    Aggregator,  # type: ignore[type-abstract]
    "aggregator",
    foreign={"crowd-kit": f"{__name__}._crowd_kit"},
)


def names() -> list[str]:
    """Names of all aggregators, e.g. ``"dawid-skene"``."""
    return list(aggregators)


def crowd_kit_names() -> list[str]:
    """Names such as ``"crowd-kit:GLAD"`` that `get` takes too; empty where crowd-kit is not installed."""
    from crowdcore.aggregation import _crowd_kit

    return _crowd_kit.names()


def get(name: str, **settings: Any) -> Aggregator:
    """The aggregator called ``name`` with these settings.

    Raises:
        SettingError: no such aggregator or setting.
    """
    return aggregators.find(name)(**settings)


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else aggregators.by_class_name(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
