"""Which aggregators there are, by name."""

from __future__ import annotations

from typing import Any

from crowdcore.aggregation.base import Aggregator
from crowdcore.core.registry import Registry
from crowdcore.data.dataset import CrowdDataset

aggregators: Registry[Aggregator] = Registry(
    __package__,
    Aggregator,
    "aggregator",
    foreign={"crowd-kit": f"{__package__}._crowd_kit"},
)


def names() -> list[str]:
    """Names of all aggregators, e.g. ``"dawid-skene"``."""
    return list(aggregators)


def fitting(dataset: CrowdDataset) -> list[str]:
    """Names of the aggregators that are made for a dataset and can be loaded; those of tags only with sentences."""
    usable = aggregators.usable()
    return [name for name, method in usable.items() if dataset.sentences is not None or not method.sequential]


def crowd_kit_names() -> list[str]:
    """Names such as ``"crowd-kit:GLAD"`` that `get` takes too; empty where crowd-kit is not installed."""
    from crowdcore.aggregation import _crowd_kit

    return _crowd_kit.names()


def get(name: str, **settings: Any) -> Aggregator:
    """The aggregator called ``name`` with these settings.

    Raises:
        SettingError: no such aggregator or setting.
        PluginError: it is a plug-in that cannot be loaded.
    """
    return aggregators.find(name)(**settings)
