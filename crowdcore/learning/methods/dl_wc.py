"""DL-WC: worker clustering, then train."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.learning.networks.targets import AggregateThenTrain


class DlWc(AggregateThenTrain):
    """Cross-entropy with the posterior of worker clustering (workers of a cluster share a confusion)."""

    name: ClassVar[str] = "dl-wc"
    title: ClassVar[str] = "Worker clustering, then train"
    paper: ClassVar[str] = "Imamura, Sato, Sugiyama: Analysis of Minimax Error Rate for Crowdsourcing, ICML 2018"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "common_confusion", "worker_weight", "group")
    aggregator: ClassVar[str] = "worker-clustering"
