"""Simulated crowds: CoNAL's noise, Tanno's, Rodrigues' and CCC's crowds, and workers who coordinate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.rows import Rows
from crowdcore.data.simulate.base import as_tasks
from crowdcore.data.simulate.classes import PATTERN_SETS, omega_bias
from testkit.crowds import simulate_crowd


def gold(n: int = 20_000, n_classes: int = 10, seed: int = 0) -> tuple[None, np.ndarray]:
    return None, np.random.default_rng(seed).integers(n_classes, size=n)


def accuracy(ds, worker: int) -> float:
    of = ds.worker == worker
    return float((ds.label[of] == ds.gold[ds.task[of]]).mean())


def test_rodrigues_sensitivities_and_specificities() -> None:
    ds = simulate.rodrigues(gold(n_classes=2))
    np.testing.assert_array_equal(ds.labels_per_task, 5)
    np.testing.assert_allclose(ds.truth.worker_confusion[:, 1, 1], [0.6, 0.9, 0.5, 0.9, 0.9])
    np.testing.assert_allclose(ds.truth.worker_confusion[:, 0, 0], [0.7, 0.8, 0.5, 0.2, 0.9])
    for r in range(5):
        for true in (0, 1):
            of = (ds.worker == r) & (ds.gold[ds.task] == true)
            p = ds.truth.worker_confusion[r, true, true]
            assert abs((ds.label[of] == true).mean() - p) < 4 * np.sqrt(p * (1 - p) / of.sum())


def test_rodrigues_refusals() -> None:
    with pytest.raises(DataError, match="made for two"):
        simulate.rodrigues(gold(50))
    with pytest.raises(SettingError, match=r"value.*2 workers"):
        simulate.rodrigues(gold(50, 2), sensitivity=(0.5, 0.6), specificity=(0.5,))
    with pytest.raises(SettingError, match=r"sensitivity.0"):
        simulate.rodrigues(gold(50, 2), sensitivity=(1.5,))


@pytest.mark.parametrize(("kind", "right"), [("pairwise-flipper", 0.3), ("hammer-spammer", 0.3 + 0.7 / 10)])
def test_tanno_groups_of_five(kind: str, right: float) -> None:
    ds = simulate.tanno(gold(), kind=kind, skill=0.3)
    assert ds.n_workers == 5 and ds.n_annotations == 5 * ds.n_tasks
    for r in range(5):
        assert abs(accuracy(ds, r) - right) < 4 * np.sqrt(right * (1 - right) / ds.n_tasks)
    np.testing.assert_allclose(np.diagonal(ds.truth.worker_confusion, axis1=1, axis2=2), right)


def test_tanno_one_label_a_task_is_shared_evenly() -> None:
    ds = simulate.tanno(gold(), labels="one")
    np.testing.assert_array_equal(ds.labels_per_task, 1)
    assert abs(ds.labels_per_worker - 4000).max() < 4 * np.sqrt(20_000 * 0.2 * 0.8)


def test_tanno_diverse_four() -> None:
    ds = simulate.tanno(gold(), kind="diverse")
    assert ds.truth.worker_role == ("hammer-spammer", "semantic confuser", "neighbour confuser", "adversary")
    skill = np.diagonal(ds.truth.worker_confusion, axis1=1, axis2=2).mean(1)
    np.testing.assert_allclose(skill, [0.64, 0.55, 0.51, 0.1])
    assert skill.mean() == pytest.approx(0.45)  # the paper: "correct only 45% of the time"
    assert [accuracy(ds, r) for r in range(4)] == pytest.approx(skill, abs=0.02)
    semantic, neighbour, adversary = ds.truth.worker_confusion[1:]
    assert semantic[3, 5] == semantic[5, 3] == semantic[1, 9] == semantic[9, 1] == 0.45  # cat-dog, automobile-truck
    assert neighbour[0, 9] == neighbour[0, 1] == 0.245
    assert (adversary.argmax(1) != np.arange(10)).all() and len(set(adversary.argmax(1))) == 10
    with pytest.raises(DataError, match="made for ten"):
        simulate.tanno(gold(50, 3), kind="diverse")
    with pytest.raises(SettingError, match=r"`n_workers`.*4"):
        simulate.tanno(gold(50), kind="diverse", n_workers=6)


# Table 3, percent: N.R.1 and N.R.2 on CIFAR-10, then on Fashion-MNIST.
PUBLISHED = {
    "IND-I": [(19.61, 56.88), (18.73, 55.82)],
    "IND-II": [(26.87, 63.44), (26.14, 62.62)],
    "IND-III": [(20.75, 56.75), (21.45, 57.98)],
    "IND-IV": [(9.68, 46.21), (9.66, 45.97)],
    "COR-I": [(17.02, 54.12), (19.39, 56.64)],
    "COR-II": [(14.18, 50.70), (15.77, 51.74)],
    "COR-III": [(9.08, 44.99), (9.27, 45.03)],
    "COR-IV": [(10.07, 46.72), (10.67, 47.66)],
}


def test_ccc_noise_rates_are_the_papers() -> None:
    """Within sampling error, nearly all of which comes from the draw of the workers' weights, not of the tasks."""
    deviations = []
    for patterns, published in PUBLISHED.items():
        rates = []
        for seed in range(8):
            ds = simulate.ccc(gold(10_000), patterns=patterns, seed=seed)
            wrong = ds.label != ds.gold[ds.task]
            never_right = np.bincount(ds.task, ~wrong, ds.n_tasks) == 0
            rates.append((100 * never_right.mean(), 100 * wrong.mean()))
        assert ds.n_workers == 250 and (ds.labels_per_task == 3).all()
        np.testing.assert_array_equal(np.bincount(ds.truth.group), 50)
        error = np.std(rates, axis=0, ddof=1) * np.sqrt(1 + 1 / len(rates))
        deviations.append((np.array(published) - np.mean(rates, axis=0)) / error)
    assert np.abs(deviations).max() < 3
    assert (np.square(deviations).mean((0, 1)) < 1.64).all(), "χ² of 16 figures, 5 %"


