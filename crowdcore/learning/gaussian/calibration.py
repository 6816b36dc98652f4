"""How sure the posterior of annotated tasks should be, by gold or labels that it has not seen."""

from __future__ import annotations

import torch
from torch import Tensor

from crowdcore.learning.gaussian.classes import Blocks
from crowdcore.learning.gaussian.em import GaussianFit, fit_gaussians
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.method_settings import EmOptions
from crowdcore.learning.networks.rows import log_softmax

_POWERS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SMALLEST = 1e-300
_DRAWS, _ROUNDS = 2, 10  # labels of every task that are held out, one at a time, and rounds of EM without them
_FEWEST, _MOST = 20, 4096  # tasks with several labels, and tasks, between which they are


def held_out_power(
    fit: GaussianFit,
    labelled: Blocks,
    annotations: Annotations,
    settings: EmOptions,
    balance: float,
    sharpening: float,
    everything: Blocks | None = None,
) -> float:
    """β ≤ 1 under which labels are most likely given the posterior of their task by EM without them, to the power of β.

    A random label of every task that has several is held out, EM goes on without these labels from the fit, and
    ``Σ log Σ_c q_i(c)^β / Z_i · π^r[c, y_i^r]`` is summed over them, then over as many other ones. Where few tasks have
    several labels, or tasks are so many that one label hardly moves the classes, `posterior_power` says it.

    Args:
        fit: whose posterior is too sure.
        labelled, annotations, settings, balance, sharpening, everything: what it was fitted with.
    """
    if annotations.n_tasks > _MOST or int(annotations.one_of_each_task(0).sum()) < _FEWEST:
        return posterior_power(fit, annotations, settings)
    likelihood = fit.posterior.new_zeros(len(_POWERS))
    shorter = settings.model_copy(update={"rounds": min(settings.rounds, _ROUNDS)})
    for draw in range(_DRAWS):
        out = annotations.one_of_each_task(draw)
        rest = annotations.where(~out)
        without = fit_gaussians(labelled, rest, shorter, balance, sharpening, 0, everything, fit.posterior)
        log_q = without.posterior.clamp_min(_SMALLEST).log()[annotations.task[out]]
        given = without.confusion[annotations.worker[out], :, annotations.label[out]].log()
        terms = [torch.logsumexp(log_softmax(power * log_q) + given, 1).sum() for power in _POWERS]
        likelihood += torch.stack(terms)
    return _POWERS[int(likelihood.argmax())]


def posterior_power(fit: GaussianFit, annotations: Annotations, settings: EmOptions) -> float:
    """β ≤ 1 under which labels are most likely given the posterior of their task without them, to the power of β.

    Maximises ``Σ_(i,r) log Σ_c q_i^{-r}(c)^β / Z_i^r · π^{r,-i}[c, y_i^r]``. The most probable class stays the same.
    The Gaussian classes have seen these labels, so that β is too large where tasks are few.

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
