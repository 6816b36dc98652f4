"""Recovered confusions, effective ones and shares, learnt skills."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from crowdcore import analysis
from crowdcore.analysis import (
    effective_confusion,
    recovered_confusion,
    recovered_shares,
    skill_comparison,
    worker_confusion,
)
from crowdcore.analysis.recovery.shared import label_shares
from crowdcore.analysis.statistics import correlation
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd
from testkit.crowds_with_features import KINDS
from tests.analysis.crowds import crowds, make_crowd, soft_reference

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
    confusion = recovered_confusion(crowd, own, common, omega, seeds=SEEDS)
    c = crowd.n_classes
    np.testing.assert_allclose(confusion.matrices, (own[0] + own[1] + own[2]) / 3)
    np.testing.assert_allclose(confusion.common, (common[0] + common[1] + common[2]) / 3)
    assert confusion.spread[1, 2, 3] == pytest.approx(statistics.stdev(own[:, 1, 2, 3].tolist()))
    for r in range(crowd.n_workers):
        skill = [sum(own[s, r, a, a] for a in range(c)) / c for s in range(3)]
        far = [
            sum((own[s, r, a, b] - common[s, a, b]) ** 2 for a in range(c) for b in range(c)) / c**2 for s in (0, 1, 2)
        ]
        assert confusion.skill[r] == pytest.approx(statistics.mean(skill))
        assert confusion.skill_spread[r] == pytest.approx(statistics.stdev(skill))
        assert confusion.distance[r] == pytest.approx(statistics.mean(far))
        assert confusion.distance_spread[r] == pytest.approx(statistics.stdev(far))
        mine = [k for k in range(crowd.n_annotations) if crowd.worker[k] == r and not np.isnan(omega[0, k])]
        if not mine:
            assert r in (2, 5)
            assert np.isnan(confusion.common_share[r])
            continue
        share = [statistics.mean(omega[s, k] for k in mine) for s in range(3)]
        assert confusion.common_share[r] == pytest.approx(statistics.mean(share))
        assert confusion.common_share_spread[r] == pytest.approx(statistics.stdev(share))
    assert confusion.n_annotations[5] == 0
    assert confusion.combined == "mean of 3 seeds"


def test_one_seed_has_no_spread(crowd):
    own, common, omega, _ = learned(crowd)
    confusion = recovered_confusion(crowd, own, common, omega, seeds=SEEDS, seed=8)
    np.testing.assert_array_equal(confusion.matrices, own[2])
    np.testing.assert_array_equal(confusion.common, common[2])
    assert np.isnan(confusion.skill_spread).all()
    assert confusion.combined == "seed 8"
    assert list(confusion.frame().columns) == ["worker", "annotations", "skill", "distance", "common_share"]
    assert list(confusion.matrices_frame([1]).columns) == ["who", "true", "given", "share"]


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
    confusion = recovered_confusion(crowd, own, seeds=SEEDS)
    assert confusion.common is None
    assert confusion.distance is None
    assert confusion.common_share is None
    assert list(confusion.frame().columns) == ["worker", "annotations", "skill", "skill_std"]


def test_unknown_rows_are_left_out(crowd):
    own, common, *_ = learned(crowd)
    own[:, 3, 1] = np.nan
    own[:, 4] = np.nan
    confusion = recovered_confusion(crowd, own, common, seeds=SEEDS)
    rest = [a for a in range(crowd.n_classes) if a != 1]
    assert confusion.skill[3] == pytest.approx(np.mean([own[s, 3, a, a] for s in range(3) for a in rest]))
    assert confusion.distance[3] == pytest.approx(((own[:, 3, rest] - common[:, rest]) ** 2).mean())
    assert np.isnan([confusion.skill[4], confusion.distance[4]]).all()


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
    confusion = recovered_confusion(crowd, own, common, omega, seeds=SEEDS, effective=effective)
    plain = recovered_confusion(crowd, own, common, omega, seeds=SEEDS)
    np.testing.assert_allclose(confusion.matrices, effective.mean(0))
    np.testing.assert_allclose(confusion.skill, np.trace(effective, axis1=2, axis2=3).mean(0) / crowd.n_classes)
    np.testing.assert_array_equal(confusion.distance, plain.distance)


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
    effective = effective_confusion(CROWD, truth.worker_confusion, truth.common_confusion, truth.omega)
    assert effective == pytest.approx(by_hand(truth.worker_confusion, truth.common_confusion, truth.omega))
    assert effective.sum(-1) == pytest.approx(np.ones((7, 3)))


def test_several_seeds_at_once_and_unknown_omega() -> None:
    rng = np.random.default_rng(0)
    own, common = rng.dirichlet(np.ones(3), (2, 7, 3)), rng.dirichlet(np.ones(3), (2, 3))
    omega = rng.random((2, CROWD.n_annotations))
    omega[1, ::3] = np.nan
    effective = effective_confusion(CROWD, own, common, omega)
    for s in range(2):
        assert effective[s] == pytest.approx(by_hand(own[s], common[s], omega[s]), nan_ok=True)


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
    effective = effective_confusion(more, own, CROWD.truth.common_confusion, CROWD.truth.omega)
    assert np.isnan(effective[-1]).all()
    assert not np.isnan(effective[:-1]).any()


NUMBERS = arrays(np.float64, st.integers(2, 12), elements=st.integers(-3, 3).map(float))


@given(crowds(min_classes=2), st.integers(0, 99))
def test_skills_equal_loops(crowd, seed):
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(crowd.n_classes), (2, crowd.n_workers, crowd.n_classes))
    skills = skill_comparison(worker_confusion(crowd), own, seeds=(0, 1))
    x, y = [], []
    for r in range(crowd.n_workers):
        mine = [(crowd.gold[i], c) for i, w, c in zip(crowd.task, crowd.worker, crowd.label, strict=True) if w == r]
        mine = [(z, c) for z, c in mine if z >= 0]
        assert skills.n_annotations[r] == len(mine)
        seen = sorted({z for z, _ in mine})
        assert skills.n_classes[r] == len(seen)
        if not seen:
            assert np.isnan([skills.observed[r], skills.learned[r]]).all()
            continue
        rates = [np.mean([c == a for z, c in mine if z == a]) for a in seen]
        x.append(np.mean(rates))
        y.append(np.mean([[own[s, r, a, a] for a in seen] for s in (0, 1)]))
        assert skills.observed[r] == pytest.approx(x[-1])
        assert skills.learned[r] == pytest.approx(y[-1])
    if len(x) > 2 and np.ptp(x) > 0:
        assert skills.correlation == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
        assert skills.rank_correlation == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)
    assert skills.combined == "mean of 2 seeds"
    assert len(skills.frame()) == crowd.n_workers


@given(NUMBERS, st.integers(0, 99))
def test_weights_are_repetitions(x, seed):
    rng = np.random.default_rng(seed)
    y, times = rng.integers(-3, 4, len(x)).astype(float), rng.integers(1, 4, len(x))
    weighted = correlation(x, y, times)
    repeated = correlation(np.repeat(x, times), np.repeat(y, times))
    assert weighted == pytest.approx(repeated, abs=1e-9, nan_ok=True)


def test_a_constant_correlates_with_nothing():
    assert np.isnan(correlation(np.full(3, 0.1), np.arange(3.0)))
    assert np.isnan(correlation(np.ones(1), np.ones(1)))


def gold_of(crowd: CrowdDataset) -> tuple[np.ndarray, np.ndarray]:
    """Counts by gold, as a run of one seed would have them, and the posterior that knows gold."""
    posterior = np.eye(crowd.n_classes)[np.maximum(crowd.gold, 0)]
    return analysis.worker_confusion(crowd, "gold").counts[None], posterior[None]


def planted(crowd: CrowdDataset) -> np.ndarray:
    """(C, C) share of the labels on a class that are shared mistakes, as they were made."""
    true = crowd.gold[crowd.task]
    shares = np.zeros((crowd.n_classes, crowd.n_classes))
    made = crowd.truth.used_common
    np.add.at(shares, (true[made], crowd.label[made]), 1)
    return shares / np.bincount(true, minlength=crowd.n_classes)[:, None]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_mistakes_are_the_largest_and_about_as_large(seed: int) -> None:
    crowd = KINDS["shared"](seed)
    counts, q = gold_of(crowd)
    part, true = analysis.shared_part(crowd, counts, q, seeds=[0]), planted(crowd)
    table = part.frame()
    cells = {(crowd.classes[a], crowd.classes[b]) for a, b in zip(*np.nonzero(true), strict=True)}
    assert set(zip(table["true"][:2], table["given"][:2], strict=True)) == cells
    off = ~np.eye(crowd.n_classes, dtype=bool)
    assert np.abs(part.share - true)[off].max() < 0.2
    assert (part.low <= part.share).all() and (part.share <= part.high).all()
    np.testing.assert_allclose(table["share"][0], part.share[off].max())


@pytest.mark.parametrize("kind", ["independent", "roles"])
def test_no_large_mistake_is_found_where_none_is_shared(kind: str) -> None:
    crowd = KINDS[kind](0)
    part = analysis.shared_part(crowd, gold_of(crowd)[0], seeds=[0])
    assert part.mistake is None
    assert part.frame()["share"][0] < 0.15


def test_the_interval_is_wider_where_seeds_differ() -> None:
    crowd = KINDS["shared"](0, 400)
    counts = gold_of(crowd)[0]
    other = counts[:, :, :, np.roll(np.arange(crowd.n_classes), 1)] * 0.3 + counts * 0.7
    same = analysis.shared_part(crowd, np.concatenate([counts, counts]), seeds=[0, 1])
    differ = analysis.shared_part(crowd, np.concatenate([counts, other]), seeds=[0, 1])
    assert (differ.high - differ.low).mean() > (same.high - same.low).mean()
    one = analysis.shared_part(crowd, np.concatenate([counts, other]), seeds=[3, 5], seed=5)
    assert one.seeds == (5,)
    with pytest.raises(SettingError, match="counts"):
        analysis.shared_part(crowd, counts[..., :2], seeds=[0])


def test_the_probability_of_a_shared_mistake_tells_labels_that_are_wrong_as_others() -> None:
    crowd = KINDS["shared"](1)
    counts, q = gold_of(crowd)
    mistake = analysis.shared_part(crowd, counts, q, seeds=[0]).mistake
    right = crowd.label == crowd.gold[crowd.task]
    assert (mistake[right] == 0).all()
    assert np.corrcoef(mistake, crowd.truth.used_common)[0, 1] > 0.5
    of_right = right.astype(np.float64)
    use = analysis.omega_use(crowd, of_right, "gold", mistake)
    assert use.n.sum() == crowd.n_annotations
    assert use.omega.tolist() == [1, 0, 0]
    assert use.omega_correlation < 0 < use.mistake_correlation
    assert "right" in use.sentence
    assert analysis.omega_use(crowd, mistake, "gold", mistake).sentence == ""
    assert use.frame()["annotations"].tolist() == use.n.tolist()


def test_kinds_of_labels_by_hand() -> None:
    crowd = KINDS["independent"](0, 60)
    omega = np.random.default_rng(0).random(crowd.n_annotations)
    omega[3] = np.nan
    kinds: dict[str, list[float]] = {"right": [], "alike": [], "alone": []}
    for k, (i, y) in enumerate(zip(crowd.task, crowd.label, strict=True)):
        others = [crowd.label[j] for j in np.flatnonzero(crowd.task == i) if j != k]
        name = "right" if y == crowd.gold[i] else "alike" if y in others else "alone"
        if k != 3:
            kinds[name].append(omega[k])
    use = analysis.omega_use(crowd, omega)
    assert use.n.tolist() == [len(values) for values in kinds.values()]
    np.testing.assert_allclose(use.omega, [np.mean(values) for values in kinds.values()])


CONAL = {"n_tasks": 900, "n_valid": 0, "n_test": 0, "n_workers": 20, "per_task": 5, "omega_spread": 1.5}


def shown(crowd, common=None, reference="gold", **settings):
    truth = crowd.truth
    parts = (truth.worker_confusion[None], (truth.common_confusion if common is None else common)[None])
    return recovered_shares(crowd, reference, *parts, truth.omega[None], seeds=(7,), **settings)


@pytest.mark.parametrize("soft", [False, True])
def test_equals_loops_of_shared(soft):
    crowd = simulate.synthetic(**CONAL | {"n_tasks": 60}, seed=1)
    truth, c = crowd.truth, crowd.n_classes
    reference = soft_reference(crowd) if soft else "gold"
    q = reference.posterior if soft else np.eye(c)[crowd.gold]
    total, seen, run, common = np.zeros(c), *np.zeros((3, c, c))
    for i, r, b, w in zip(crowd.task, crowd.worker, crowd.label, truth.omega, strict=True):
        for a in range(c):
            if q[i, a] > 0.02:
                shares = w * truth.common_confusion[a], (1 - w) * truth.worker_confusion[r, a]
                total[a] += q[i, a]
                seen[a, b] += q[i, a]
                run[a] += q[i, a] * sum(shares)
                common[a, b] += q[i, a] * shares[0][b] / max(shares[0][b] + shares[1][b], 1e-300)
    interval = shown(crowd, reference=reference)
    np.testing.assert_allclose(interval.labels.share, seen / total[:, None])
    np.testing.assert_allclose(interval.recovered[0], run / total[:, None])
    np.testing.assert_allclose(interval.common_labels[0].share, common / common.sum(1, keepdims=True))
    wrong = np.where(np.eye(c), 0, interval.labels.share)
    assert wrong[*interval.cells.T].tolist() == sorted(wrong.ravel().tolist())[::-1][:5]


def test_the_true_confusions_are_within_the_intervals_in_19_of_20_cells():
    """Labels of a task depend on each other: with intervals of independent labels it would be fewer."""
    means, common = [], []
    for seed in range(40):
        shares = shown(simulate.synthetic(**CONAL, seed=seed), n=20)
        means.append(shares.within.mean())
        common.append(shares.common_within_by_seed.mean())
    assert 0.92 < np.mean(means) < 0.98
    assert np.mean(common) > 0.9


def test_intervals_know_that_labels_of_a_task_go_together():
    rng, hits = np.random.default_rng(0), []
    for _ in range(400):
        p = rng.beta(2, 6, 60)
        task, true = np.repeat(np.arange(60), 8), np.zeros(480, np.int64)
        given = (rng.random(480) < p[task]).astype(np.int64)
        shares = label_shares(task, true, given, np.ones(480), 2)
        hits.append(shares.low[0, 1] <= 0.25 <= shares.high[0, 1])
    assert 0.92 < np.mean(hits) < 0.98
    assert np.isnan(shares.share[1]).all()


def test_a_largest_confusion_of_2_percent_does_not_stand_for_one_of_21_percent():
    """It is among the five largest of the run, too, and counted as recovered."""
    crowd = simulate.synthetic(**CONAL, seed=3)
    shares = shown(crowd)
    (a, b), common, own = shares.cells[0], crowd.truth.common_confusion.copy(), crowd.truth.worker_confusion.copy()
    for matrix in (common, *own):
        matrix[a, a] += 0.9 * matrix[a, b]
        matrix[a, b] *= 0.1
    less = recovered_shares(crowd, "gold", own[None], common[None], crowd.truth.omega[None], seeds=(0,))
    assert (less.recovered[0][a] > 0).all()
    assert shares.within[0]
    assert not less.within[0]
    assert shares.common_within_by_seed[0, 0]
    assert not less.common_within_by_seed[0, 0]


def test_every_seed_is_looked_at():
    crowd = simulate.synthetic(**CONAL, seed=3)
    own = np.stack(
        [crowd.truth.worker_confusion, np.broadcast_to(np.eye(crowd.n_classes), crowd.truth.worker_confusion.shape)]
    )
    shares = recovered_shares(crowd, "gold", own, seeds=(3, 4))
    assert shares.common is None
    assert shares.within_by_seed.shape == (2, 5)
    assert not shares.within_by_seed[1].any()
    one = recovered_shares(crowd, "gold", own, seeds=(3, 4), seed=3)
    assert one.seeds == (3,)
    np.testing.assert_array_equal(one.within, shares.within_by_seed[0])
    with pytest.raises(SettingError, match="worker_confusion"):
        recovered_shares(crowd, "gold", own[:, 1:], seeds=(3, 4))
