"""EM over true labels, Gaussian classes and workers' confusions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from crowdcore.learning.gaussian.classes import Blocks, Classes
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.method_settings import EmOptions
from crowdcore.learning.networks.rows import log_softmax, softmax

_TEMPERATURES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
_BALANCING = 15  # steps of the biases towards the wanted class shares
_ENOUGH = 10_000  # tasks that temperature and biases are found on
_FEW = 100_000  # numbers


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """What EM came to.

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
    """The temperature at which features and labels agree best."""
    scores, evidence = _thinned(scores), _thinned(evidence)
    at_once = max(1, _FEW // scores.numel())  # a small crowd's at once: each call costs more than its arithmetic
    likelihood = [
        torch.logsumexp(log_softmax(some * scores) + evidence, 2).mean(1)
        for some in torch.split(scores.new_tensor(_TEMPERATURES).view(-1, 1, 1), at_once)
    ]
    return _TEMPERATURES[int(torch.cat(likelihood).argmax())]


def _bias(logits: Tensor, evidence: Tensor, balance: float) -> Tensor:
    """(C,) log prior under which class shares are ``(1 - ρ)`` times what they are plus ρ times equal ones."""
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
    """As many evenly spaced rows as are enough."""
    return rows[:: max(1, len(rows) // _ENOUGH)]
