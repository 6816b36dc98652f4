"""Recovered confusions, effective confusions, learnt skills."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from crowdcore.analysis import effective_confusion, recovered_confusion, skill_comparison, worker_confusion
from crowdcore.analysis.statistics import correlation, ranks
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd

SEEDS = (3, 5, 8)


def learned(crowd, seed: int = 0, groups: int = 0):
    rng = np.random.default_rng(seed)
    n, c = crowd.n_workers, crowd.n_classes
    own = rng.dirichlet(np.ones(c), (len(SEEDS), n, c))
    common = rng.dirichlet(np.ones(c), (len(SEEDS), groups, c) if groups else (len(SEEDS), c))
    omega = rng.random((len(SEEDS), crowd.n_annotations))
    group = rng.integers(groups, size=(len(SEEDS), n)) if groups else None
    return own, common, omega, group


def test_equals_loops(crowd):
    crowd = crowd.where(crowd.worker != 5)  # one idle worker
    own, common, omega, _ = learned(crowd)
    omega[:, crowd.worker == 2] = np.nan  # one without ω
    omega[:, 7] = np.nan
    found = recovered_confusion(crowd, own, common, omega, seeds=SEEDS)
    c = crowd.n_classes
    np.testing.assert_allclose(found.matrices, (own[0] + own[1] + own[2]) / 3)
    np.testing.assert_allclose(found.common, (common[0] + common[1] + common[2]) / 3)
    assert found.spread[1, 2, 3] == pytest.approx(statistics.stdev(own[:, 1, 2, 3].tolist()))
    for r in range(crowd.n_workers):
        skill = [sum(own[s, r, a, a] for a in range(c)) / c for s in range(3)]
        far = [
            sum((own[s, r, a, b] - common[s, a, b]) ** 2 for a in range(c) for b in range(c)) / c**2 for s in (0, 1, 2)
        ]
        assert found.skill[r] == pytest.approx(statistics.mean(skill))
        assert found.skill_spread[r] == pytest.approx(statistics.stdev(skill))
        assert found.distance[r] == pytest.approx(statistics.mean(far))
        assert found.distance_spread[r] == pytest.approx(statistics.stdev(far))
        mine = [k for k in range(crowd.n_annotations) if crowd.worker[k] == r and not np.isnan(omega[0, k])]
        if not mine:
            assert r in (2, 5)
            assert np.isnan(found.common_share[r])
            continue
        share = [statistics.mean(omega[s, k] for k in mine) for s in range(3)]
        assert found.common_share[r] == pytest.approx(statistics.mean(share))
        assert found.common_share_spread[r] == pytest.approx(statistics.stdev(share))
    assert found.n_annotations[5] == 0
    assert found.combined == "mean of 3 seeds"


def test_one_seed_has_no_spread(crowd):
    own, common, omega, _ = learned(crowd)
    found = recovered_confusion(crowd, own, common, omega, seeds=SEEDS, seed=8)
    np.testing.assert_array_equal(found.matrices, own[2])
    np.testing.assert_array_equal(found.common, common[2])
    assert np.isnan(found.skill_spread).all()
    assert found.combined == "seed 8"
    assert list(found.frame().columns) == ["worker", "annotations", "skill", "distance", "common_share"]
    assert list(found.matrices_frame([1]).columns) == ["who", "true", "given", "share"]


def test_groups_have_common_confusions_of_one_seed_only(crowd):
    own, common, _, group = learned(crowd, groups=2)
    together = recovered_confusion(crowd, own, common, group=group, seeds=SEEDS)
    assert together.common is None
    assert together.group is None
    far = [np.mean((own[s, 4] - common[s, group[s, 4]]) ** 2) for s in range(3)]
    assert together.distance[4] == pytest.approx(np.mean(far))
    one = recovered_confusion(crowd, own, common, group=group, seeds=SEEDS, seed=5)
    np.testing.assert_array_equal(one.common, common[1])
    np.testing.assert_array_equal(one.group, group[1])
    assert one.distance[4] == pytest.approx(far[1])
    assert list(one.frame()["group"]) == (group[1] + 1).tolist()
    assert set(one.matrices_frame([0])["who"]) == {"common 1", "common 2", crowd.worker_ids[0]}


def test_a_method_without_common_confusion_or_omega(crowd):
    own, *_ = learned(crowd)
    found = recovered_confusion(crowd, own, seeds=SEEDS)
    assert found.common is None
    assert found.distance is None
    assert found.common_share is None
    assert list(found.frame().columns) == ["worker", "annotations", "skill", "skill_std"]


def test_unknown_rows_are_left_out(crowd):
    own, common, *_ = learned(crowd)
    own[:, 3, 1] = np.nan
    own[:, 4] = np.nan
    found = recovered_confusion(crowd, own, common, seeds=SEEDS)
    rest = [a for a in range(crowd.n_classes) if a != 1]
    assert found.skill[3] == pytest.approx(np.mean([own[s, 3, a, a] for s in range(3) for a in rest]))
    assert found.distance[3] == pytest.approx(((own[:, 3, rest] - common[:, rest]) ** 2).mean())
    assert np.isnan([found.skill[4], found.distance[4]]).all()


def test_frames_name_every_cell():
    crowd = make_crowd([0, 1], [0, 1], [1, 0], 2, 2, 2, [0, 1])
    own = np.array([[[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]]])
    frame = recovered_confusion(crowd, own, own[:, 0], seeds=(0,)).matrices_frame()
    assert len(frame) == 12
    cell = frame[(frame["who"] == "w1") & (frame["true"] == "class 0") & (frame["given"] == "class 1")]
    assert cell["share"].tolist() == [0.4]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"worker_confusion": np.ones((3, 2, 4, 4))}, "`worker_confusion` must have the shape"),
        ({"omega": np.ones((3, 2))}, "`omega` must have the shape"),
        ({"seed": 4}, "`seed` must be one of 3, 5, 8"),
        ({"common_confusion": np.ones((3, 2, 4, 4))}, "`group` must name each worker's group"),
    ],
)
def test_refusals(change, words):
    crowd = simulate_crowd()
    own, common, omega, _ = learned(crowd)
    arguments = {"worker_confusion": own, "common_confusion": common, "omega": omega, "seeds": SEEDS} | change
    with pytest.raises(SettingError, match=words):
        recovered_confusion(crowd, **arguments)


def test_what_all_labels_follow_is_summed_up_instead_but_distances_stay(crowd):
    own, common, omega, _ = learned(crowd)
    effective = effective_confusion(crowd, own, common, omega)
    found = recovered_confusion(crowd, own, common, omega, seeds=SEEDS, effective=effective)
    plain = recovered_confusion(crowd, own, common, omega, seeds=SEEDS)
    np.testing.assert_allclose(found.matrices, effective.mean(0))
    np.testing.assert_allclose(found.skill, np.trace(effective, axis1=2, axis2=3).mean(0) / crowd.n_classes)
    np.testing.assert_array_equal(found.distance, plain.distance)


CROWD = simulate.synthetic(n_tasks=90, n_valid=20, n_test=20, n_workers=7, n_classes=3, seed=1)


def by_hand(own, common, omega, group=None):
    out = np.full(own.shape, np.nan)
    for r in range(CROWD.n_workers):
        shared = common if group is None else common[group[r]]
        parts = [w * shared + (1 - w) * own[r] for w in omega[(CROWD.worker == r) & ~np.isnan(omega)]]
        if parts:
            out[r] = np.mean(parts, axis=0)
    return out


def test_it_is_the_mean_mixture_over_the_annotations_of_each_worker() -> None:
    truth = CROWD.truth
    found = effective_confusion(CROWD, truth.worker_confusion, truth.common_confusion, truth.omega)
    assert found == pytest.approx(by_hand(truth.worker_confusion, truth.common_confusion, truth.omega))
    assert found.sum(-1) == pytest.approx(np.ones((7, 3)))


def test_several_seeds_at_once_and_unknown_omega() -> None:
    rng = np.random.default_rng(0)
    own, common = rng.dirichlet(np.ones(3), (2, 7, 3)), rng.dirichlet(np.ones(3), (2, 3))
    omega = rng.random((2, CROWD.n_annotations))
    omega[1, ::3] = np.nan
    found = effective_confusion(CROWD, own, common, omega)
    for s in range(2):
        assert found[s] == pytest.approx(by_hand(own[s], common[s], omega[s]), nan_ok=True)


def test_groups_have_common_confusions_of_their_own() -> None:
    rng = np.random.default_rng(1)
    own, common = rng.dirichlet(np.ones(3), (1, 7, 3)), rng.dirichlet(np.ones(3), (1, 2, 3))
    omega, group = rng.random((1, CROWD.n_annotations)), np.array([[0, 1, 1, 0, 1, 0, 0]])
    assert effective_confusion(CROWD, own, common, omega, group)[0] == pytest.approx(
        by_hand(own[0], common[0], omega[0], group[0])
    )


def test_without_omega_it_is_the_workers_own() -> None:
    assert (effective_confusion(CROWD, CROWD.truth.worker_confusion) == CROWD.truth.worker_confusion).all()


def test_a_worker_without_annotations_has_none() -> None:
    more = replace(CROWD, worker_ids=pd.Index([*CROWD.worker_ids, "idle"]))
    own = np.concatenate([CROWD.truth.worker_confusion, np.eye(3)[None]])
    found = effective_confusion(more, own, CROWD.truth.common_confusion, CROWD.truth.omega)
    assert np.isnan(found[-1]).all()
    assert not np.isnan(found[:-1]).any()


NUMBERS = arrays(np.float64, st.integers(2, 12), elements=st.integers(-3, 3).map(float))


@given(crowds(min_classes=2), st.integers(0, 99))
def test_skills_equal_loops(crowd, seed):
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
