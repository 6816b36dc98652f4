"""Auto: several aggregators, weighted by how well they predict annotations that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from crowdcore.aggregation.base import AggregationResult, Aggregator, get, lost_classes
from crowdcore.aggregation.dawid_skene import pooled_confusion
from crowdcore.core.counts import cell_counts, clamp, soft_confusion_counts
from crowdcore.core.memory import need_room
from crowdcore.core.settings import setting
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

_CANDIDATES: dict[str, dict[str, Any]] = {
    "majority-vote": {},
    "one-coin": {},
    "mace": {},
    "dawid-skene": {"smoothing": 0.1},
    "pooled-dawid-skene": {},
    "conal-em": {"restarts": 0},
}
_OF_SENTENCES: dict[str, dict[str, Any]] = {"span-majority": {}, "hmm-crowd": {}, "bsc-seq": {}}
_ENOUGH = 20  # hidden annotations below which no weight is estimated
_MOST = 100_000  # annotations that the weights are estimated from, those of evenly spaced tasks
_ROUNDS = 100  # EM steps for the weights
_NEGLIGIBLE = 0.05  # weight of an aggregator that is left out
_STRENGTH = 15.0  # labels by which confusions are drawn to the crowd's


class Auto(Aggregator):
    """The weighted mean of several aggregators' posteriors, the weights chosen without gold.

    A share ``held_out`` of the annotations is hidden, chosen by their ids. Each aggregator k is fitted to the rest and
    predicts the hidden ones: ``p_k(y_i^r) = Σ_c q_ik(c) π_k^r[c, y]``, with the confusions of one pooled model for
    all. The weights maximise the log-probability of the hidden annotations under the mixture,
    ``Σ log Σ_k w_k p_k(y_i^r)`` (stacking), and the answer is ``q_i = Σ_k w_k q_ik`` of fits to all annotations.
    An aggregator that collapses, or whose weight is below 5 %, is left out; without enough annotations to
    hide, the answer is the majority vote. ``confusion`` is that of the pooled model under the answer. Tags of sentences
    are hidden by whole sentences of a worker, and the aggregators of sequences are among those that are weighed.
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "Auto (weighted by held-out annotations)"
    paper: ClassVar[str] = "Stacking: Yao, Vehtari, Simpson & Gelman, Bayesian Analysis 2018, doi:10.1214/17-BA1091"

    held_out: float = setting(
        0.2, "Share of labels held out", "Share of the annotations held out to judge the aggregators.", gt=0, lt=1
    )

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        need_room(dataset.name, dataset.n_tasks, dataset.n_classes, dataset.n_workers)
        weight, notes = self._weigh(dataset, known)
        posterior: FloatArray = np.zeros((dataset.n_tasks, dataset.n_classes))
        total, lost = 0.0, []
        for name, share in weight.items():
            fit = get(name, **_candidates(dataset)[name])._fit(dataset, known, start).posterior
            if lost_classes(dataset, fit, known):
                lost.append(name)
            else:
                posterior += share * fit
                total += share
        if lost:
            notes = (*notes, _left_out(lost))
        posterior = posterior / total if total else get("majority-vote")._fit(dataset, known, None).posterior
        clamp(posterior, known)
        return self.result(dataset, posterior, known=known, notes=notes, **_crowd(dataset, posterior))

    def _weigh(self, dataset: CrowdDataset, known: IntArray | None) -> tuple[dict[str, float], tuple[str, ...]]:
        """Weights of the aggregators that are kept, and notes that explain them."""
        candidates, step = _candidates(dataset), -(-dataset.n_annotations // _MOST)
        tasks = dataset.every(step)
        some = dataset if step == 1 else take_tasks(dataset, tasks)
        clamped = None if known is None else known[tasks]
        hidden = held_out(some, self.held_out)
        if dataset.n_classes < 2 or hidden.sum() < _ENOUGH or hidden.all():
            return {"majority-vote": 1.0}, ("Too few annotations to hold any out: majority vote is used.",)
        seen, probability = some.where(~hidden), {}
        for name, settings in candidates.items():
            fit = get(name, **settings)._fit(seen, clamped, None)
            if not lost_classes(seen, fit.posterior, clamped):
                probability[name] = predicted(some, hidden, fit.posterior, _STRENGTH)
        if not probability:
            return {"majority-vote": 1.0}, ("Every fit loses or inflates a class: majority vote is used.",)
        weight = dict(zip(probability, _stacked(np.stack(list(probability.values()), 1)), strict=True))
        score = {name: float(np.log(p).mean()) for name, p in probability.items()}
        kept = {name: w for name, w in weight.items() if w >= _NEGLIGIBLE}
        shown = ", ".join(f"{name} {100 * w:.0f} %" for name, w in sorted(kept.items(), key=lambda item: -item[1]))
        scores = ", ".join(f"{name} {s:.3f}" for name, s in sorted(score.items(), key=lambda item: -item[1]))
        left = sorted(set(candidates) - set(probability))
        why = f"Weights: {shown}; by the mean log-probability of {int(hidden.sum())} held-out annotations: {scores}."
        if left:
            why += " " + _left_out(left)
        return kept, (why,)


def held_out(dataset: CrowdDataset, share: float) -> BoolArray:
    """(n_annotations,) bool, hidden ones: by a hash of task (or sentence) and worker, never a task's only label."""
    whole = dataset.sentences
    ids, of = (dataset.task_ids, dataset.task) if whole is None else (whole.ids, whole.of_task[dataset.task])
    task, worker = (pd.util.hash_array(np.asarray(names, object)) for names in (ids, dataset.worker_ids))
    mixed = task[of] * np.uint64(0x9E3779B97F4A7C15) ^ worker[dataset.worker]
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    chance = (mixed >> np.uint64(11)) * 2.0**-53
    return np.asarray((chance < share) & (dataset.labels_per_task[dataset.task] > 1))


def predicted(dataset: CrowdDataset, hidden: BoolArray, posterior: FloatArray, strength: float) -> FloatArray:
    """(n_hidden,) ``Σ_c q_i(c) π^r[c, y_i^r]`` of the hidden annotations, π from q and the others (`pooled_confusion`).

    All posteriors are judged by the same model of the workers.

    ``posterior`` (n_tasks, C) is fitted to the others; NaN rows become the class shares. ``strength``: κ, labels.
    """
    n_classes, seen = dataset.n_classes, dataset.where(~hidden)
    shares = np.nanmean(posterior, axis=0)
    q = np.where(np.isnan(posterior), shares, posterior)
    cell = seen.worker * n_classes + seen.label
    counts = cell_counts(seen.task_start, cell, q, dataset.n_workers * n_classes)
    confusion = pooled_confusion(counts.reshape(dataset.n_workers, n_classes, n_classes), strength)
    likelihood = confusion[dataset.worker[hidden], dataset.label[hidden]]
    return np.asarray((q[dataset.task[hidden]] * likelihood).sum(1))


def _candidates(dataset: CrowdDataset) -> dict[str, dict[str, Any]]:
    """Name and settings of the aggregators that are weighed."""
    return _CANDIDATES if dataset.sentences is None else {**_CANDIDATES, **_OF_SENTENCES}


def _left_out(names: Sequence[str]) -> str:
    return f"Left out, as a class is lost or inflated in the fit: {', '.join(names)}."


def _stacked(probability: FloatArray) -> FloatArray:
    """(K,) weights that maximise ``Σ log Σ_k w_k p_k`` of (n, K), by EM."""
    weight = np.full(probability.shape[1], 1 / probability.shape[1])
    for _ in range(_ROUNDS):
        share = probability * weight
        share /= share.sum(1, keepdims=True)
        weight = share.mean(0)
    return np.asarray(weight)


def _crowd(dataset: CrowdDataset, posterior: FloatArray) -> dict[str, Any]:
    """Counts, confusion, class shares and accuracy of the workers under a posterior."""
    q = np.nan_to_num(posterior)
    counts = soft_confusion_counts(dataset.task, dataset.worker, dataset.label, q, dataset.n_workers)
    confusion = pooled_confusion(counts.transpose(0, 2, 1), _STRENGTH).transpose(0, 2, 1)
    confusion[dataset.labels_per_worker == 0] = np.nan
    prior = q.sum(0) / max(q.sum(), 1e-300)
    return {
        "confusion": confusion,
        "counts": counts,
        "prior": prior,
        "worker_weight": confusion.diagonal(axis1=1, axis2=2) @ prior,
    }
