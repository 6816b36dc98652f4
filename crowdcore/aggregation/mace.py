"""MACE."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from crowdcore.aggregation._em import SumsEM, too_few_labels
from crowdcore.core.em import Sums
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

_FEW = 10  # labels per worker that θ and ξ should rest on


class MaceParameters(NamedTuple):
    """Weights of knowing and of each guess.

    Attributes:
        prior: (C,) class shares.
        know: (n_workers,) weight of giving the true class, θ.
        guess: (n_workers, C) weight of guessing each label, (1 - θ) ξ.
        log_prior_density: the bound minus the log-likelihood.
        skill: (n_workers,) estimate of θ.
        strategy: (n_workers, C) estimate of ξ, rows sum to 1.
    """

    prior: FloatArray
    know: FloatArray
    guess: FloatArray
    log_prior_density: float
    skill: FloatArray
    strategy: FloatArray

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """(n_workers * C, C) log weight of (given, true), and (C,) log prior."""
        n_classes = self.guess.shape[1]
        weight = self.know[:, None, None] * np.eye(n_classes) + self.guess[:, :, None]
        with np.errstate(divide="ignore"):  # a class that no task has
            return np.log(weight.reshape(-1, n_classes)), np.log(self.prior)


class MACE(SumsEM):
    """Multi-annotator competence estimation: a worker knows the answer, or guesses by a strategy of their own.

    ``z_i ~ ρ``; with probability θ_r the worker gives ``y = z_i``, else ``y ~ ξ_r``. EM over z and the
    knowing; the M-step needs the expected counts ``n_r[c, y]`` only: an annotation was known with probability
    ``θ / (θ + (1 - θ) ξ_y)`` if y = c, else guessed.

    ``inference="vb"`` (the paper's better one) holds Beta and Dirichlet posteriors of θ and ξ and records the
    variational bound; ``"em"`` adds ``smoothing`` to the counts and records the log posterior density. Both never
    fall. The paper's ρ is uniform (``class_prior="uniform"``); where classes are unequal, guesses then take over the
    most frequent class, so that by default ``ρ_c ∝ 1 + Σ_i q_i(c)``. EM starts from vote shares (the paper: random
    parameters) with θ = ½ and uniform strategies.
    """

    name: ClassVar[str] = "mace"
    title: ClassVar[str] = "MACE"
    paper: ClassVar[str] = "Hovy, Berg-Kirkpatrick, Vaswani & Hovy, NAACL 2013, aclanthology.org/N13-1132"

    inference: Literal["vb", "em"] = setting("vb", "Inference", "Variational Bayes with the priors below, or plain EM.")
    know_prior: float = setting(
        0.5, "Prior of knowing (labels)", "Beta prior of θ: pseudo-annotations known (vb).", gt=0
    )
    guess_prior: float = setting(
        0.5, "Prior of guessing (labels)", "Beta prior of θ: pseudo-annotations guessed (vb).", gt=0
    )
    strategy_prior: float = setting(
        10.0, "Prior of each guessed class (labels)", "Dirichlet prior of ξ: pseudo-guesses of each label (vb).", gt=0
    )
    smoothing: float = setting(0.01, "Smoothing (labels)", "Added to every expected count (em).", gt=0)

    class_prior: Literal["estimated", "uniform"] = setting(
        "estimated", "Class shares", "Class shares ρ: estimated, or uniform as in the paper."
    )

    def m_step(self, sums: Sums, n_workers: int, before: MaceParameters | None = None) -> MaceParameters:
        """Split the counts into known and guessed, and estimate θ and ξ from them."""
        n_classes = len(sums.classes)
        if before is None:
            know, guess = np.full(n_workers, 0.5), np.full((n_workers, n_classes), 0.5 / n_classes)
        else:
            know, guess = before.know, before.guess
        prior, log_shares = self._class_shares(sums)
        counts = sums.counts.reshape(n_workers, n_classes, n_classes)
        hits = counts.diagonal(axis1=1, axis2=2)
        known = hits * know[:, None] / (know[:, None] + guess)
        guesses = counts.sum(2) - known
        of_know, of_guess = known.sum(1), guesses.sum(1)
        if self.inference == "em":
            skill = (of_know + self.smoothing) / (of_know + of_guess + 2 * self.smoothing)
            strategy = (guesses + self.smoothing) / (of_guess + n_classes * self.smoothing)[:, None]
            density = self.smoothing * (np.log(skill) + np.log1p(-skill) + np.log(strategy).sum(1)).sum()
            density += log_shares
            return MaceParameters(prior, skill, (1 - skill)[:, None] * strategy, float(density), skill, strategy)
        a, b = of_know + self.know_prior, of_guess + self.guess_prior
        alpha = guesses + self.strategy_prior
        log_know, log_guess = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
        log_strategy = digamma(alpha) - digamma(alpha.sum(1))[:, None]
        # minus the divergences of the posteriors of θ and ξ from their priors
        density = betaln(a, b) - betaln(self.know_prior, self.guess_prior)
        density -= (a - self.know_prior) * log_know + (b - self.guess_prior) * log_guess
        density += gammaln(alpha).sum(1) - gammaln(alpha.sum(1))
        density -= n_classes * gammaln(self.strategy_prior) - gammaln(n_classes * self.strategy_prior)
        density -= ((alpha - self.strategy_prior) * log_strategy).sum(1)
        return MaceParameters(
            prior,
            np.exp(log_know),
            np.exp(log_guess[:, None] + log_strategy),
            float(density.sum()) + log_shares,
            a / (a + b),
            alpha / alpha.sum(1, keepdims=True),
        )

    def _class_shares(self, sums: Sums) -> tuple[FloatArray, float]:
        """ρ, and its log prior density; a class that no task has gets none."""
        n_classes, used = len(sums.classes), sums.classes > 0
        if self.class_prior == "uniform":
            return np.full(n_classes, 1 / n_classes), 0.0
        prior = np.where(used, sums.classes + 1, 0.0)
        prior /= prior.sum()
        return prior, float(np.log(prior[used]).sum())

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warn if most workers' θ and ξ rest on few labels."""
        return too_few_labels(dataset, _FEW)

    def parts(self, parameters: MaceParameters, sums: Sums) -> dict[str, Any]:
        """Confusion ``θ 1[y = c] + (1 - θ) ξ_y``, expected counts, and θ as the worker's weight."""
        skill, strategy = parameters.skill, parameters.strategy
        n_classes = strategy.shape[1]
        counts = sums.by_class(len(skill))
        confusion = skill[:, None, None] * np.eye(n_classes) + ((1 - skill)[:, None] * strategy)[:, None, :]
        idle = counts.sum((1, 2)) == 0
        confusion[idle] = np.nan
        return {
            "confusion": confusion,
            "counts": counts,
            "prior": parameters.prior,
            "worker_weight": np.where(idle, np.nan, skill),
        }
