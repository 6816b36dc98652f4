"""How sure the posterior of annotated tasks should be, by gold or labels that it has not seen."""

from __future__ import annotations

import torch
from torch import Tensor

from crowdcore.learning.gaussian.em import EmOptions, GaussianFit
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.networks.rows import log_softmax

_POWERS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SMALLEST = 1e-300


def posterior_power(fit: GaussianFit, annotations: Annotations, settings: EmOptions) -> float:
    """β ≤ 1 under which labels are most likely given the posterior of their task without them, to the power of β.

    Maximises ``Σ_(i,r) log Σ_c q_i^{-r}(c)^β / Z_i^r · π^{r,-i}[c, y_i^r]``. The most probable class stays the same.

    Args:
        fit: whose posterior is too sure.
        annotations: of its tasks.
        settings: of its EM.
    """
    q, own = fit.posterior, (settings.smoothing, settings.pooling)
    counts = annotations.counts(q)
    evidence = annotations.log_evidence(q, counts, *own)
    features = q.clamp_min(_SMALLEST).log() - annotations.weight(fit.shared) * evidence
    weight = annotations.weight(fit.shared, without=1)
    likelihood = q.new_zeros(len(_POWERS))
    for task, terms in annotations.log_terms(q, counts, *own):
        rest: Tensor = features[task] + weight[task] * (evidence[task] - terms)
        for k, power in enumerate(_POWERS):
            likelihood[k] += torch.logsumexp(log_softmax(power * rest) + terms, 1).sum()
    return _POWERS[int(likelihood.argmax())]


def gold_power(fit: GaussianFit, log_p: Tensor, annotations: Annotations, gold: Tensor) -> float:
    """β ≤ 1 under which the gold of tasks that EM has not seen is most likely, ``Σ_i log q_i(gold_i)^β / Z_i``.

    Args:
        fit: whose posterior is too sure.
        log_p: (n, C) of the features of these tasks.
        annotations: of these tasks.
        gold: (n,) true class, -1 = unknown.
    """
    terms = fit.confusion[annotations.worker, :, annotations.label].log()
    evidence = torch.zeros_like(log_p).index_add_(0, annotations.task, terms)
    known = torch.nonzero(gold >= 0).squeeze(1)
    log_q = (log_p + annotations.weight(fit.shared) * evidence)[known]
    likelihood = [log_softmax(power * log_q).gather(1, gold[known].unsqueeze(1)).sum() for power in _POWERS]
    return _POWERS[int(torch.stack(likelihood).argmax())]