def test_ccc_some_workers_give_few_labels() -> None:
    ds = simulate.ccc(gold(45_000))
    share = np.sort(ds.labels_per_worker)
    assert share[0] < 0.1 * share.mean() and share[-1] > 2 * share.mean()


def test_ccc_truth_holds_what_the_pattern_says() -> None:
    ds = simulate.ccc(gold(2000), patterns="IND-I", per_pattern=2)
    sym, _, _, _, pair, _, by_class, _, dummy, _ = ds.truth.worker_confusion
    np.testing.assert_allclose(np.diag(sym), 0.7)
    np.testing.assert_allclose(sym[0, 1:], 0.3 / 9)
    np.testing.assert_allclose(pair[[3, 9], [4, 0]], 0.6)
    np.testing.assert_allclose(np.diag(by_class), [0.1, 1, 0.1, 1, 1, 0.1, 1, 0.1, 1, 0.1])
    np.testing.assert_allclose(dummy, 0.1)
    assert ds.truth.worker_role[:5:2] == ("symmetrical 0.3", "symmetrical 0.5", "pair 0.6")
    with pytest.raises(DataError, match="made for ten"):
        simulate.ccc(gold(50, 3))


def test_ccc_correlated_workers_follow_their_leader_on_the_same_task() -> None:
    # Dense: everybody labels everything, so that what the leader said can be seen.
    ds = simulate.ccc(gold(1500), patterns="COR-II", per_pattern=2, per_task=10)
    label = np.empty((ds.n_tasks, 10), int)
    label[ds.task, ds.worker] = ds.label
    true = ds.gold
    followers = 0
    for r, role in enumerate(ds.truth.worker_role):
        kind, _, leader = role.partition(" of ")
        if not leader:
            continue
        followers += 1
        said = label[:, ds.worker_ids.get_loc(leader)]
        assert ds.truth.group[ds.worker_ids.get_loc(leader)] in (0, 1)
        if kind == "copy":
            np.testing.assert_array_equal(label[:, r], said)
            continue
        right = said == true if kind == "supportive" else said != true
        assert (label[right, r] == true[right]).all()
        share = np.bincount((label[~right, r] - true[~right]) % 10, minlength=10) / (~right).sum()
        assert np.abs(share - 0.1).max() < 4 * np.sqrt(0.09 / (~right).sum())
    assert followers == 6


