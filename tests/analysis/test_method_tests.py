"""Tests of one method against another, resampling weights and intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest, friedmanchisquare, rankdata

from crowdcore.analysis import critical_difference, paired_bootstrap, task_tests
from crowdcore.analysis.method_tests import PairedTests, TaskTests, paired_tests
from crowdcore.analysis.statistics import bootstrap_weights, percentile_interval
from crowdcore.core.errors import SettingError


def literal_wilcoxon(gap: np.ndarray) -> float:
    """Two-sided p by going through all sign patterns; equal sizes share their ranks."""
    size = np.abs(gap)
    ranks = (size[:, None] > size).sum(1) + ((size[:, None] == size).sum(1) + 1) / 2
    observed = ranks[gap > 0].sum()
    sums = [np.dot(ranks, signs) for signs in itertools.product((0, 1), repeat=len(gap))]
    middle = ranks.sum() / 2
    return float(np.mean([abs(s - middle) >= abs(observed - middle) - 1e-9 for s in sums]))


@given(st.lists(st.integers(1, 1000), min_size=5, max_size=8, unique=True), st.integers(0, 2**8 - 1))
def test_p_value_is_the_exact_one(sizes: list[int], signs: int) -> None:
    gap = np.array([v if signs >> k & 1 else -v for k, v in enumerate(sizes)]) / 1e4
    result = paired_tests({"a": 0.5 + gap, "b": np.full(len(gap), 0.5)})
    assert result.p_value[0] == pytest.approx(literal_wilcoxon(gap))
    assert result.difference[0] == pytest.approx(gap.mean())


def test_holm_multiplies_the_smallest_by_the_number_of_pairs() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(10)
    result = paired_tests({"a": base, "b": base - 0.1 - 0.01 * rng.random(10), "c": base + 0.001 * rng.normal(size=10)})
    smallest = np.nanargmin(result.p_value)
    assert result.adjusted[smallest] == pytest.approx(3 * result.p_value[smallest])
    assert (result.adjusted >= result.p_value).all()


def test_five_seeds_can_never_be_significant_and_the_caveat_says_so() -> None:
    result = paired_tests({"a": np.linspace(0.8, 0.9, 5), "b": np.zeros(5)})
    assert result.p_value[0] == pytest.approx(0.0625)
    assert "0.0625" in result.caveat and "at least 6 seeds" in result.caveat


@pytest.mark.parametrize("methods", [2, 3, 4])
def test_the_caveat_names_the_fewest_seeds_with_which_a_difference_can_be_significant(methods: int) -> None:
    def found(n: int) -> PairedTests:
        return paired_tests({str(m): 0.1 * m + np.linspace(0.5, 0.6, n) ** (m + 1) for m in range(methods)})

    needed = int(found(2).caveat.split("at least ")[1].split(" seeds")[0])
    assert found(needed).adjusted.min() <= 0.05 < found(needed - 1).adjusted.min()
    assert "cannot" in found(needed - 1).caveat
    assert found(needed).caveat.startswith(f"Based on {needed} seeds")


def test_accuracies_that_differ_by_the_same_number_of_tasks_tie() -> None:
    a, b = np.array([0.3, 0.2, 0.9, 0.7, 0.8]), np.array([0.2, 0.1, 0.8, 0.6, 0.9])  # 0.3 - 0.2 != 0.2 - 0.1
    assert paired_tests({"a": a, "b": b}).p_value[0] == literal_wilcoxon(np.array([1, 1, 1, 1, -1.0]))


def test_equal_runs_have_no_p_value() -> None:
    assert np.isnan(paired_tests({"a": np.ones(6), "b": np.ones(6)}).p_value).all()


def test_unequal_numbers_of_seeds_are_refused() -> None:
    with pytest.raises(SettingError, match="same seeds"):
        paired_tests({"a": np.ones(5), "b": np.ones(4)})


def gaps(rng: np.random.Generator, n: int, differ: float, lead: float, seeds: int = 5) -> np.ndarray:
    """Differences of tasks between two methods: some tasks tell them apart, of those (1 + lead) / 2 for the first."""
    sign = np.where(rng.random(n) < 0.5 + lead / 2, 1, -1)
    return (rng.random(n) < differ) * sign * rng.binomial(seeds, 0.7, n) / seeds


def test_interval_and_p_value_are_those_of_drawing_tasks_one_by_one() -> None:
    rng = np.random.default_rng(0)
    gap = gaps(rng, 200, 0.2, 0.3)
    means = np.array([gap[rng.integers(0, len(gap), len(gap))].mean() for _ in range(20_000)])
    reach = np.quantile(np.abs(means - gap.mean()), 0.95)
    bootstrap = paired_bootstrap(gap)
    assert bootstrap.difference == pytest.approx(gap.mean())
    assert (bootstrap.low, bootstrap.high) == pytest.approx((gap.mean() - reach, gap.mean() + reach), abs=1.5e-3)
    assert bootstrap.p_value == pytest.approx(np.mean(np.abs(means - gap.mean()) >= abs(gap.mean())), abs=0.01)
    assert bootstrap.n_differ == np.count_nonzero(gap)
    assert paired_bootstrap(gap[::-1]) == bootstrap  # neither the order of the tasks nor a second call changes a digit


@pytest.mark.parametrize("lead", [0.0, 0.3])
@pytest.mark.parametrize(("n", "differ"), [(100, 0.3), (1000, 0.1)])
def test_the_interval_holds_the_truth_in_95_of_100_cases_and_equal_methods_differ_in_5(n, differ, lead):
    rng = np.random.default_rng(n)
    bootstraps = [paired_bootstrap(gaps(rng, n, differ, lead), 1000, seed=k) for k in range(600)]
    truth = differ * lead * 0.7
    assert np.mean([one.low <= truth <= one.high for one in bootstraps]) == pytest.approx(0.95, abs=0.025)
    significant = np.mean([one.p_value <= 0.05 for one in bootstraps])
    assert significant <= 0.075 if lead == 0 else significant > 0.2


def test_a_p_value_below_5_percent_is_an_interval_without_zero() -> None:
    rng = np.random.default_rng(1)
    for k in range(60):
        bootstrap = paired_bootstrap(gaps(rng, 150, 0.3, rng.uniform(0, 0.6)), seed=k)
        if abs(bootstrap.p_value - 0.05) > 2e-3:  # a quantile lies between two draws
            assert (bootstrap.p_value < 0.05) == (bootstrap.low > 0 or bootstrap.high < 0)


def test_no_difference_at_all_and_nothing_but_difference() -> None:
    same = paired_bootstrap(np.zeros(40))
    assert (same.difference, same.low, same.high, same.p_value, same.n_differ) == (0, 0, 0, 1, 0)
    apart = paired_bootstrap(np.ones(40), n_resamples=999)
    assert (apart.low, apart.high, apart.p_value) == (1, 1, 0.001)
    assert paired_bootstrap(np.array([1.0, 1.0, 0.9])).high <= 1
    with pytest.raises(SettingError, match="task"):
        paired_bootstrap(np.empty(0))


def crowd(seed: int, skills: dict[str, float], n: int = 300, seeds: int = 3) -> TaskTests:
    """Methods on tasks that are easy or hard for all of them alike."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 2, n)
    chance = {name: 1 / (1 + np.exp(-skill - ease)) for name, skill in skills.items()}
    right = {name: rng.random((seeds, n)) < p for name, p in chance.items()}
    return task_tests(right, {name: hits.mean(0) > 0.5 for name, hits in right.items()}, n_resamples=1000, seed=seed)


