"""Panels of judges with planted kin: twins, families, and raters who do not look at the items."""

from __future__ import annotations

import numpy as np
import pandas as pd

import crowdcore as cc


def judged(verdicts: np.ndarray, truth: np.ndarray | None, names: list[str] | None = None) -> cc.CrowdDataset:
    """A dataset of verdicts (n, m), -1 = missing, of classes ``no``, ``yes``, … in the order of their numbers."""
    called = names or [f"judge-{j}" for j in range(verdicts.shape[1])]
    words = ["a-no", "b-yes", "c-tie", "d-else"]
    item, judge = np.nonzero(verdicts >= 0)
    rows = {
        "task": [f"i{i:05d}" for i in item],
        "worker": [called[j] for j in judge],
        "label": [words[verdicts[i, j]] for i, j in zip(item, judge, strict=True)],
    }
    gold = None if truth is None else {f"i{i:05d}": words[c] for i, c in enumerate(truth)}
    return cc.from_frame(pd.DataFrame(rows), gold=gold)


def independent(n: int, m: int, seed: int, right: float = 0.75, share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts of judges whose mistakes are independent, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    skill = np.clip(right + rng.normal(0, 0.06, m), 0.55, 0.95)
    good = rng.random((n, m)) < skill
    return np.where(good, truth[:, None], 1 - truth[:, None]), truth


def difficult(n: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One trait: items that are hard for one judge are hard for all, and more so for some."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    trait = (2 * truth - 1) * 0.8 + rng.normal(0, 1, n)
    slope, border = rng.uniform(0.8, 3, m), rng.normal(0, 0.4, m)
    chance = 1 / (1 + np.exp(-slope * (trait[:, None] - border)))
    return (rng.random((n, m)) < chance).astype(int), truth
