"""DL-DS: Dawid-Skene, then train."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.learning.networks.targets import AggregateThenTrain


class DlDs(AggregateThenTrain):
    """Cross-entropy with the posterior of Dawid & Skene's EM, whose confusions it exposes."""

    name: ClassVar[str] = "dl-ds"
    title: ClassVar[str] = "Dawid-Skene, then train"
    paper: ClassVar[str] = "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, 1979"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    aggregator: ClassVar[str] = "dawid-skene"
