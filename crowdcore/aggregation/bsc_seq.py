"""Bayesian sequence combination with the sequential annotator model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation._chain_em import NEVER, ChainEM, Experts
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.tags import TagScheme, worker_sequences


class BSCSeq(ChainEM):
    """BSC-seq: a worker's tag depends on the true tag and on the worker's own tag before.

    ``p(y_t^r = l | z_t = c, y_{t-1}^r = m) = A^r[c, m, l]``, all rows of A, of the moves between true tags and of the
    words under Dirichlet priors, inferred by variational Bayes (the paper's sections 3 and 4). Moves that IOB2 does
    not allow get next to no prior. Labels are the most probable path. Without sentences no tag stands before another.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.aggregation.BSCSeq().fit(cc.data.simulate.tags(n_sentences=50, seed=1))
        >>> result.confusion.shape
        (8, 5, 5)
    """

    name: ClassVar[str] = "bsc-seq"
    title: ClassVar[str] = "Bayesian sequence combination"
    paper: ClassVar[str] = "Simpson & Gurevych: A Bayesian Approach for Sequence Tagging with Crowds, EMNLP 2019"

    def experts(self, dataset: CrowdDataset) -> Experts:
        """Each worker after each own tag, and at the start of a sentence (the last of each)."""
        n = dataset.n_classes
        before = np.full(dataset.n_annotations, n)
        if dataset.sentences is not None:
            sequences = worker_sequences(dataset)
            label = dataset.label[sequences.rows]
            before[sequences.rows] = np.where(sequences.first, n, np.roll(label, 1))
        one = np.broadcast_to(self.smoothing + self.diagonal * np.eye(n), (n + 1, n, n)).copy()
        scheme = None if dataset.sentences is None else TagScheme.of(dataset.classes)
        if scheme is not None:
            one[np.broadcast_to(scheme.invalid[:, None, :], one.shape)] = NEVER
        prior = np.tile(one, (dataset.n_workers, 1, 1))
        return Experts(dataset.worker * (n + 1) + before, np.repeat(np.arange(dataset.n_workers), n + 1), prior)
