"""Any aggregator, then train."""

from __future__ import annotations

from typing import Any, ClassVar

from crowdcore.core.settings import Settings
from crowdcore.learning.method_settings import DlAggregateSettings
from crowdcore.learning.networks.targets import AggregateThenTrain


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
