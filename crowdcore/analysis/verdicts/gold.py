"""Gold labels that may be wrong: what the labels say against them, beyond the workers' known and common mistakes."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from crowdcore.aggregation._evidence import Evidence, estimate_dependence, first_labels, log_shares, taken_out
from crowdcore.core.counts import soft_confusion_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_SHARE = 0.01  # of gold labels that are wrong, before the labels are seen
_ROUNDS = 2  # of counting confusions by what is taken for the truth


def wrong_gold(dataset: CrowdDataset, gold: IntArray) -> FloatArray:
    """Chance that each gold label is wrong, by the workers' labels.

    Gold is taken for one more labeller, who is wrong on a share ε = 0.01 of the tasks, in favour of the classes by
    their frequency ρ:

    ``q_i(c) ∝ γ_i(c) L_i(c)``, with ``γ_i(g_i) = 1 - ε``, ``γ_i(c) = ε ρ_c / (1 - ρ_{g_i})`` for all others.

    L is the likelihood of the labels by confusions that are counted on the other tasks, and by the dependence η of the
    labels of a task (`Evidence`). So mistakes that the workers are known to make, alone or together, do not speak
    against gold, and labels that repeat each other speak less. Confusions and η are counted by gold, then again by q:
    wrong gold would else hide itself.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts.
        gold: (n_tasks,) true classes, -1 unknown.

    Returns:
        (n_tasks,) ``1 - q_i(g_i)``; 0 without gold or without labels.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis.verdicts.gold import wrong_gold
        >>> demo = cc.load_dataset("demo")
        >>> int((wrong_gold(demo, demo.gold) > 0.5).sum())
        0
    """
    doubt = np.zeros(dataset.n_tasks)
    known = np.flatnonzero((gold >= 0) & dataset.annotated)
    if not len(known):
        return doubt
    once = first_labels(dataset)[0]
    judged = once.where((gold >= 0)[once.task])
    at = known, gold[known]
    q = np.zeros((dataset.n_tasks, dataset.n_classes))
    q[at] = 1.0
    for _ in range(_ROUNDS):
        counts = soft_confusion_counts(judged.task, judged.worker, judged.label, q, dataset.n_workers)
        own = log_shares(counts).transpose(0, 2, 1)[judged.worker, judged.label]
        without, change = taken_out(judged, own, counts, q)
        prior = (counts.sum((0, 2)) + 1e-9) * np.exp(change[known])
        prior[np.arange(len(known)), at[1]] = 0
        prior *= _SHARE / np.maximum(prior.sum(1, keepdims=True), 1e-12)
        prior[np.arange(len(known)), at[1]] = 1 - _SHARE
        evidence = Evidence(judged, without).log(estimate_dependence(judged, q))[known]
        q[known] = softmax(evidence + np.log(np.maximum(prior, 1e-12)), 1)
    doubt[known] = 1 - q[at]
    return doubt
