"""`skill_comparison` against loops, correlations against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from crowdcore.analysis import skill_comparison, worker_confusion
from crowdcore.analysis.statistics import correlation, ranks
from tests.analysis.crowds import crowds

NUMBERS = arrays(np.float64, st.integers(2, 12), elements=st.integers(-3, 3).map(float))


@given(crowds(min_classes=2), st.integers(0, 99))
def test_equals_loops(crowd, seed):
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(crowd.n_classes), (2, crowd.n_workers, crowd.n_classes))
    found = skill_comparison(worker_confusion(crowd), own, seeds=(0, 1))
    x, y = [], []
    for r in range(crowd.n_workers):
        mine = [(crowd.gold[i], c) for i, w, c in zip(crowd.task, crowd.worker, crowd.label, strict=True) if w == r]
        mine = [(z, c) for z, c in mine if z >= 0]
        assert found.n_annotations[r] == len(mine)
        seen = sorted({z for z, _ in mine})
        assert found.n_classes[r] == len(seen)
        if not seen:
            assert np.isnan([found.observed[r], found.learned[r]]).all()
            continue
        rates = [np.mean([c == a for z, c in mine if z == a]) for a in seen]
        x.append(np.mean(rates))
        y.append(np.mean([[own[s, r, a, a] for a in seen] for s in (0, 1)]))
        assert found.observed[r] == pytest.approx(x[-1])
        assert found.learned[r] == pytest.approx(y[-1])
    if len(x) > 2 and np.ptp(x) > 0:
        assert found.correlation == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
        assert found.rank_correlation == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)
    assert found.combined == "mean of 2 seeds"
    assert len(found.frame()) == crowd.n_workers


@given(NUMBERS, st.integers(0, 99))
def test_weights_are_repetitions(x, seed):
    rng = np.random.default_rng(seed)
    y, times = rng.integers(-3, 4, len(x)).astype(float), rng.integers(1, 4, len(x))
    weighted = correlation(x, y, times)
    repeated = correlation(np.repeat(x, times), np.repeat(y, times))
    assert weighted == pytest.approx(repeated, abs=1e-9, nan_ok=True)


@given(NUMBERS)
def test_ranks_share_ties(x):
    np.testing.assert_array_equal(ranks(x), scipy.stats.rankdata(x))


def test_a_constant_correlates_with_nothing():
    assert np.isnan(correlation(np.full(3, 0.1), np.arange(3.0)))
    assert np.isnan(correlation(np.ones(1), np.ones(1)))
