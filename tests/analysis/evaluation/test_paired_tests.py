from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.analysis.evaluation.method_tests import PairedTests, paired_tests
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


def test_ties_are_counted_exactly() -> None:
    gap = np.array([1.0, 1.0, 1.0, 2.0, -1.0])
    assert paired_tests({"a": gap, "b": np.zeros(5)}).p_value[0] == pytest.approx(literal_wilcoxon(gap))


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
    assert result.caveat == (
        "With 5 seeds this test cannot reach significance (smallest possible p: 0.0625). Train at least 6 seeds."
    )


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
