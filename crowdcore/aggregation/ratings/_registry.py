"""Which aggregators of ratings there are, by name."""

from __future__ import annotations

from typing import Any

from crowdcore.aggregation.ratings.base import RatingAggregator
from crowdcore.core.registry import Registry

rating_aggregators: Registry[RatingAggregator] = Registry(
    __package__,
    RatingAggregator,
    "aggregator",
    group="crowdcore.rating-aggregators",
)


def names() -> list[str]:
    """Names of all aggregators of ratings, e.g. ``"raykar-em"``."""
    return list(rating_aggregators)


def get(name: str, **settings: Any) -> RatingAggregator:
    """The aggregator of ratings called ``name`` with these settings.

    Raises:
        SettingError: no such aggregator or setting.
        PluginError: it is a plug-in that cannot be loaded.
    """
    return rating_aggregators.find(name)(**settings)