def test_ccc_every_set_of_the_table_is_there() -> None:
    assert len(PATTERN_SETS) == 8
    assert all(len(patterns) == 5 for patterns in PATTERN_SETS.values())
    assert PATTERN_SETS["COR-IV"] == ("symmetrical 0.5", "pair 0.7", "pair 0.3", "opposite", "supportive")


def test_large_has_workers_of_their_own_and_is_quick_at_a_million() -> None:
    ds = simulate.large(200_000, 500, 10, 5, seed=1)
    assert (ds.n_annotations, ds.n_workers, ds.n_classes) == (1_000_000, 500, 10)
    skill = np.diagonal(ds.truth.worker_confusion, axis1=1, axis2=2)
    assert skill.mean() == pytest.approx(0.7, abs=0.01) and skill.std() > 0.1
    assert (ds.label == ds.gold[ds.task]).mean() == pytest.approx(skill.mean(), abs=0.01)


def tasks(n: int = 4000, n_classes: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 8)) + 5, rng.integers(n_classes, size=n)


@pytest.mark.parametrize("proportion", [0.0, 0.1, 0.3, 0.5, 0.7, 1.0])
def test_share_of_common_noise_is_the_wanted_one(proportion: float) -> None:
    ds = simulate.conal(tasks(), proportion=proportion, seed=2)
    assert ds.truth.omega.mean() == pytest.approx(proportion, abs=1e-9)
    # s ~ Bernoulli(ω) varies at most as Bernoulli(proportion) does.
    assert binomtest(int(ds.truth.used_common.sum()), ds.n_annotations, proportion).pvalue > 1e-3
    bias = ds.truth.settings["bias"]
    assert (bias is None) == (proportion in (0.0, 1.0))


def test_used_common_follows_omega_and_not_just_its_mean() -> None:
    ds = simulate.conal(tasks(20_000), omega_spread=2.0, seed=1)
    band = np.digitize(ds.truth.omega, np.quantile(ds.truth.omega, np.linspace(0.1, 0.9, 9)))
    for b in range(10):
        inside = band == b
        share, omega = ds.truth.used_common[inside].mean(), ds.truth.omega[inside]
        assert abs(share - omega.mean()) < 4 * np.sqrt((omega * (1 - omega)).sum()) / inside.sum()


@pytest.mark.parametrize("proportion", [1e-4, 0.3, 0.7, 0.999])
def test_bias_solves_the_mean_of_omega(proportion: float) -> None:
    affinity = np.random.default_rng(0).standard_normal(5000) * 3
    assert expit(affinity + omega_bias(affinity, proportion)).mean() == pytest.approx(proportion, rel=1e-9)


def test_strength_is_the_off_diagonal_mass() -> None:
    truth = simulate.conal(tasks(), common_strength=0.8, individual_strength=0.7).truth
    np.testing.assert_allclose(1 - np.diag(truth.common_confusion), 0.8)
    np.testing.assert_allclose(1 - np.diagonal(truth.worker_confusion, axis1=1, axis2=2), 0.7)
    assert ((truth.worker_confusion > 0).sum(-1) == 2).all()  # asymmetric: all mass on one other class
    own = truth.worker_confusion.argsort(-1)[..., -2:]
    assert len(np.unique(own.reshape(len(own), -1), axis=0)) > 20  # workers have confusions of their own


def test_symmetric_pairs_flip_into_each_other() -> None:
    for n_classes in (6, 7):
        common = simulate.conal(
            tasks(n_classes=n_classes), pattern="symmetric", common_strength=0.4
        ).truth.common_confusion
        np.testing.assert_allclose(common, common.T)
        flipped = (common > 0).sum(1) == 2
        assert flipped.sum() == n_classes - n_classes % 2
        np.testing.assert_allclose(np.diag(common)[flipped], 0.6)


def test_asymmetric_targets_are_uniform_over_the_other_classes() -> None:
    target = np.concatenate(
        [
            (simulate.conal(tasks(60), seed=s, n_workers=40).truth.worker_confusion - 0.31 * np.eye(6)).argmax(-1)
            for s in range(20)
        ]
    )
    offset = (target - np.arange(6)) % 6
    share = np.bincount(offset.ravel(), minlength=6) / offset.size
    assert share[0] == 0
    assert np.abs(share[1:] - 0.2).max() < 4 * np.sqrt(0.16 / offset.size)


