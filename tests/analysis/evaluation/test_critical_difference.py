"""Mean ranks and critical differences against Demšar's published example, his table, and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from crowdcore.analysis import critical_difference
from crowdcore.core.errors import SettingError

# Demšar (2006), Table 6: AUC of four classifiers on fourteen data sets.
TABLE_6 = {
    "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.94, 0.619, 0.972, 0.957],
    "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978],
    "C4.5+cf": [0.771, 0.59, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946],
    "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.97],
}
Q_05 = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}  # his Table 5


def arrays(table):
    return {name: np.array(values) for name, values in table.items()}


def test_the_published_example():
    found = critical_difference(arrays(TABLE_6), blocks="data sets")
    ranks = dict(zip(found.names, found.rank, strict=True))
    assert ranks["C4.5"] == pytest.approx(3.143, abs=5e-4)
    assert ranks["C4.5+m"] == pytest.approx(2.000, abs=5e-4)
    assert ranks["C4.5+m+cf"] == pytest.approx(1.964, abs=5e-4)
    assert ranks["C4.5+cf"] == pytest.approx(2.893, abs=5e-4)
    assert found.difference == pytest.approx(1.25, abs=5e-3)
    assert "seeds" not in found.caveat.lower()


@pytest.mark.parametrize(("k", "q"), Q_05.items())
def test_critical_values_are_those_of_the_published_table(k, q):
    rng = np.random.default_rng(k)
    found = critical_difference({str(i): rng.random(20) for i in range(k)})
    assert found.difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 20)), abs=1e-3)


def test_ranks_and_friedman_are_scipy_s_with_and_without_ties():
    rng = np.random.default_rng(0)
    for digits in (8, 1):
        scores = {name: np.round(rng.random(12), digits) for name in "abcd"}
        found = critical_difference(scores)
        ranks = rankdata([-s for s in scores.values()], axis=0).mean(1)
        assert sorted(found.rank) == pytest.approx(sorted(ranks))
        assert found.p_value == pytest.approx(friedmanchisquare(*scores.values()).pvalue)


def test_groups_are_all_maximal_sets_that_reach_no_further_than_the_difference():
    rng = np.random.default_rng(1)
    for trial in range(30):
        centre = rng.normal(size=6)
        found = critical_difference({str(i): centre[i] + rng.normal(size=15) for i in range(6)})
        near = {(a, b) for a in range(6) for b in range(a + 1, 6) if found.rank[b] - found.rank[a] <= found.difference}
        maximal = {(a, b) for a, b in near if (a - 1, b) not in near and (a, b + 1) not in near}
        assert set(found.groups) == maximal, trial


def test_few_seeds_are_said_to_show_little():
    found = critical_difference({"a": np.array([2.0, 2.0]), "b": np.array([1.0, 1.0])})
    assert (found.names, found.rank.tolist(), found.groups) == (("a", "b"), [1.0, 2.0], ((0, 1),))
    assert found.caveat == (
        "2 seeds are too few to tell these runs apart (mean ranks would have to differ by 1.39; the most possible is "
        "1). Seeds vary only the training, not the data."
    )


def test_methods_that_always_tie_have_no_p_value():
    found = critical_difference({"a": np.ones(4), "b": np.ones(4), "c": np.ones(4)})
    assert np.isnan(found.p_value)
    assert found.groups == ((0, 2),)
    assert found.frame()["mean_rank"].tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("scores", [{"a": np.ones(3)}, {"a": np.ones(3), "b": np.ones(2)}, {"a": [], "b": []}])
def test_refusals(scores):
    with pytest.raises(SettingError, match="`scores` must"):
        critical_difference(arrays(scores))
