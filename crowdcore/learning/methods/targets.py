"""Networks without a model of the workers: on annotations, votes, the posterior of an aggregator, or gold."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.errors import DataError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import AggregateSettings, DlAggregateSettings, SoftBootstrapSettings
from crowdcore.learning.networks.ops import cross_entropy, gather_rows, log_label
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class Vanilla(CrowdMethod):
    """``-mean over annotations of log p_i(y_i^r)``."""

    name: ClassVar[str] = "vanilla"
    title: ClassVar[str] = "Every annotation as if true"
    paper: ClassVar[str] = "-"

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with every annotation."""
        (logits,) = gather_rows(batch.row, self.classifier(batch.features))
        return {"cross_entropy": -batch.mean(log_label(logits, batch.label))}


class SoftBootstrap(CrowdMethod):
    """``-mean_i Σ_c [β t_i(c) + (1 - β) p_i(c)] log p_i(c)`` with t the vote shares (Reed et al., eq. 6)."""

    name: ClassVar[str] = "soft-bootstrap"
    title: ClassVar[str] = "Soft bootstrapping"
    paper: ClassVar[str] = "Reed et al.: Training Deep Neural Networks on Noisy Labels with Bootstrapping, ICLR 2015"
    Settings: ClassVar[type[Settings]] = SoftBootstrapSettings

    trust: Tensor

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray:
        """Vote shares."""
        return problem.votes().astype(np.float32)

    def __init__(self, problem: Problem, settings: SoftBootstrapSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("trust", settings.trust)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the mixture of vote and prediction."""
        assert batch.target is not None
        log_p = self.log_probs(batch.features)
        target = self.trust * batch.target + (1 - self.trust) * log_p.exp()
        return {"cross_entropy": -(target * log_p).sum(-1).mean()}


class DlTrue(CrowdMethod):
    """Cross-entropy with the true class; training tasks without gold do not count."""

    name: ClassVar[str] = "dl-true"
    title: ClassVar[str] = "Trained on gold labels (oracle)"
    paper: ClassVar[str] = "-"

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray:
        """The training tasks' gold.

        Raises:
            DataError: none of them has any.
        """
        gold = problem.gold[: problem.n_train]
        if (gold < 0).all():
            raise DataError(
                f"No training task of {problem.dataset.name} has a gold label",
                "`dl-true` is the oracle that needs them; choose another method.",
            )
        return gold

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with gold."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}


class AggregateThenTrain(CrowdMethod):
    """``-mean_i Σ_c q_i(c) log p_i(c)`` with q from the aggregator named ``aggregator``, fitted on train alone."""

    Settings: ClassVar[type[Settings]] = AggregateSettings
    learns_confusions: ClassVar[bool] = False
    aggregator: ClassVar[str]

    @classmethod
    def aggregator_of(cls, settings: Any) -> tuple[str, dict[str, Any]]:
        """Name and settings of the aggregator."""
        return cls.aggregator, {}

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray:
        """The aggregator's posterior, or its most probable class."""
        name, options = cls.aggregator_of(settings)
        q = problem.votes(name, **options)
        return q.argmax(1) if settings.targets == "hard" else q.astype(np.float32)

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        name, options = self.aggregator_of(settings)
        result = problem.aggregate(name, **options)
        train = problem.order[: problem.n_train]
        parts = {
            "worker_confusion": result.confusion,
            "common_confusion": result.common_confusion,
            "worker_weight": result.worker_weight,
            "group": result.group,
            "difficulty": None if result.difficulty is None else result.difficulty[train],
        }
        self._parts = tuple(part for part, value in parts.items() if value is not None)
        for part in self._parts:
            value = torch.from_numpy(np.array(parts[part]))
            self.register_buffer(part, value, persistent=False)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the targets."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}

    def recovered(self) -> Recovered:
        """Worker and task parameters of the aggregator."""
        return {part: self.get_buffer(part) for part in self._parts}


class DlAggregate(AggregateThenTrain):
    """Cross-entropy with the posterior of an aggregator chosen by name."""

    name: ClassVar[str] = "dl-aggregate"
    title: ClassVar[str] = "Any aggregator, then train"
    paper: ClassVar[str] = "-"
    Settings: ClassVar[type[Settings]] = DlAggregateSettings

    @classmethod
    def aggregator_of(cls, settings: Any) -> tuple[str, dict[str, Any]]:
        """The aggregator that the settings name."""
        return settings.aggregator, settings.aggregator_settings


class DlMv(AggregateThenTrain):
    """Cross-entropy with the workers' vote shares (soft) or the most voted class (hard)."""

    name: ClassVar[str] = "dl-mv"
    title: ClassVar[str] = "Majority vote, then train"
    paper: ClassVar[str] = "-"
    aggregator: ClassVar[str] = "majority-vote"


class DlDs(AggregateThenTrain):
    """Cross-entropy with the posterior of Dawid & Skene's EM, whose confusions it exposes."""

    name: ClassVar[str] = "dl-ds"
    title: ClassVar[str] = "Dawid-Skene, then train"
    paper: ClassVar[str] = "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, 1979"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    aggregator: ClassVar[str] = "dawid-skene"


class DlGlad(AggregateThenTrain):
    """Cross-entropy with the posterior of GLAD (worker ability, task difficulty)."""

    name: ClassVar[str] = "dl-glad"
    title: ClassVar[str] = "GLAD, then train"
    paper: ClassVar[str] = "Whitehill et al.: Whose Vote Should Count More, NeurIPS 2009"
    recovers: ClassVar[tuple[str, ...]] = ("worker_weight", "difficulty")
    aggregator: ClassVar[str] = "glad"


class DlWc(AggregateThenTrain):
    """Cross-entropy with the posterior of worker clustering (workers of a cluster share a confusion)."""

    name: ClassVar[str] = "dl-wc"
    title: ClassVar[str] = "Worker clustering, then train"
    paper: ClassVar[str] = "Imamura, Sato, Sugiyama: Analysis of Minimax Error Rate for Crowdsourcing, ICML 2018"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "common_confusion", "worker_weight", "group")
    aggregator: ClassVar[str] = "worker-clustering"