def test_every_pair_against_scipy_and_the_bootstrap_of_its_own_gaps() -> None:
    rng = np.random.default_rng(0)
    right = {"a": rng.random((5, 80)) < 0.8, "b": rng.random((3, 80)) < 0.7, "c": rng.random((1, 80)) < 0.5}
    ensemble = {name: hits.mean(0) > 0.5 for name, hits in right.items()}
    tests = task_tests(right, ensemble)
    assert list(zip(tests.first, tests.second, strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    for k, (a, b) in enumerate(zip(tests.first, tests.second, strict=True)):
        one = sum(bool(x) and not y for x, y in zip(ensemble[a], ensemble[b], strict=True))
        other = sum(bool(y) and not x for x, y in zip(ensemble[a], ensemble[b], strict=True))
        assert (tests.only_first[k], tests.only_second[k]) == (one, other)
        assert tests.mcnemar[k] == pytest.approx(binomtest(one, one + other).pvalue)
        alone = paired_bootstrap(right[a].mean(0) - right[b].mean(0))
        assert (tests.difference[k], tests.low[k], tests.high[k]) == (alone.difference, alone.low, alone.high)
        assert tests.difference[k] == pytest.approx(right[a].mean() - right[b].mean())
    for raw, adjusted in ((tests.p_value, tests.adjusted), (tests.mcnemar, tests.mcnemar_adjusted)):
        order = np.argsort(raw)
        steps = [min(1.0, max((3 - j) * raw[order[j]] for j in range(k + 1))) for k in range(3)]
        assert adjusted[order] == pytest.approx(steps)  # Holm, by its definition
    assert tests.frame().shape == (3, 12)
    assert set(tests.frame()["tasks"]) == {80}


def test_equal_methods_are_called_different_in_at_most_5_of_100_families_of_pairs() -> None:
    families = [crowd(k, {"a": 1.0, "b": 1.0, "c": 1.0}) for k in range(300)]
    assert np.mean([(f.adjusted <= 0.05).any() for f in families]) <= 0.08
    assert np.mean([(f.mcnemar_adjusted <= 0.05).any() for f in families]) <= 0.06  # exact, hence conservative


def test_a_difference_of_several_points_shows_with_three_seeds_already() -> None:
    families = [crowd(k, {"a": 2.0, "b": 1.0}, n=1000) for k in range(20)]
    assert np.mean([f.adjusted[0] <= 0.05 for f in families]) > 0.9


def test_the_same_predictions_do_not_differ() -> None:
    hits = np.random.default_rng(0).random((2, 50)) < 0.6
    tests = task_tests({"a": hits, "b": hits}, {"a": hits[0], "b": hits[0]})
    assert (tests.difference[0], tests.p_value[0], tests.only_first[0]) == (0, 1, 0)
    assert np.isnan(tests.mcnemar[0])
    assert "differs on 0 tasks only" in tests.caveat


@pytest.mark.parametrize("shapes", [(40,), (40, 41), (0, 0)])
def test_refusals(shapes: tuple[int, ...]) -> None:
    right = {str(k): np.ones((2, n), bool) for k, n in enumerate(shapes)}
    with pytest.raises(SettingError, match="`right` must"):
        task_tests(right, {name: hits[0] for name, hits in right.items()})


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
    diagram = critical_difference(arrays(TABLE_6), blocks="data sets")
    ranks = dict(zip(diagram.names, diagram.rank, strict=True))
    assert ranks["C4.5"] == pytest.approx(3.143, abs=5e-4)
    assert ranks["C4.5+m"] == pytest.approx(2.000, abs=5e-4)
    assert ranks["C4.5+m+cf"] == pytest.approx(1.964, abs=5e-4)
    assert ranks["C4.5+cf"] == pytest.approx(2.893, abs=5e-4)
    assert diagram.difference == pytest.approx(1.25, abs=5e-3)
    assert "seeds" not in diagram.caveat.lower()


@pytest.mark.parametrize(("k", "q"), Q_05.items())
def test_critical_values_are_those_of_the_published_table(k, q):
    rng = np.random.default_rng(k)
    ranks = critical_difference({str(i): rng.random(20) for i in range(k)})
    assert ranks.difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 20)), abs=1e-3)