def test_common_confusion_by_hand() -> None:
    common = simulate.conal(tasks(), targets=(1, 0, 2, 2, 4, 5), common_strength=0.5).truth.common_confusion
    expected = np.eye(6)
    expected[[0, 0, 1, 1, 3, 3], [0, 1, 1, 0, 3, 2]] = 0.5
    np.testing.assert_allclose(common, expected)
    with pytest.raises(SettingError, match=r"`targets`.*6 class.*6"):
        simulate.conal(tasks(), targets=(1, 0))
    with pytest.raises(SettingError, match="`targets`"):
        simulate.conal(tasks(), targets=(1, 0, 2, 3, 4, 6))


def test_omega_is_a_function_of_the_features() -> None:
    x, gold = tasks(300)
    twice = np.concatenate([x, x]), np.concatenate([gold, gold])
    ds = simulate.conal(twice, per_task=30, omega_spread=1.0)
    omega = ds.truth.omega.reshape(600, 30)
    np.testing.assert_allclose(omega[:300], omega[300:], atol=1e-9)
    logit = np.log(omega / (1 - omega))
    assert logit.std() == pytest.approx(1.0, abs=1e-6)
    # u·v has the rank of the features: 8 of them, so the centred logits have rank at most 8 (+1 for the mean).
    assert np.linalg.matrix_rank(logit[:300] - logit.mean(), tol=1e-6) <= 9


def test_no_spread_gives_every_annotation_the_same_omega() -> None:
    omega = simulate.conal(tasks(), omega_spread=0.0, proportion=0.3).truth.omega
    np.testing.assert_allclose(omega, 0.3)


def test_images_serve_as_features() -> None:
    images = np.random.default_rng(0).integers(256, size=(200, 4, 4), dtype=np.uint8)
    plain = as_tasks((None, np.arange(200) % 3))
    with_images = CrowdDataset(
        "images",
        plain.classes,
        plain.task_ids,
        plain.worker_ids,
        plain.task,
        plain.worker,
        plain.label,
        gold=plain.gold,
        media=Media(images=Rows.from_array(images)),
    )
    from_images = simulate.conal(with_images, n_workers=5, per_task=5)
    flat = simulate.conal((images.reshape(200, -1).astype(float), np.arange(200) % 3), n_workers=5, per_task=5)
    np.testing.assert_allclose(from_images.truth.omega, flat.truth.omega)
    assert from_images.media is with_images.media


def test_labels_per_task_and_per_worker() -> None:
    ds = simulate.conal(tasks(10_000))
    np.testing.assert_array_equal(ds.labels_per_task, 3)
    assert ds.n_workers == 30
    assert abs(ds.labels_per_worker - 1000).max() < 5 * np.sqrt(1000)
    loose = simulate.conal(tasks(10_000), spread="binomial")
    assert abs(loose.labels_per_task.mean() - 3) < 4 * np.sqrt(2.7 / 10_000)
    assert loose.labels_per_task.min() == 0


def test_workload_like_cccs_leaves_some_workers_with_few_labels() -> None:
    equal, uneven = (simulate.conal(tasks(10_000), workload=w).labels_per_worker for w in ("equal", "beta"))
    assert equal.min() > 800
    assert uneven.min() < 300 and uneven.max() > 1800 and uneven.sum() == equal.sum()


def test_individual_strengths_can_differ() -> None:
    truth = simulate.conal(tasks(100), n_workers=400, individual_strength=0.3, strength_spread=0.1).truth
    strength = 1 - np.diagonal(truth.worker_confusion, axis1=1, axis2=2)
    np.testing.assert_allclose(strength, strength[:, :1].repeat(6, 1))
    assert strength.mean() == pytest.approx(0.3, abs=0.02) and strength[:, 0].std() == pytest.approx(0.1, abs=0.02)
    assert strength.min() >= 0 and strength.max() <= 1


def test_paper_example_of_flipped_annotations() -> None:
    """ "With proportion 0.7 and strength 0.6, nearly 42 % annotations are pairwise flipped." """
    ds = simulate.conal(
        tasks(30_000), pattern="symmetric", common_strength=0.6, proportion=0.7, individual_strength=0.0
    )
    assert (ds.label != ds.gold[ds.task]).mean() == pytest.approx(0.42, abs=0.01)


