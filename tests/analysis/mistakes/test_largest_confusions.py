"""The largest confusions, and distances between confusions, with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.analysis import confusion_error, largest_confusions
from crowdcore.core.errors import SettingError

CLASSES = ("cat", "dog", "fox", "owl")
COMMON = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.9, 0.0, 0.0], [0.0, 0.0, 0.6, 0.4], [0.0, 0.05, 0.0, 0.95]])


def test_the_planted_confusions_are_found_in_order():
    found = largest_confusions(COMMON, COMMON, CLASSES, n=3)
    assert found.recovered.tolist() == [[2, 3], [0, 1], [0, 2]]
    assert found.both == 3
    frame = found.frame()
    assert frame["true"].tolist() == ["fox", "cat", "cat"]
    assert frame["given"].tolist() == ["owl", "dog", "fox"]
    assert frame["recovered"].tolist() == [0.4, 0.3, 0.2]


def test_the_overlap_counts_cells_and_not_their_order():
    observed = COMMON.copy()
    observed[3] = [0.5, 0.0, 0.0, 0.5]  # owl -> cat, which the model does not have
    observed[0] = [0.6, 0.1, 0.3, 0.0]
    found = largest_confusions(COMMON, observed, CLASSES, n=3)
    assert found.observed.tolist() == [[3, 0], [2, 3], [0, 2]]
    assert found.both == 2


def test_classes_without_labels_and_perfect_workers_have_no_confusions():
    observed = np.full((4, 4), np.nan)
    observed[0] = [0.9, 0.1, 0, 0]
    found = largest_confusions(np.eye(4), observed, CLASSES)
    assert found.recovered.shape == (0, 2)
    assert found.observed.tolist() == [[0, 1]]
    assert found.both == 0
    assert found.frame().empty


def test_errors_equal_loops():
    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(4), (2, 5, 4))
    a[1, 2], b[3] = np.nan, np.nan
    found = confusion_error(a, b)
    for r in range(5):
        rows = [sum((a[r, c] - b[r, c]) ** 2) for c in range(4) if not np.isnan(a[r, c] + b[r, c]).any()]
        assert np.isnan(found[r]) if r == 3 else found[r] == pytest.approx(np.mean(rows))


def test_refusals():
    with pytest.raises(SettingError, match=r"`recovered` must have the shape \(4, 4\) of `observed`"):
        largest_confusions(np.eye(3), np.eye(4), CLASSES)
