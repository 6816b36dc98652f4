"""CoNAL's noise: strengths, patterns, the share of common noise and what ω depends on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.rows import Rows
from crowdcore.data.simulate.base import as_tasks
from crowdcore.data.simulate.classes import omega_bias


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
    with pytest.raises(SettingError, match="`targets` must hold 6 class numbers below 6"):
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
