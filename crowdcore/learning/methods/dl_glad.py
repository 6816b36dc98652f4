"""DL-GLAD: GLAD, then train."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.learning.networks.targets import AggregateThenTrain


class DlGlad(AggregateThenTrain):
    """Cross-entropy with the posterior of GLAD (worker ability, task difficulty)."""

    name: ClassVar[str] = "dl-glad"
    title: ClassVar[str] = "GLAD, then train"
    paper: ClassVar[str] = "Whitehill et al.: Whose Vote Should Count More, NeurIPS 2009"
    recovers: ClassVar[tuple[str, ...]] = ("worker_weight", "difficulty")
    aggregator: ClassVar[str] = "glad"
