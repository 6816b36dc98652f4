"""DL-MV: majority vote, then train."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.learning.networks.targets import AggregateThenTrain


class DlMv(AggregateThenTrain):
    """Cross-entropy with the workers' vote shares (soft) or the most voted class (hard)."""

    name: ClassVar[str] = "dl-mv"
    title: ClassVar[str] = "Majority vote, then train"
    paper: ClassVar[str] = "-"
    aggregator: ClassVar[str] = "majority-vote"
