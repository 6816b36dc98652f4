"""Cohen's kappa of pairs against the formula over a dense table, and its standard error against a bootstrap."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import cohen_kappa_score

from crowdcore.analysis.labels import agreement as agreement_module
from crowdcore.analysis.labels.agreement import pair_kappa
from crowdcore.core.mistakes import repeats
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds
from tests.analysis.labels.test_agreement import first_labels


def literal(table, min_overlap):
    kappas = {}
    for a, b in combinations(range(len(table)), 2):
        both = ~np.isnan(table[a]) & ~np.isnan(table[b])
        if both.sum() >= min_overlap:
            one, other = table[a, both].astype(int), table[b, both].astype(int)
            agree = (one == other).mean()
            chance = sum((one == c).mean() * (other == c).mean() for c in set(one))
            kappa = np.nan if abs(1 - chance) < 1e-12 else (agree - chance) / (1 - chance)
            kappas[a, b] = (int(both.sum()), agree, kappa)
    return kappas


@given(crowds(), st.integers(1, 4))
def test_pairs_are_those_of_a_dense_table(crowd, min_overlap):
    once = crowd.where(~repeats(crowd.task, crowd.worker, crowd.n_workers))
    found = pair_kappa(once, min_overlap)
    expected = literal(first_labels(once), min_overlap)
    pairs = list(zip(found.worker_a.tolist(), found.worker_b.tolist(), strict=True))
    assert pairs == sorted(expected)
    for k, pair in enumerate(pairs):
        overlap, agree, kappa = expected[pair]
        assert found.overlap[k] == overlap
        assert found.agreement[k] == pytest.approx(agree)
        assert found.kappa[k] == pytest.approx(kappa, nan_ok=True, abs=1e-12)
    kappas = [kappa for _, _, kappa in expected.values() if not np.isnan(kappa)]
    assert found.mean == pytest.approx(np.mean(kappas) if kappas else np.nan, nan_ok=True)
    assert found.n_pairs == len(literal(first_labels(once), 1))


def test_kappa_is_scikit_learns(crowd):
    found, table = pair_kappa(crowd, 15), first_labels(crowd)
    assert len(found.kappa) > 10
    for a, b, kappa in zip(found.worker_a, found.worker_b, found.kappa, strict=True):
        both = ~np.isnan(table[a]) & ~np.isnan(table[b])
        assert kappa == pytest.approx(cohen_kappa_score(table[a, both], table[b, both]))


def test_error_of_the_mean_is_that_of_a_bootstrap():
    crowd = simulate_crowd(n_tasks=400, n_workers=5, n_classes=3, per_task=3, seed=1)
    found, table = pair_kappa(crowd, 30), first_labels(crowd)
    rng = np.random.default_rng(0)
    means = []
    for _ in range(300):
        kappas = literal(table[:, rng.integers(400, size=400)], 1)
        means.append(np.mean([kappas[pair][2] for pair in zip(found.worker_a, found.worker_b, strict=True)]))
    assert found.mean_error == pytest.approx(np.std(means), rel=0.15)


def test_lookup_without_the_table_of_pairs_is_the_same(monkeypatch, crowd):
    by_table = pair_kappa(crowd, 5)
    monkeypatch.setattr(agreement_module, "_TABLE", 0)
    by_search = pair_kappa(crowd, 5)
    np.testing.assert_array_equal(by_table.kappa, by_search.kappa)
    assert by_table.mean_error == by_search.mean_error


def test_the_most_overlapping_pairs_come_first_when_there_are_too_many(monkeypatch, crowd):
    everything = pair_kappa(crowd, 1)
    monkeypatch.setattr(agreement_module, "_MOST", 4 * 10)
    few = pair_kappa(crowd, 1)
    assert len(few.kappa) == 10
    assert few.overlap.min() >= np.sort(everything.overlap)[-10]
    assert few.n_pairs == everything.n_pairs


def test_frame_names_workers_most_alike_first(crowd):
    frame = pair_kappa(crowd, 5).frame()
    assert frame["kappa"].is_monotonic_decreasing
    assert set(frame["worker"]) <= set(crowd.worker_ids)
