"""Ordinal Dawid–Skene against its equation, and on a crowd whose mistakes are near misses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import crowdcore as cc
from crowdcore.core.em import Sums
from crowdcore.data import CrowdDataset


def near_misses(n_tasks: int = 400, n_workers: int = 40, n_classes: int = 5) -> CrowdDataset:
    """Workers see the true position shifted, scaled and blurred, and give the nearest class."""
    rng = np.random.default_rng(0)
    truth, worker = rng.integers(n_classes, size=n_tasks), rng.integers(n_workers, size=4 * n_tasks)
    shift, scale, blur = (
        rng.normal(0, 0.7, n_workers),
        rng.uniform(0.6, 1.2, n_workers),
        rng.uniform(0.4, 1.5, n_workers),
    )
    task, middle = np.repeat(np.arange(n_tasks), 4), (n_classes - 1) / 2
    seen = shift[worker] + scale[worker] * (truth[task] - middle) + blur[worker] * rng.normal(size=len(task))
    label = np.clip(np.round(seen + middle), 0, n_classes - 1)
    ids = [pd.RangeIndex(n).astype(str) for n in (n_tasks, n_workers)]
    return CrowdDataset("near", tuple(map(str, range(1, n_classes + 1))), *ids, task, worker, label, gold=truth)


def test_the_m_step_is_the_best_discretised_normal():
    model = cc.aggregation.OrdinalDawidSkene(smoothing=0.5)
    counts = np.random.default_rng(0).uniform(0, 5, (3, 4, 4))  # worker, given, true
    found = model.m_step(Sums(counts.reshape(12, 4), np.ones(4), np.nan), 3).confusion.transpose(0, 2, 1)
    x = np.arange(4) - 1.5

    def confusion(shift: float, scale: float, log_sigma: float) -> np.ndarray:
        density = np.exp(-((x - shift - scale * x[:, None]) ** 2) / 2 / np.exp(2 * log_sigma))
        return density / density.sum(1, keepdims=True)

    for r in range(3):
        both = counts[r].T + 0.5 * confusion(0, 1, 0)
        best = minimize(lambda p, both=both: -(both * np.log(confusion(*p))).sum(), [0, 1, 0], method="Nelder-Mead")
        if best.x[2] < 5:  # a worker who contradicts the order has no finite normal
            np.testing.assert_allclose(found[r], confusion(*best.x), atol=1e-3)
        assert (both * np.log(found[r])).sum() >= -best.fun - 1e-6


def test_it_beats_free_confusions_where_mistakes_are_near_misses():
    crowd = near_misses()
    found, free = (cc.aggregation.get(name).fit(crowd) for name in ("ordinal-dawid-skene", "dawid-skene"))
    assert (found.labels == crowd.gold).mean() > (free.labels == crowd.gold).mean() + 0.05
    assert np.diff(found.log_likelihood).min() > -1e-6
    assert "from '1' to '5'" in found.notes[0]


def test_without_smoothing_there_is_no_finite_answer():
    with pytest.raises(cc.SettingError, match="smoothing"):
        cc.aggregation.OrdinalDawidSkene(smoothing=0)
