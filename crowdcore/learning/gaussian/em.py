"""EM with Gaussian classes and confusions of workers, and calibration of its posterior."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from crowdcore.learning.gaussian.classes import Blocks, Classes
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.method_settings import EmOptions
from crowdcore.learning.networks.ops import log_softmax, softmax

_POWERS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SMALLEST = 1e-300
_DRAWS, _ROUNDS = 2, 10  # labels of every task that are held out, one at a time, and rounds of EM without them
_FEWEST, _MOST = 20, 4096  # tasks with several labels, and tasks, between which they are

_TEMPERATURES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
_BALANCING = 15  # steps of the biases towards the wanted class shares
_ENOUGH = 10_000  # tasks to estimate temperature and biases from
_FEW = 100_000  # numbers


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """Result of the EM.

    Args:
        classes: fitted on all tasks.
        temperature: T.
        bias: (C,) log prior.
        posterior: (n, C) q of the annotated tasks.
        confusion: (R, C, C) of the workers.
        shared: η.
        log_likelihood: (rounds,) mean over annotated tasks of ``log Σ_c p_i(c) Π_r π^{r,-i}[c, y_i^r]``, out of fold.
    """

    classes: Classes
    temperature: float
    bias: Tensor
    posterior: Tensor
    confusion: Tensor
    shared: float
    log_likelihood: Tensor

    def log_probs(self, x: Tensor) -> Tensor:
        """log p of tasks in the space, (n, D) -> (n, C)."""
        return log_softmax(self.temperature * self.classes.scores(x) + self.bias)


def fit_gaussians(
    labelled: Blocks,
    annotations: Annotations,
    settings: EmOptions,
    balance: float,
    sharpening: float,
    seed: int,
    everything: Blocks | None = None,
    start: Tensor | None = None,
) -> GaussianFit:
    """Rounds of EM.

    Classes are fitted on annotated tasks with weights q and, from the second round on, on unlabelled ones with weights
    p. E-step: ``q_i ∝ exp(T s_i + b) Π_r π^{r,-i}[·, y_i^r]^w_i`` with scores s out of random folds, T of the grid that
    makes the labels most likely (times `sharpening`), b that pulls class shares towards balance, and
    ``w_i = 1 / (1 + (m_i - 1) η)`` for m_i labels of workers who share mistakes.

    Args:
        labelled: annotated tasks in the space.
        annotations: of those tasks.
        settings: of the EM.
        balance: ρ.
        sharpening: factor of the temperature.
        seed: of the folds.
        everything: the annotated tasks, then tasks without labels.
        start: (n, C) the first q; default: vote shares.
    """
    n, shuffle = len(labelled.x), torch.Generator().manual_seed(seed)
    q, p, history, shared = annotations.votes() if start is None else start, None, [], settings.shared or 0.0
    counts, pseudo = annotations.counts(q), (settings.smoothing, settings.pooling)
    for _ in range(settings.rounds):
        # The first round has nothing to say of unlabelled tasks yet.
        blocks, soft = (labelled, q) if everything is None or p is None else (everything, torch.cat([q, p]))
        scores = blocks.out_of_fold(soft, settings.shrinkage, settings.folds, shuffle)
        every = annotations.log_evidence(q, counts, *pseudo)
        evidence = annotations.weight(shared) * every
        agreed = _temperature(scores[:n], evidence)
        temperature = sharpening * agreed
        logits = temperature * scores
        bias = _bias(logits, evidence, balance)
        log_p = log_softmax(logits + bias)
        history.append(torch.logsumexp(log_p[:n] + every, 1).mean())
        q = softmax(log_p[:n] + evidence)
        counts = annotations.counts(q)
        confusion = annotations.confusion(counts, *pseudo)
        if settings.shared is None:
            shared = annotations.shared_mistakes(softmax(agreed * scores[:n] + bias), confusion)
        if everything is not None:
            unseen = labelled.fit(q, settings.shrinkage).scores(everything.x[n:]) if p is None else scores[n:]
            p = softmax(temperature * unseen + bias)
    blocks, soft = (labelled, q) if everything is None or p is None else (everything, torch.cat([q, p]))
    return GaussianFit(
        blocks.fit(soft, settings.shrinkage),
        temperature,
        bias,
        q,
        confusion,
        shared,
        torch.stack(history),
    )


def _temperature(scores: Tensor, evidence: Tensor) -> float:
    """Temperature at which features explain the labels best."""
    scores, evidence = _thinned(scores), _thinned(evidence)
    at_once = max(1, _FEW // scores.numel())  # a small crowd's at once: each call costs more than its arithmetic
    likelihood = [
        torch.logsumexp(log_softmax(some * scores) + evidence, 2).mean(1)
        for some in torch.split(scores.new_tensor(_TEMPERATURES).view(-1, 1, 1), at_once)
    ]
    return _TEMPERATURES[int(torch.cat(likelihood).argmax())]


def _bias(logits: Tensor, evidence: Tensor, balance: float) -> Tensor:
    """(C,) log prior that moves class shares by a part ρ towards equal shares."""
    n_classes = logits.shape[1]
    bias = logits.new_zeros(n_classes)
    if balance == 0:
        return bias
    informed = logits.clone()
    informed[: len(evidence)] += evidence
    informed = _thinned(informed)
    wanted = ((1 - balance) * softmax(informed).mean(0) + balance / n_classes).log()
    for _ in range(_BALANCING):
        bias = bias + wanted - softmax(informed + bias).mean(0).clamp_min(1e-6).log()
    return bias


def _thinned(rows: Tensor) -> Tensor:
    """At most `_ENOUGH` evenly spaced rows."""
    return rows[:: max(1, len(rows) // _ENOUGH)]


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
