"""The minimax bound against the formula written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis import minimax_bound
from testkit.crowds import simulate_crowd


def kl(p, q):
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0:
            total += np.inf if b == 0 else a * np.log(a / b)
    return total


def literal(crowd, rho, own, commons, omega, group=(0, 0, 0, 0)):
    n, c = crowd.n_tasks, crowd.n_classes
    total = []
    for i in range(n):
        f = -sum(p * np.log(p) for p in rho[i] if p > 0)
        for j in np.flatnonzero(crowd.task == i):
            for a in range(c):
                for b in range(c):
                    if rho[i, a] * rho[i, b] == 0:
                        continue
                    mine, common = own[crowd.worker[j]], commons[group[crowd.worker[j]]]
                    told = (1 - omega[j]) * kl(mine[a], mine[b]) if omega[j] < 1 else 0.0
                    told += omega[j] * kl(common[a], common[b]) if omega[j] > 0 else 0.0
                    f -= rho[i, a] * rho[i, b] * told
        total.append(f)
    return (sum(total) - np.log(2)) / (n**2 * np.log(c)), np.array(total)


@pytest.fixture
def model():
    crowd = simulate_crowd(n_tasks=12, n_workers=4, n_classes=3, per_task=2)
    rng = np.random.default_rng(0)
    rho = rng.dirichlet(np.ones(3), 12)
    own, common = rng.dirichlet(np.ones(3), (4, 3)), rng.dirichlet(np.ones(3), 3)
    omega = rng.random(crowd.n_annotations)
    result = AggregationResult("conal-em", {}, rho, rho.argmax(1), confusion=own, common_confusion=common, omega=omega)
    return crowd, result, rho


def test_bound_is_the_formula(model):
    crowd, result, rho = model
    found = minimax_bound(crowd, result, rho)
    value, deficit = literal(crowd, rho, result.confusion, [result.common_confusion], result.omega)
    assert found.value == pytest.approx(value)
    np.testing.assert_allclose(found.deficit, deficit)
    assert found.vacuous == (value <= 0)


def test_each_worker_follows_the_common_confusion_of_its_group(model):
    crowd, result, rho = model
    commons = np.random.default_rng(1).dirichlet(np.ones(3), (2, 3))
    group = np.array([0, 1, 1, 0], np.int32)
    found = minimax_bound(crowd, replace(result, common_confusion=commons, group=group), rho)
    value, deficit = literal(crowd, rho, result.confusion, commons, result.omega, group)
    assert found.value == pytest.approx(value)
    np.testing.assert_allclose(found.deficit, deficit)


def test_groups_that_conal_em_finds(model):
    crowd = model[0]
    fitted = cc.aggregation.get("conal-em", groups=2).fit(crowd)
    assert np.isfinite(minimax_bound(crowd, fitted).value)


def test_without_omega_only_individual_confusions_count(model):
    crowd, result, rho = model
    found = minimax_bound(crowd, replace(result, omega=None), rho)
    value, _ = literal(crowd, rho, result.confusion, [result.common_confusion], np.zeros(crowd.n_annotations))
    assert found.value == pytest.approx(value)


def test_useless_labels_leave_the_problem_as_hard_as_it_is(model):
    """Rows all alike tell nothing: F_i is the entropy and the bound is almost 1 / N."""
    crowd, result, _ = model
    same = replace(result, confusion=np.full((4, 3, 3), 1 / 3), omega=None, prior=np.full(3, 1 / 3))
    found = minimax_bound(crowd, same)
    np.testing.assert_allclose(found.deficit, np.log(3))
    assert found.value == pytest.approx((12 * np.log(3) - np.log(2)) / (144 * np.log(3)))
    assert not found.vacuous
    assert "error rate below" in found.sentence


def test_perfect_labels_make_it_vacuous(model):
    crowd, result, rho = model
    found = minimax_bound(crowd, replace(result, confusion=np.tile(np.eye(3), (4, 1, 1)), omega=None), rho)
    assert found.value == -np.inf
    assert found.vacuous
    assert found.sentence.startswith("Vacuous")


def test_rows_without_evidence_tell_nothing(model):
    crowd, result, rho = model
    blind = result.confusion.copy()
    blind[:, 1] = np.nan
    found = minimax_bound(crowd, replace(result, confusion=blind, omega=None), rho)
    assert np.isfinite(found.value)
    assert found.value >= minimax_bound(crowd, replace(result, omega=None), rho).value


def test_real_crowds_have_a_vacuous_bound(data_folder):
    crowd = cc.load_dataset("labelme")
    found = minimax_bound(crowd, cc.aggregation.get("dawid-skene").fit(crowd))
    assert found.vacuous
    assert found.frame()["bound"].item() == found.value
    assert np.isnan(found.deficit[~crowd.annotated]).all()


def test_refusals(crowd, model):
    with pytest.raises(cc.SettingError, match="confusions"):
        minimax_bound(crowd, cc.aggregation.get("majority-vote").fit(crowd))
    small, result, rho = model
    with pytest.raises(cc.SettingError, match="shape"):
        minimax_bound(small, result, rho[:5])
