"""`omega_spread` against NumPy's own quantiles and histograms, group by group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.analysis import omega_spread
from crowdcore.analysis.recovery.omega import QUANTILES
from crowdcore.core.errors import SettingError
from tests.analysis.crowds import crowds


@given(crowds(), st.sampled_from(["class", "worker"]), st.booleans())
def test_equals_numpy_group_by_group(crowd, by, coarse):
    rng = np.random.default_rng(crowd.n_annotations)
    omega = rng.random((2, crowd.n_annotations))
    omega = omega.round(1) if coarse else omega
    omega[:, crowd.worker == 1] = np.nan
    found = omega_spread(crowd, omega, by, seeds=(0, 1), bins=7)
    mean = omega.mean(0)
    group = crowd.worker if by == "worker" else crowd.gold[crowd.task]
    assert len(found.names) == (crowd.n_workers if by == "worker" else crowd.n_classes)
    for k in range(len(found.names)):
        mine = mean[(group == k) & ~np.isnan(mean)]
        assert found.n[k] == len(mine) == found.counts[k].sum()
        if not len(mine):
            assert np.isnan(found.mean[k])
            assert np.isnan(found.quantiles[k]).all()
            continue
        assert found.mean[k] == pytest.approx(mine.mean())
        np.testing.assert_allclose(found.quantiles[k], np.quantile(mine, QUANTILES), atol=1e-12)
        if not coarse:  # on an edge rounding decides
            np.testing.assert_array_equal(found.counts[k], np.histogram(mine, found.edges)[0])
    assert len(found.frame()) == len(found.names)


def test_a_constant_omega_has_a_bin_of_some_width(crowd):
    found = omega_spread(crowd, np.full((1, crowd.n_annotations), 0.5), seeds=(0,))
    assert found.edges[0] < 0.5 < found.edges[-1]
    assert found.counts.sum() == crowd.n_annotations


def test_refusals(crowd):
    omega = np.ones((1, crowd.n_annotations))
    with pytest.raises(SettingError, match="`by` must be one of class, worker"):
        omega_spread(crowd, omega, "task", seeds=(0,))
    with pytest.raises(SettingError, match="`omega` must have the shape"):
        omega_spread(crowd, omega[:, :4], seeds=(0,))
