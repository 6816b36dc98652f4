"""Tests over tasks against SciPy's binomial test and plain loops, and how often they see what is not there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from crowdcore.analysis import paired_bootstrap, task_tests
from crowdcore.analysis.evaluation.method_tests import TaskTests
from crowdcore.core.errors import SettingError


def crowd(seed: int, skills: dict[str, float], n: int = 300, seeds: int = 3) -> TaskTests:
    """Methods on tasks that are easy or hard for all of them alike."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 2, n)
    chance = {name: 1 / (1 + np.exp(-skill - ease)) for name, skill in skills.items()}
    right = {name: rng.random((seeds, n)) < p for name, p in chance.items()}
    return task_tests(right, {name: hits.mean(0) > 0.5 for name, hits in right.items()}, resamples=1000, seed=seed)


def test_every_pair_against_scipy_and_the_bootstrap_of_its_own_gaps() -> None:
    rng = np.random.default_rng(0)
    right = {"a": rng.random((5, 80)) < 0.8, "b": rng.random((3, 80)) < 0.7, "c": rng.random((1, 80)) < 0.5}
    ensemble = {name: hits.mean(0) > 0.5 for name, hits in right.items()}
    found = task_tests(right, ensemble)
    assert list(zip(found.first, found.second, strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    for k, (a, b) in enumerate(zip(found.first, found.second, strict=True)):
        one = sum(bool(x) and not y for x, y in zip(ensemble[a], ensemble[b], strict=True))
        other = sum(bool(y) and not x for x, y in zip(ensemble[a], ensemble[b], strict=True))
        assert (found.only_first[k], found.only_second[k]) == (one, other)
        assert found.mcnemar[k] == pytest.approx(binomtest(one, one + other).pvalue)
        alone = paired_bootstrap(right[a].mean(0) - right[b].mean(0))
        assert (found.difference[k], found.low[k], found.high[k]) == (alone.difference, alone.low, alone.high)
        assert found.difference[k] == pytest.approx(right[a].mean() - right[b].mean())
    for raw, adjusted in ((found.p_value, found.adjusted), (found.mcnemar, found.mcnemar_adjusted)):
        order = np.argsort(raw)
        steps = [min(1.0, max((3 - j) * raw[order[j]] for j in range(k + 1))) for k in range(3)]
        assert adjusted[order] == pytest.approx(steps)  # Holm, by its definition
    assert found.frame().shape == (3, 12)
    assert set(found.frame()["tasks"]) == {80}


def test_equal_methods_are_called_different_in_at_most_5_of_100_families_of_pairs() -> None:
    families = [crowd(k, {"a": 1.0, "b": 1.0, "c": 1.0}) for k in range(300)]
    assert np.mean([(f.adjusted <= 0.05).any() for f in families]) <= 0.08
    assert np.mean([(f.mcnemar_adjusted <= 0.05).any() for f in families]) <= 0.06  # exact, hence conservative


def test_a_difference_of_several_points_shows_with_three_seeds_already() -> None:
    families = [crowd(k, {"a": 2.0, "b": 1.0}, n=1000) for k in range(20)]
    assert np.mean([f.adjusted[0] <= 0.05 for f in families]) > 0.9


def test_the_same_predictions_do_not_differ() -> None:
    hits = np.random.default_rng(0).random((2, 50)) < 0.6
    found = task_tests({"a": hits, "b": hits}, {"a": hits[0], "b": hits[0]})
    assert (found.difference[0], found.p_value[0], found.only_first[0]) == (0, 1, 0)
    assert np.isnan(found.mcnemar[0])
    assert "differs on 0 tasks only" in found.caveat


@pytest.mark.parametrize("shapes", [(40,), (40, 41), (0, 0)])
def test_refusals(shapes: tuple[int, ...]) -> None:
    right = {str(k): np.ones((2, n), bool) for k, n in enumerate(shapes)}
    with pytest.raises(SettingError, match="`right` must"):
        task_tests(right, {name: hits[0] for name, hits in right.items()})
