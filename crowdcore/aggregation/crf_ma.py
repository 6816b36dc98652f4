"""CRF-MA: a conditional random field of words, learnt from the workers whose tags it finds right."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crowdcore.aggregation._crf_tagger import CrfTagger
from crowdcore.aggregation._em import EMAggregator, clamp, start_posterior
from crowdcore.aggregation._registry import get
from crowdcore.aggregation._worker_paths import WorkerPaths
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.chains import Chains, Crf
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.word_features import word_matrix


class CRFMA(EMAggregator):
    """CRF-MA: of each sentence one worker ``z`` gave the true tags, the others tagged at random.

    ``p(y_i | x_i) = Σ_r P(z_i = r) p_crf(y_i^r | x_i) Π_{s≠r} C^-|y_i^s|`` with a linear-chain field of words, and
    ``P(z_i = r) = π_r / Σ_s π_s`` over the workers s who tagged sentence i (the paper's π_r where all tag all). E-step:
    ``γ_i^r ∝ π_r p_crf(y_i^r | x_i) C^|y_i^r|``. M-step: the field learns all sequences, weighed by γ, under a normal
    prior (some rounds of L-BFGS); ``π_r ← Σ_i γ_i^r / Σ_i 1/Σ_s π_s``, with a prior that has each worker chosen
    ``smoothing`` times. At first γ tells how well a sequence agrees with what `start` found: EM does not leave its
    neighbourhood, if the first field learns it well. A token that a worker left out is summed over, and true tags that
    are known stand in for all workers'. The posterior of a token's tag is ``Σ_r γ_i^r 1[y_i^r = c]``.

    The result's ``tagger`` tags sentences that nobody has tagged; its ``worker_weight`` is π. Without sentences, every
    task is a sentence of one token that says nothing.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.tags(n_sentences=50, n_test=2, seed=1)
        >>> result = cc.aggregation.CRFMA(max_iterations=3).fit(crowd)
        >>> result.tagger.predict(crowd.sentences).shape == crowd.gold.shape
        True
    """

    name: ClassVar[str] = "crf-ma"
    title: ClassVar[str] = "CRF-MA"
    paper: ClassVar[str] = (
        "Rodrigues, Pereira, Ribeiro: Sequence labeling with multiple annotators, Machine Learning 95, 2014"
    )
    sequential: ClassVar[bool] = True

    start: Literal["bsc-seq", "votes"] = Field(
        default="bsc-seq", title="Start", description="What γ starts from: tags of BSC-seq, or vote shares."
    )
    ridge: float = Field(
        default=1.0, gt=0, title="Ridge", description="Precision of the normal prior of the field's weights."
    )
    smoothing: float = Field(
        default=1.0,
        gt=0,
        title="Prior count of a worker",
        description="Prior count of how often each worker is chosen.",
    )
    rounds: int = Field(
        default=10, ge=1, title="Rounds of L-BFGS", description="Training rounds of the field in each iteration."
    )
    start_rounds: int = Field(
        default=50,
        ge=1,
        title="Rounds of L-BFGS at the start",
        description="Training rounds of the first field; one that has learnt too little would undo the start.",
    )
    tolerance: float = Field(
        default=1e-4,
        ge=0,
        title="Tolerance (objective per label)",
        description="Stop when the objective gains less than this per annotation.",
    )
    max_iterations: int = Field(
        default=30, ge=1, title="Iterations at most", description="Maximum number of iterations."
    )

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        paths, n_classes, n_workers = WorkerPaths.of(dataset), dataset.n_classes, dataset.n_workers
        x = word_matrix(paths.sentences)
        features = np.unique(x.indices)
        x, chains = x[:, features], Chains(paths.sentences.start)
        sentence, worker = paths.sentence, paths.worker
        present = dataset.labels_per_worker > 0
        crf = Crf.untrained(len(features), n_classes)
        reliability: FloatArray = present / present.sum()
        tags: FloatArray = np.empty((0, n_classes))

        def m_step(share: FloatArray, scores: FloatArray, rounds: int) -> None:
            nonlocal crf, reliability, tags
            sums = paths.chains.forward_backward(scores, crf.first, crf.move, share)
            tags = paths.per_token(sums.posterior, share)
            crf = crf.learn(x, chains, np.vstack([x.T @ tags, sums.first, sums.pairs]), self.ridge, rounds)
            rivals = 1 / np.bincount(sentence, reliability[worker])[sentence]
            won = np.bincount(worker, share, n_workers) + self.smoothing * present
            reliability = won / (np.bincount(worker, rivals, n_workers) + self.smoothing * present.sum())
            reliability /= reliability.sum()

        def step() -> float:
            scores = crf.scores(x)
            of_paths = paths.clamped(scores, known)
            all_paths = chains.log_partition(scores, crf.first, crf.move)
            log = paths.chains.log_partition(of_paths, crf.first, crf.move) - all_paths[sentence]
            log += np.log(reliability[worker] / np.bincount(sentence, reliability[worker])[sentence])
            share, total = _shares(log + paths.n_given * np.log(n_classes), sentence)
            prior = self.smoothing * np.log(reliability[present]).sum() - self.ridge / 2 * np.square(crf.table).sum()
            m_step(share, of_paths, self.rounds)
            return float(total - dataset.n_annotations * np.log(n_classes) + prior)

        if start is None and self.start == "bsc-seq":
            start = get("bsc-seq")._fit(dataset, known, None)
        agreed = np.log(np.maximum(start_posterior(dataset, known, start)[paths.tasks], 1e-9))
        of_paths = paths.clamped(agreed, known)
        votes = paths.chains.log_partition(of_paths, np.zeros(n_classes), np.zeros((n_classes, n_classes)))
        m_step(_shares(votes, sentence)[0], of_paths, self.start_rounds)
        trace = self.iterate(step, dataset.n_annotations)
        posterior = np.zeros((dataset.n_tasks, n_classes))
        posterior[paths.tasks] = tags
        clamp(posterior, known)
        weight = np.where(present, reliability, np.nan)
        tagger = CrfTagger(dataset.classes, features, crf)
        return self.result(dataset, posterior, known=known, worker_weight=weight, tagger=tagger, **trace._asdict())


def _shares(log: FloatArray, group: IntArray) -> tuple[FloatArray, float]:
    """(n,) softmax within groups, numbered from 0, and the sum of their log-sum-exp."""
    top = np.full(group.max() + 1, -np.inf)
    np.maximum.at(top, group, log)
    share = np.exp(log - top[group])
    total = np.bincount(group, share)
    return share / total[group], float((top + np.log(total)).sum())
