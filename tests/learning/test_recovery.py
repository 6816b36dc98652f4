"""What the methods must find again in simulated crowds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from crowdcore.data import load_dataset, simulate
from crowdcore.learning import train
from crowdcore.learning.training.metrics import omega_correlation, recovery_error, skill_correlation


def test_the_crowd_layer_finds_rodrigues_five_binary_annotators():
    rng = np.random.default_rng(0)
    gold = rng.integers(2, size=1500)
    centres = 1.5 * rng.standard_normal((2, 10))
    features = (centres[gold] + rng.standard_normal((1500, 10))).astype(np.float32)
    crowd = simulate.rodrigues((features, gold), seed=0)
    result = train(crowd, "crowd-layer", seeds=2, epochs=30, lr=0.01, batch_size=64, select_on="none")
    true = crowd.truth.worker_confusion
    diagonals = np.diagonal(true, axis1=1, axis2=2).ravel()
    for s in range(2):
        found = np.diagonal(result.worker_confusion[s], axis1=1, axis2=2).ravel()
        assert np.corrcoef(diagonals, found)[0, 1] > 0.98
    assert (skill_correlation(true, result.worker_confusion) > 0.95).all()
    assert result.accuracy("train").min() > 0.9


@pytest.mark.parametrize(("labels", "bound"), [("dense", 0.02), ("one", 0.08)])
def test_trace_regularisation_finds_tannos_flippers_on_real_digits(labels, bound):
    digits = load_digits()
    features = (digits.data / 16).astype(np.float32)
    crowd = simulate.tanno((features, digits.target), kind="pairwise-flipper", skill=0.6, labels=labels, seed=1)
    result = train(crowd, "trace", seeds=2, epochs=40, lr=0.01, batch_size=64, schedule="cosine", select_on="none")
    true = crowd.truth.worker_confusion
    error = recovery_error(true, result.worker_confusion)
    assert (error < bound).all(), error
    assert recovery_error(true, np.tile(np.eye(10), (5, 1, 1))) > 0.3
    assert (result.accuracy("train") > 0.9).all()


def test_labelmes_common_confusion_shows_inside_city_taken_for_street(data_folder):
    crowd = load_dataset("labelme")
    result = train(crowd, "conal", seeds=3, epochs=20)
    city, street = crowd.classes.index("insidecity"), crowd.classes.index("street")
    mean = result.common_confusion.mean(0)
    assert mean[city, street] > 0.12
    observed = np.zeros_like(mean)
    known = crowd.gold[crowd.task] >= 0
    np.add.at(observed, (crowd.gold[crowd.task][known], crowd.label[known]), 1)
    observed /= observed.sum(1, keepdims=True)
    largest = [set(np.argsort(-(m * (1 - np.eye(8))).ravel())[:5]) for m in (mean, observed)]
    assert len(largest[0] & largest[1]) >= 3, "the largest shared confusions are the ones observed"
    assert np.nanstd(result.omega, axis=1).min() > 0.1
    assert result.accuracy("test").mean() > 0.86


def test_conal_finds_common_and_individual_confusions_and_their_shares():
    crowd = simulate.synthetic(n_tasks=4400, n_valid=200, n_test=200, common_strength=0.5, proportion=0.5)
    result = train(crowd, "conal", seeds=2, epochs=25, lr=0.01, batch_size=128)
    truth, found = crowd.truth, result.recovered_at("last")  # accuracy is selected long before confusions are learnt
    common = recovery_error(truth.common_confusion[None], found.common_confusion[:, None])
    guess = recovery_error(truth.common_confusion[None], np.eye(6)[None])
    assert (common < 0.1 * guess).all(), (common, guess)
    assert (recovery_error(truth.worker_confusion, found.worker_confusion) < 0.1).all()
    assert (omega_correlation(truth.omega, found.omega) > 0.6).all()
    baseline = train(crowd, "dl-mv", seeds=2, epochs=25, lr=0.01, batch_size=128)
    assert result.accuracy("test").min() > baseline.accuracy("test").max()
