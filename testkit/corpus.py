"""Documents of known topics, labelled by a crowd."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd

N, N_TEST, CLASSES, TOPICS, WORDS, WORKERS = 240, 200, 3, 6, 100, 6


class Corpus:
    """Documents drawn from the model: two topics indicate each class, and workers' labels are often wrong."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.topics = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
        self.gold = rng.integers(CLASSES, size=N + N_TEST)
        favoured = np.where(np.arange(TOPICS) % CLASSES == self.gold[:, None], 1.2, 0.15)
        shares = np.stack([rng.dirichlet(row) for row in favoured])
        self.counts = rng.multinomial(60, shares @ self.topics)
        right = rng.uniform(0.35, 0.8, WORKERS)[:, None, None]
        self.confusion = right * np.eye(CLASSES) + (1 - right) / (CLASSES - 1) * (1 - np.eye(CLASSES))
        self.confusion[0] = [[0.1, 0.85, 0.05], [0.85, 0.1, 0.05], [0.05, 0.05, 0.9]]  # one worker swaps two classes
        self.task = np.repeat(np.arange(N), 3)
        self.worker = np.concatenate([np.sort(rng.permutation(WORKERS)[:3]) for _ in range(N)])
        rows = self.confusion[self.worker, self.gold[self.task]].cumsum(1)
        self.label = (rng.random((len(rows), 1)) > rows).sum(1)

    def dataset(self) -> CrowdDataset:
        crowd = simulate_crowd(N + N_TEST, WORKERS, CLASSES, 3)
        crowd = crowd.where(crowd.task < N)
        split = np.where(np.arange(N + N_TEST) < N, 0, 2).astype(np.int8)
        parts = {"task": self.task, "worker": self.worker, "label": self.label, "gold": self.gold}
        return replace(crowd, split=split, **{k: v.astype(getattr(crowd, k).dtype) for k, v in parts.items()})
