"""Worker clustering: a few confusions, shared by clusters of workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp

from crowdcore.aggregation._decomposition import first_groups
from crowdcore.aggregation._em import ConfusionEM, class_shares, too_few_labels
from crowdcore.aggregation.auto import held_out
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.em import Sums
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import setting
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_ROUNDS = 5  # alternations between clusters and their confusions per pass over the annotations
_STARTS = 10  # first groupings that are compared
_FEW = 10  # labels per worker that a cluster membership should rest on


class Clusters(NamedTuple):
    """Clusters of workers and their members.

    Attributes:
        shared: (K, C, C) confusion of each cluster, row = true class.
        share: (K,) share of the workers in each cluster, λ.
        member: (n_workers, K) probability that a worker belongs to each cluster, τ.
    """

    shared: FloatArray
    share: FloatArray
    member: FloatArray

    @classmethod
    def of(cls, counts: FloatArray, member: FloatArray, smoothing: float) -> Clusters:
        """Fit ``shared`` and ``share`` to members and counts (n_workers, C, C)."""
        shared = np.tensordot(member.T, counts, 1) + smoothing
        share = member[np.flatnonzero(counts.sum((1, 2)))].sum(0) + 1
        return cls(shared / shared.sum(2, keepdims=True), share / share.sum(), member)

    def regrouped(self, counts: FloatArray) -> Clusters:
        """Clusters with the likeliest members; a worker without labels belongs to clusters by their share."""
        score = np.tensordot(counts, np.log(self.shared), ([1, 2], [1, 2])) + np.log(self.share)
        return self._replace(member=np.exp(score - logsumexp(score, axis=1, keepdims=True)))

    def bound(self, counts: FloatArray, smoothing: float) -> float:
        """Part of the variational bound beside the terms of q(z)."""
        member = self.member[np.flatnonzero(counts.sum((1, 2)))]
        entropy = -(member * np.log(np.maximum(member, 1e-300))).sum()
        density = smoothing * np.log(self.shared).sum() + np.log(self.share).sum()
        return float((member * np.log(self.share)).sum() + entropy + density)

    def fit(self, counts: FloatArray, smoothing: float) -> float:
        """The bound for given counts, terms of q(z) that do not depend on the clusters left out."""
        expected = np.tensordot(counts, np.log(self.shared), ([1, 2], [1, 2]))
        return float((self.member * expected).sum()) + self.bound(counts, smoothing)


class ClusterParameters(NamedTuple):
    """Clusters, (C,) class shares, and the log density of both."""

    clusters: Clusters
    prior: FloatArray
    log_prior_density: float

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """(n_workers * C, C) expected log confusion in the layout of `Sums.counts`, and (C,) log prior."""
        shared = np.log(self.clusters.shared.transpose(0, 2, 1))
        expected = np.tensordot(self.clusters.member, shared, 1)
        with np.errstate(divide="ignore"):  # a class that no task has
            return expected.reshape(-1, len(self.prior)), np.log(self.prior)


class WorkerClustering(ConfusionEM):
    """Dawid–Skene with K confusions instead of one per worker: worker r belongs to cluster k with probability λ_k.

    Mean-field EM, as truth and clusters given the labels are not independent: ``log q_i(c) = log ρ_c + Σ_r Σ_k τ_rk
    log π^k[c, y_i^r] + const``, ``log τ_rk = log λ_k + Σ_cl n_rcl log π^k[c, l] + const`` with the expected counts
    ``n_rcl = Σ_i q_i(c) 1[y_i^r = l]``, ``π^k[c, l] ∝ α + Σ_r τ_rk n_rcl``, ``λ_k ∝ Σ_r τ_rk``. ``log_likelihood`` is
    the variational bound (plus the log prior density of π); it never falls. The clusters start around workers far
    from each other, by several such choices of which the best is kept.

    Without ``clusters`` K is the smallest of 1 … ``max_clusters`` under which annotations held out (a share
    ``held_out``, chosen by their ids) are as probable as under the best, to within one standard error:
    ``log Σ_c q_i(c) Σ_k τ_rk π^k[c, y]`` with q and τ from the other annotations.

    ``group`` is the likeliest cluster, the most accurate one first; ``common_confusion`` holds the K confusions.
    """

    name: ClassVar[str] = "worker-clustering"
    title: ClassVar[str] = "Worker clustering (WC)"
    paper: ClassVar[str] = "Imamura, Sato & Sugiyama, ICML 2018, arXiv:1802.04551"

    clusters: int | None = setting(None, "Clusters", "Number of clusters K; empty: by held-out labels.", ge=1, le=100)
    max_clusters: int = setting(5, "Clusters at most", "Largest K that held-out labels may choose.", ge=1, le=100)
    held_out: float = setting(
        0.1, "Share of labels held out", "Share of the annotations held out to choose K.", gt=0, lt=1
    )
    smoothing: float = setting(
        0.1, "Smoothing of confusions (labels)", "Dirichlet smoothing α of the clusters' confusions.", gt=0
    )

    def m_step(self, sums: Sums, n_workers: int, before: ClusterParameters | None = None) -> ClusterParameters:
        """Alternate between the clusters' confusions and their members."""
        prior, density = class_shares(sums, self.prior_smoothing)
        counts = sums.by_class(n_workers)
        if before is not None:
            clusters = self._alternate(counts, before.clusters.member)
        elif self.clusters is None:
            raise SettingError("clusters", "be given where no annotations can be held out", None)
        else:
            first = np.eye(self.clusters)
            options = [self._alternate(counts, first[g]) for g in first_groups(counts, len(first), _STARTS)]
            clusters = max(options, key=lambda option: round(option.fit(counts, self.smoothing), 6))
        return ClusterParameters(clusters, prior, density + clusters.bound(counts, self.smoothing))

    def _alternate(self, counts: FloatArray, member: FloatArray) -> Clusters:
        clusters = Clusters.of(counts, member, self.smoothing)
        for _ in range(_ROUNDS):
            clusters = Clusters.of(counts, clusters.regrouped(counts).member, self.smoothing)
        return clusters

    def parts(self, parameters: Any, sums: Sums) -> dict[str, Any]:
        """Clusters from the most accurate to the least; a worker's confusion is the mean of the clusters'."""
        shared, _, member = parameters.clusters
        prior: FloatArray = parameters.prior
        order = np.argsort(-(shared.diagonal(axis1=1, axis2=2) @ prior), kind="stable")
        shared, member = shared[order], member[:, order]
        counts = sums.by_class(len(member))
        idle = ~counts.any((1, 2))
        confusion = np.tensordot(member, shared, 1)
        confusion[idle] = np.nan
        return {
            "confusion": confusion,
            "counts": counts,
            "prior": prior,
            "common_confusion": shared,
            "worker_weight": confusion.diagonal(axis1=1, axis2=2) @ prior,
            "group": np.where(idle, -1, member.argmax(1)).astype(np.int32),
        }

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warn if most memberships rest on few labels."""
        return too_few_labels(dataset, _FEW)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if self.clusters is not None:
            return super()._fit(dataset, known, start)
        chosen, note = self._choose(dataset, known)
        result = self.model_copy(update={"clusters": chosen})._fit(dataset, known, start)
        return replace(result, settings=self.model_dump(), notes=(note, *result.notes))

    def _choose(self, dataset: CrowdDataset, known: IntArray | None) -> tuple[int, str]:
        """Choose K by held-out annotations; return it with a note."""
        hidden = held_out(dataset, self.held_out)
        if not hidden.any() or hidden.all():
            return 1, "Too few annotations to hold any out: one cluster."
        seen, value = dataset.where(~hidden), []
        for k in range(1, min(self.max_clusters, dataset.n_workers) + 1):
            result = self.model_copy(update={"clusters": k, "restarts": 0})._fit(seen, known, None)
            value.append(_held_out_values(dataset, hidden, result))
        best = max(value, key=lambda v: float(v.mean()))
        chosen = 1 + next(k for k, v in enumerate(value) if (best - v).mean() <= (best - v).std() / np.sqrt(len(v)))
        means = ", ".join(f"{k}: {v.mean():.4f}" for k, v in enumerate(value, 1))
        return chosen, f"K = {chosen}: mean log-probability of {len(best)} held-out annotations by K {means}."


def _held_out_values(dataset: CrowdDataset, hidden: BoolArray, result: AggregationResult) -> FloatArray:
    """Log-probability of each hidden annotation under a result on the others."""
    assert result.common_confusion is not None and result.confusion is not None and result.prior is not None
    task, worker, label = dataset.task[hidden], dataset.worker[hidden], dataset.label[hidden]
    posterior = np.where(np.isnan(result.posterior[task]), result.prior, result.posterior[task])
    average = result.common_confusion.mean(0)
    confusion = np.where(np.isnan(result.confusion), average, result.confusion)
    return np.asarray(np.log((posterior * confusion[worker, :, label]).sum(1)))
