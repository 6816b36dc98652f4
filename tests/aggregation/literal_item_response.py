"""The item response model spelt out: every class, difficulty and foil of every task, in logarithms, and EM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

LEVELS = [*((float(d), 1.0) for d in range(-5, 6)), *((float(d), 0.3) for d in range(-2, 3))]  # d, slope
NONE, KAPPA, EVEN, ALONE, ALONE_DRAWN, LEAST = -1, 5.0, 0.1, 0.15, 100.0, 1e-6


class State(NamedTuple):
    """A state of a task: class, number of the level, foil, and its joint log-probability with the labels."""

    z: int
    d: int
    foil: int
    log_joint: float


class LiteralItemResponse:
    """EM with the default priors, one loop for each sum of the model."""

    def __init__(self, crowd: CrowdDataset) -> None:
        self.crowd, n = crowd, crowd.n_classes
        self.labels = [[*zip(*rows, strict=True)] for rows in self._rows()]
        guess = np.array([np.bincount([b for _, b in of], minlength=n) / max(len(of), 1) for of in self.labels])
        self.counts = np.zeros((crowd.n_workers, n, n))
        for i, of in enumerate(self.labels):
            for r, b in of:
                self.counts[r, :, b] += guess[i]
        self.class_share = (guess.sum(0) + 1) / (guess.sum() + n)
        right = np.trace(self.counts, axis1=1, axis2=2)
        total = self.counts.sum((1, 2))
        self.mean = np.where(total > 0, np.log((right + 0.5) / (total - right + 0.5)), 1.0)
        self.beta = np.repeat(self.mean[:, None], n, 1)
        self.prior = np.array([[np.exp(-(d**2) / 4) * p for p in (0.9, 0.1 if n > 2 else 0.0)] for d, _ in LEVELS])
        self.prior /= self.prior.sum()
        self.alone = ALONE

    def _rows(self) -> Iterator[tuple[IntArray, IntArray]]:
        for i in range(self.crowd.n_tasks):
            of = self.crowd.task == i
            yield self.crowd.worker[of], self.crowd.label[of]

    def shares(self) -> FloatArray:
        """(n_workers, C + 1, C) of each wrong label; the last row is that of classes that nobody gave a task."""
        n = self.crowd.n_classes
        values = np.full((self.crowd.n_workers, n + 1, n), 1e-4)
        for z in range(n + 1):
            wrong = [b for b in range(n) if b != z]
            per_label = {b: self.counts[:, [c for c in range(n) if c not in {b, z}] if z == n else z, b] for b in wrong}
            given = {b: x.sum(-1) if z == n else x for b, x in per_label.items()}
            crowd = {b: given[b].sum() + EVEN for b in wrong}
            for b in wrong:
                share = (given[b] + KAPPA * crowd[b] / sum(crowd.values())) / (sum(given.values()) + KAPPA)
                values[:, z, b] = np.maximum(share, 1e-4)
        return values

    def states(self, i: int) -> list[State]:
        """Every state of task i."""
        n, share = self.crowd.n_classes, self.shares()
        given = {b for _, b in self.labels[i]}
        lumped = n - len(given) > 1
        classes = [*sorted(given), n] if lumped else [*range(n)]  # classes that nobody gave are one, if several
        itself = max(set(range(n)) - given, default=n)  # any of them: as a foil, each is as likely
        states = []
        for z in classes:
            rest = 1 - sum(self.class_share[b] for b in given)
            log_class = np.log(rest if z == n else self.class_share[z])
            for d, (level, slope) in enumerate(LEVELS):
                for foil in (NONE, *(f for f in range(n) if f != (itself if z == n else z))):
                    chance = self.prior[d, 0] if foil == NONE else self.prior[d, 1] / (n - 1)
                    log_joint = log_class + np.log(chance) if chance > 0 else -np.inf
                    for r, b in self.labels[i]:
                        right = expit(slope * (self.mean[r] if z == n else self.beta[r, z]) - level)
                        own = share[r, z, b]
                        if foil != NONE:
                            own = (1 - self.alone) * (b == foil) + self.alone * own
                        log_joint += np.log(right if b == z else (1 - right) * own)
                    states.append(State(z, d, foil, float(log_joint)))
        return states

    def step(self) -> float:
        """One iteration; the objective before its M-step."""
        n, share = self.crowd.n_classes, self.shares()
        objective = -((self.beta - self.mean[:, None]) ** 2).sum() / 2 - ((self.mean - 1) ** 2).sum() / 2
        objective += np.log(self.class_share).sum()
        objective += ALONE_DRAWN * (ALONE * np.log(self.alone) + (1 - ALONE) * np.log(1 - self.alone))
        types, classes, misled = np.zeros((len(LEVELS), 2)), np.zeros(n), np.zeros(2)
        gradient, curvature, counts = np.zeros_like(self.beta), np.zeros_like(self.beta), np.zeros_like(self.counts)
        for i in range(self.crowd.n_tasks):
            if not self.labels[i]:
                continue
            states = self.states(i)
            total = logsumexp([s.log_joint for s in states])
            objective += total
            for z, d, foil, p in self.likely(states):
                types[d, int(foil != NONE)] += p
                if z == n:
                    continue
                classes[z] += p
                level, slope = LEVELS[d]
                for r, b in self.labels[i]:
                    right = expit(slope * self.beta[r, z] - level)
                    gradient[r, z] += p * slope * ((b == z) - right)
                    curvature[r, z] += p * slope**2 * right * (1 - right)
                    own = self.alone * share[r, z, b] / (1 - self.alone + self.alone * share[r, z, b])
                    own = own if b == foil else 1.0
                    counts[r, z, b] += p * own
                    if foil != NONE and b != z:
                        misled += p * np.array([own, 1 - own])
        gradient -= self.beta - self.mean[:, None]
        self.beta = np.clip(self.beta + np.clip(gradient / (curvature + 1), -1, 1), -8, 8)
        self.mean = (self.beta.sum(1) + 1) / (n + 1)
        self.prior, self.class_share, self.counts = types / types.sum(), (classes + 1) / (classes.sum() + n), counts
        self.alone = max((misled[0] + ALONE * ALONE_DRAWN) / (misled.sum() + ALONE_DRAWN), 0.01)
        return float(objective)

    @staticmethod
    def likely(states: list[State]) -> Iterator[tuple[int, int, int, float]]:
        """Class, level, foil and probability of each state but those of classes that are less likely than 10⁻⁶."""
        p = np.exp([s.log_joint for s in states] - logsumexp([s.log_joint for s in states]))
        of_class = np.bincount([s.z for s in states], p)
        return ((s.z, s.d, s.foil, float(x)) for s, x in zip(states, p, strict=True) if of_class[s.z] >= LEAST)

    def posterior(self, i: int) -> tuple[FloatArray, float, int]:
        """Of task i: the probability of each class, the difficulty, and the foil."""
        n, states = self.crowd.n_classes, self.states(i)
        p = np.exp([s.log_joint for s in states] - logsumexp([s.log_joint for s in states]))
        n_labels = np.bincount(self.crowd.worker, minlength=self.crowd.n_workers)
        classes, foils, wrong = np.zeros(n + 1), np.zeros((n + 1, n)), 0.0
        for s, x in zip(states, p, strict=True):
            level, slope = LEVELS[s.d]
            ability = self.mean if s.z == n else self.beta[:, s.z]
            wrong += x * np.average(expit(level - slope * ability), weights=n_labels)
            classes[s.z] += x
            if s.foil != NONE:
                foils[s.z, s.foil] += x
        likely = int(classes.argmax())
        foil = int(foils[likely].argmax())
        foil = foil if foils[likely, foil] > classes[likely] / 2 else NONE
        unseen = [c for c in range(n) if c not in {b for _, b in self.labels[i]}]
        if classes[n]:
            classes[unseen] = classes[n] * self.class_share[unseen] / self.class_share[unseen].sum()
        return classes[:n], wrong, foil
