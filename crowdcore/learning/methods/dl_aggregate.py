"""Any aggregator, then train."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from crowdcore.core.settings import Settings
from crowdcore.learning.networks.targets import AggregateSettings, AggregateThenTrain


class DlAggregateSettings(AggregateSettings):
    """Settings of aggregate-then-train with any aggregator."""

    aggregator: str = Field(default="majority-vote", title="Aggregator", description="Name of the aggregator.")
    aggregator_settings: dict[str, Any] = Field(
        default_factory=dict, title="Settings of the aggregator", description="By name."
    )


class DlAggregate(AggregateThenTrain):
    """Cross-entropy with the posterior of an aggregator chosen by name."""

    name: ClassVar[str] = "dl-aggregate"
    title: ClassVar[str] = "Any aggregator, then train"
    paper: ClassVar[str] = "-"
    Settings: ClassVar[type[Settings]] = DlAggregateSettings

    @classmethod
    def aggregator_of(cls, settings: Any) -> tuple[str, dict[str, Any]]:
        """What the settings name."""
        return settings.aggregator, settings.aggregator_settings
