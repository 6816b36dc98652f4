"""HMM-Crowd: Dawid & Skene's workers on a hidden Markov model of true tags."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation._chain_em import ChainEM, Experts
from crowdcore.data.dataset import CrowdDataset


class HMMCrowd(ChainEM):
    """HMM-Crowd: ``p(z, y, v) = Π_t τ[z_{t-1}, z_t] Ω[z_t, v_t] Π_r π^r[z_t, y_t^r]`` over the tokens of a sentence.

    E-step: forward-backward with ``E ln π^r``, ``E ln τ``, ``E ln Ω``; then ``q(π^r_c) = Dir(α + counts)``, and so for
    the rows of τ and Ω (the paper does so for π, and takes the likeliest τ and Ω). Moves that IOB2 does not allow get
    next to no prior. Labels are the most probable path. Without sentences, every task is a sentence of one token.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.tags(n_sentences=200, seed=1)
        >>> votes = cc.aggregation.MajorityVote().fit(crowd)
        >>> f1 = [cc.analysis.tagging_scores(crowd, r.labels).f1 for r in (votes, cc.aggregation.HMMCrowd().fit(crowd))]
        >>> f1[1] > f1[0]
        True
    """

    name: ClassVar[str] = "hmm-crowd"
    title: ClassVar[str] = "HMM-Crowd"
    paper: ClassVar[str] = "Nguyen et al.: Aggregating and Predicting Sequence Labels from Crowd Annotations, ACL 2017"

    def experts(self, dataset: CrowdDataset) -> Experts:
        """The workers."""
        one = self.smoothing + self.diagonal * np.eye(dataset.n_classes)
        prior = np.broadcast_to(one, (dataset.n_workers, *one.shape))
        return Experts(dataset.worker, np.arange(dataset.n_workers), prior)
