"""The bootstrap over tasks against drawing tasks one by one, and what its 95 % and 5 % come to on simulated tasks."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.analysis import paired_bootstrap
from crowdcore.core.errors import SettingError


def gaps(rng: np.random.Generator, n: int, differ: float, lead: float, seeds: int = 5) -> np.ndarray:
    """Differences of tasks between two methods: some tasks tell them apart, of those (1 + lead) / 2 for the first."""
    sign = np.where(rng.random(n) < 0.5 + lead / 2, 1, -1)
    return (rng.random(n) < differ) * sign * rng.binomial(seeds, 0.7, n) / seeds


def test_interval_and_p_value_are_those_of_drawing_tasks_one_by_one() -> None:
    rng = np.random.default_rng(0)
    gap = gaps(rng, 200, 0.2, 0.3)
    means = np.array([gap[rng.integers(0, len(gap), len(gap))].mean() for _ in range(20_000)])
    reach = np.quantile(np.abs(means - gap.mean()), 0.95)
    found = paired_bootstrap(gap)
    assert found.difference == pytest.approx(gap.mean())
    assert (found.low, found.high) == pytest.approx((gap.mean() - reach, gap.mean() + reach), abs=1.5e-3)
    assert found.p_value == pytest.approx(np.mean(np.abs(means - gap.mean()) >= abs(gap.mean())), abs=0.01)
    assert found.n_differ == np.count_nonzero(gap)
    assert paired_bootstrap(gap[::-1]) == found  # neither the order of the tasks nor a second call changes a digit


@pytest.mark.parametrize("lead", [0.0, 0.3])
@pytest.mark.parametrize(("n", "differ"), [(100, 0.3), (1000, 0.1)])
def test_the_interval_holds_the_truth_in_95_of_100_cases_and_equal_methods_differ_in_5(
    n: int, differ: float, lead: float
) -> None:
    rng = np.random.default_rng(n)
    found = [paired_bootstrap(gaps(rng, n, differ, lead), 1000, seed=k) for k in range(600)]
    truth = differ * lead * 0.7
    assert np.mean([one.low <= truth <= one.high for one in found]) == pytest.approx(0.95, abs=0.025)
    significant = np.mean([one.p_value <= 0.05 for one in found])
    assert significant <= 0.075 if lead == 0 else significant > 0.2


def test_a_p_value_below_5_percent_is_an_interval_without_zero() -> None:
    rng = np.random.default_rng(1)
    for k in range(60):
        found = paired_bootstrap(gaps(rng, 150, 0.3, rng.uniform(0, 0.6)), seed=k)
        if abs(found.p_value - 0.05) > 2e-3:  # a quantile lies between two draws
            assert (found.p_value < 0.05) == (found.low > 0 or found.high < 0)


def test_no_difference_at_all_and_nothing_but_difference() -> None:
    same = paired_bootstrap(np.zeros(40))
    assert (same.difference, same.low, same.high, same.p_value, same.n_differ) == (0, 0, 0, 1, 0)
    apart = paired_bootstrap(np.ones(40), resamples=999)
    assert (apart.low, apart.high, apart.p_value) == (1, 1, 0.001)
    assert paired_bootstrap(np.array([1.0, 1.0, 0.9])).high <= 1
    with pytest.raises(SettingError, match="at least one task"):
        paired_bootstrap(np.empty(0))