def test_ranks_and_friedman_are_scipy_s_with_and_without_ties():
    rng = np.random.default_rng(0)
    for digits in (8, 1):
        scores = {name: np.round(rng.random(12), digits) for name in "abcd"}
        diagram = critical_difference(scores)
        ranks = rankdata([-s for s in scores.values()], axis=0).mean(1)
        assert sorted(diagram.rank) == pytest.approx(sorted(ranks))
        assert diagram.p_value == pytest.approx(friedmanchisquare(*scores.values()).pvalue)


def test_groups_are_all_maximal_sets_that_reach_no_further_than_the_difference():
    rng = np.random.default_rng(1)
    for trial in range(30):
        centre = rng.normal(size=6)
        ranks = critical_difference({str(i): centre[i] + rng.normal(size=15) for i in range(6)})
        near = {(a, b) for a in range(6) for b in range(a + 1, 6) if ranks.rank[b] - ranks.rank[a] <= ranks.difference}
        maximal = {(a, b) for a, b in near if (a - 1, b) not in near and (a, b + 1) not in near}
        assert set(ranks.groups) == maximal, trial


def test_few_seeds_are_said_to_show_little():
    ranks = critical_difference({"a": np.array([2.0, 2.0]), "b": np.array([1.0, 1.0])})
    assert (ranks.names, ranks.rank.tolist(), ranks.groups) == (("a", "b"), [1.0, 2.0], ((0, 1),))
    assert "2 seeds are too few" in ranks.caveat and "1.39" in ranks.caveat


def test_methods_that_always_tie_have_no_p_value():
    ranks = critical_difference({"a": np.ones(4), "b": np.ones(4), "c": np.ones(4)})
    assert np.isnan(ranks.p_value)
    assert ranks.groups == ((0, 2),)
    assert ranks.frame()["mean_rank"].tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("scores", [{"a": np.ones(3)}, {"a": np.ones(3), "b": np.ones(2)}, {"a": [], "b": []}])
def test_critical_difference_refusals(scores):
    with pytest.raises(SettingError, match="`scores` must"):
        critical_difference(arrays(scores))


def test_weights_draw_as_many_units_as_there_are():
    sizes = np.array([5, 1, 94])
    drawn = bootstrap_weights(sizes, 4000, np.random.default_rng(0))
    assert drawn.shape == (3, 4000)
    assert (drawn.sum(0) == 100).all()
    np.testing.assert_allclose(drawn.mean(1), sizes, atol=0.25)
    np.testing.assert_allclose(drawn.var(1), sizes * (1 - sizes / 100), rtol=0.1)


def test_interval_leaves_undefined_resamples_out():
    samples = np.vstack([np.arange(101.0), np.where(np.arange(101) < 50, np.nan, 7.0), np.full(101, np.nan)])
    low, high = percentile_interval(samples, 0.9)
    np.testing.assert_allclose(low, [5, 7, np.nan])
    np.testing.assert_allclose(high, [95, 7, np.nan])


def test_too_many_weights_are_refused():
    with pytest.raises(SettingError, match="at most 200"):
        bootstrap_weights(np.ones(1_000_000, int), 1000, np.random.default_rng(0))
