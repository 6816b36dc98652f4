"""Tanno's, Rodrigues' and CCC's crowds: what sets each apart."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.simulate.classes import PATTERN_SETS


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
    with pytest.raises(SettingError, match="one value for each of the 2 workers"):
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
    with pytest.raises(SettingError, match="`n_workers` must be 4"):
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