def test_synthetic_is_the_papers() -> None:
    ds = simulate.synthetic()
    assert (ds.n_tasks, ds.n_classes, ds.n_workers) == (10_000, 6, 30)
    np.testing.assert_array_equal(np.bincount(ds.split), [8000, 1000, 1000])
    assert ds.n_annotations == 24_000 and (ds.split[ds.task] == 0).all()
    assert np.bincount(ds.gold).min() > 1500
    x = np.asarray(ds.features)
    assert x.dtype == np.float32
    for c in range(6):
        assert x[ds.gold == c].std(0) == pytest.approx(1.0, abs=0.1)  # identity covariance
    means = np.stack([x[ds.gold == c].mean(0) for c in range(6)])
    assert 0.8 < means.std() < 1.2  # separation 1
    with pytest.raises(SettingError, match="exceed n_valid"):
        simulate.synthetic(n_tasks=100)


@pytest.fixture
def honest() -> CrowdDataset:
    return simulate_crowd(400, n_workers=6, accuracy=0.7)


def of(crowd: CrowdDataset, worker: int) -> CrowdDataset:
    return crowd.where(crowd.worker == worker)


def test_copiers_label_the_leaders_tasks_and_mostly_alike(honest: CrowdDataset) -> None:
    crowd = simulate.copy_leader(honest, [1, 2], leader=0, rate=0.8, seed=1)
    leader = of(honest, 0)
    for copier in (1, 2):
        copied = of(crowd, copier)
        assert copied.task.tolist() == leader.task.tolist()
        alike = (copied.label == leader.label).mean()
        assert 0.8 < alike < 0.97  # the rest agrees by skill or chance
    assert of(crowd, 5).label.tolist() == of(honest, 5).label.tolist()
    assert crowd.truth is not None
    assert crowd.truth.worker_role == ("leader", "copier of w000", "copier of w000", "", "", "")
    assert (np.diff(crowd.task) >= 0).all()


def test_a_full_copy_is_a_copy_and_no_copy_is_the_workers_own_way(honest: CrowdDataset) -> None:
    full = simulate.copy_leader(honest, [1], leader=0, rate=1.0)
    assert of(full, 1).label.tolist() == of(full, 0).label.tolist()
    none = of(simulate.copy_leader(honest, [1], leader=0, rate=0.0), 1)
    before = of(honest, 1)
    assert (none.label == none.gold[none.task]).mean() == pytest.approx(
        (before.label == before.gold[before.task]).mean(), abs=0.08
    )


def test_pushers_change_one_class_only(honest: CrowdDataset) -> None:
    crowd = simulate.push_class(honest, [3, 4], true=0, given=2, rate=0.9, seed=2)
    changed = crowd.label != honest.label
    assert set(crowd.worker[changed]) == {3, 4}
    assert set(crowd.gold[crowd.task[changed]]) == {0}
    assert set(crowd.label[changed]) == {2}
    pushed = np.isin(crowd.worker, [3, 4]) & (crowd.gold[crowd.task] == 0)
    assert (crowd.label[pushed] == 2).mean() > 0.8


def test_imitators_make_the_most_frequent_mistake_of_the_others(honest: CrowdDataset) -> None:
    often = simulate.push_class(honest, [2, 3, 4, 5], true=1, given=3, rate=0.5)
    crowd = simulate.imitate_common(often, [0], rate=1.0)
    one = of(crowd, 0)
    assert set(one.label[one.gold[one.task] == 1]) == {3}
    assert (one.label != one.gold[one.task]).all()


def test_what_cannot_be_is_refused(honest: CrowdDataset) -> None:
    with pytest.raises(SettingError, match=r"between.*0.*1"):
        simulate.imitate_common(honest, [0], rate=2)
    with pytest.raises(SettingError, match="numbers in 0 … 5"):
        simulate.imitate_common(honest, [9])
    with pytest.raises(SettingError, match="who copy"):
        simulate.copy_leader(honest, [0, 1], leader=0)
    with pytest.raises(SettingError, match="another class"):
        simulate.push_class(honest, [0], true=1, given=1)
    with pytest.raises(DataError, match="without gold"):
        simulate.imitate_common(replace(honest, gold=np.full(400, -1)), [0])
