"""Item response: the fit's end is the model's, able workers are believed on hard tasks, and foils are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation import item_response
from crowdcore.core.latent_classes import LatentClasses
from testkit.crowds import simulate_crowd
from testkit.erring import PAIRS, TASKS, unequal
from tests.enumerated_tasks import N_TASKS, N_WORKERS, C, every_label, joint


def fitted(dataset, **settings):
    return cc.aggregation.get("item-response", **settings).fit(dataset)


def test_log_likelihood_and_posterior_are_those_of_the_enumerated_model(monkeypatch):
    crowd = simulate_crowd(N_TASKS, N_WORKERS, C, per_task=N_WORKERS, accuracy=0.4)
    worker = np.tile(np.arange(N_WORKERS), N_TASKS)
    label = np.where(worker < 2, worker, crowd.label)  # two classes at least, so that none stands for two
    crowd = replace(crowd, worker=worker, label=label)
    fits = []
    kept = lambda *parts, **settings: fits.append(LatentClasses(*parts, **settings)) or fits[-1]  # noqa: E731
    monkeypatch.setattr(item_response, "LatentClasses", kept)
    found_by = fitted(crowd, max_iterations=4, tolerance=0)
    model, tasks = fits[0].model, every_label(crowd.label)
    tasks[3][:] = True
    every = [[*joint(tasks, model, i)] for i in range(N_TASKS)]
    for i, found in enumerate(every):
        classes = np.bincount([z for _, z, *_ in found], [p for p, *_ in found])
        np.testing.assert_allclose(found_by.posterior[i], classes / classes.sum(), rtol=1e-9)
    beta, mean = fits[0]._beta, fits[0]._mean
    density = -((beta - mean) ** 2).sum() / 2 - ((mean - 1) ** 2).sum() / 2
    alone = fits[0]._alone
    density += np.log(fits[0].class_share).sum() + 100 * (0.15 * np.log(alone) + 0.85 * np.log(1 - alone))
    likelihood = sum(np.log(sum(p for p, *_ in found)) for found in every)
    assert fits[0].step() == pytest.approx(likelihood + density, rel=1e-10)


def test_able_workers_are_believed_on_tasks_that_most_get_wrong():
    crowd = unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS["unequal"], np.random.default_rng(1))
    vote, glad, found = (cc.aggregation.get(name).fit(crowd) for name in ("majority-vote", "glad", "item-response"))
    right = [(each.labels == crowd.gold).mean() for each in (vote, glad, found)]
    assert max(right[:2]) < 0.9 < 0.97 < right[2]
    wrong = (crowd.label != crowd.gold[crowd.task]).reshape(200, 39).mean(1)
    same = found.labels == crowd.gold
    assert np.corrcoef(found.difficulty[same], wrong[same])[0, 1] > 0.95
    assert (found.foil == -1).all(), "of two classes, the wrong one is the only foil"


def test_the_foil_of_a_task_is_named():
    crowd = simulate_crowd(300, 15, 5, per_task=15, accuracy=0.8, seed=2)
    rng, misled = np.random.default_rng(0), np.arange(300) < 60
    foil = (crowd.gold + rng.integers(1, 5, 300)) % 5
    to_foil = misled[crowd.task] & (rng.random(crowd.n_annotations) < 0.55)
    found = fitted(replace(crowd, label=np.where(to_foil, foil[crowd.task], crowd.label)))
    right = found.labels == crowd.gold
    assert (found.foil[misled & right] == foil[misled & right]).mean() > 0.9
    assert (found.foil[~misled] >= 0).mean() < 0.05


def test_the_objective_grows_on_a_plain_crowd_and_confusions_are_those_of_the_crowd():
    crowd = simulate_crowd(2000, 10, 3, per_task=6, accuracy=0.7, seed=1)
    found = fitted(crowd)
    assert found.converged
    assert (np.diff(found.log_likelihood) > 0).all()
    np.testing.assert_allclose(found.confusion.mean(0), 0.55 * np.eye(3) + 0.15, atol=0.04)
