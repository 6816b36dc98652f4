"""Confusions and intervals from expected counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from crowdcore.analysis import confusion_of_counts, count_interval
from crowdcore.core.errors import SettingError

RNG = np.random.default_rng(0)


def counts_of(skills: np.ndarray, labels: int, n_classes: int = 4) -> np.ndarray:
    """Workers with one skill each, who err in one direction."""
    c = n_classes
    rows = np.array([s * np.eye(c) + (1 - s) * np.roll(np.eye(c), 1, 1) for s in skills])
    return np.array([[RNG.multinomial(labels, row) for row in rows_of] for rows_of in rows], float)


def test_cells_that_nobody_uses_stay_empty() -> None:
    counts = counts_of(np.array([0.9, 0.6, 0.3]), 20)
    found = confusion_of_counts(counts)
    np.testing.assert_allclose(found.sum(2), 1)
    assert (found[:, counts.sum(0) == 0] == 0).all()


def test_a_row_without_labels_has_the_skill_that_the_worker_shows_elsewhere() -> None:
    counts = counts_of(np.linspace(0.2, 0.95, 12), 30)
    whole = np.diagonal(confusion_of_counts(counts), axis1=1, axis2=2)
    unseen = counts.copy()
    unseen[:, 0] *= np.arange(12)[:, None] % 2  # every second worker labelled no task of class 0
    found = confusion_of_counts(unseen)[::2, 0, 0]
    assert np.corrcoef(found, whole[::2, 0])[0, 1] > 0.9
    assert np.ptp(found) > 0.5


def test_workers_and_classes_without_labels_are_unknown() -> None:
    counts = counts_of(np.array([0.9, 0.6]), 5)
    counts[1] = 0
    counts[:, 2] = 0
    found, (low, high) = confusion_of_counts(counts), count_interval(counts)
    assert np.isnan(found[1]).all() and np.isnan(low[1]).all()
    assert np.isnan(found[0, 2]).all()
    assert np.isfinite(found[0, [0, 1, 3]]).all()
    assert (low[0, 2] == 0).all() and (high[0, 2] == 1).all()


def test_intervals_are_of_the_beta_posterior_of_an_entry_against_the_rest() -> None:
    counts = np.array([[[7.5, 2.5, 0.0], [0.4, 3.0, 0.6], [0.0, 0.0, 4.0]]])
    low, high = count_interval(counts, 0.9)
    assert low[0, 0, 0] == pytest.approx(beta.ppf(0.05, 8, 3))
    assert high[0, 0, 1] == pytest.approx(beta.ppf(0.95, 3, 8))
    assert low[0, 1, 0] == 0, "a label that was probably never given"
    assert high[0, 2, 2] == 1, "a label that was probably the only one"
    with pytest.raises(SettingError):
        count_interval(counts, 1.0)
