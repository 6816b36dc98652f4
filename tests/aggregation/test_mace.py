"""MACE against the paper's equations with every source spelt out, crowd-kit, and crowds that it describes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import crowdcore as cc
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd


def spammers(n_tasks, know, strategy, seed):
    """A MACE crowd: worker r knows with probability know[r], else guesses by strategy[r]."""
    rng = np.random.default_rng(seed)
    base = simulate_crowd(n_tasks, len(know), strategy.shape[1], per_task=5, seed=seed)
    guess = (rng.random(base.n_annotations)[:, None] > strategy.cumsum(1)[base.worker, :-1]).sum(1)
    label = np.where(rng.random(base.n_annotations) < know[base.worker], base.gold[base.task], guess)
    return CrowdDataset(
        "spammers", base.classes, base.task_ids, base.worker_ids, base.task, base.worker, label, gold=base.gold
    )


def literal_posterior(dataset, know, strategy):
    """q(z) and log-likelihood by summing over who knew, annotation by annotation."""
    joint = np.zeros((dataset.n_tasks, dataset.n_classes))
    for i, c in itertools.product(range(dataset.n_tasks), range(dataset.n_classes)):
        mine = np.flatnonzero(dataset.task == i)
        for knew in itertools.product((True, False), repeat=len(mine)):
            p = 1 / dataset.n_classes
            for j, k in zip(mine, knew, strict=True):
                r, y = dataset.worker[j], dataset.label[j]
                p *= know[r] * (y == c) if k else (1 - know[r]) * strategy[r, y]
            joint[i, c] += p
    return joint / joint.sum(1, keepdims=True), np.log(joint.sum(1)).sum()


def test_posterior_and_objective_of_em_are_those_of_the_model():
    crowd = simulate_crowd(12, 5, 3, per_task=3, accuracy=0.6, seed=2)
    settings = {"inference": "em", "tolerance": 0, "class_prior": "uniform"}
    before = cc.aggregation.get("mace", max_iterations=7, **settings).fit(crowd)  # its weights start the 8th E-step
    after = cc.aggregation.get("mace", max_iterations=8, **settings).fit(crowd)
    know = before.worker_weight
    strategy = before.confusion.min(1) / (1 - know)[:, None]
    posterior, likelihood = literal_posterior(crowd, know, strategy)
    np.testing.assert_allclose(after.posterior, posterior, atol=1e-9)
    density = 0.01 * (np.log(know) + np.log1p(-know) + np.log(strategy).sum(1)).sum()
    assert after.log_likelihood[-1] == pytest.approx(likelihood + density)


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_objective_never_falls(inference):
    crowd = simulate_crowd(120, 15, 5, per_task=3, accuracy=0.5)
    values = cc.aggregation.get("mace", inference=inference, tolerance=0, max_iterations=80).fit(crowd).log_likelihood
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_bound_is_below_the_evidence_and_close_to_it():
    """One task, one worker, two classes: the evidence is an integral that Monte Carlo can do."""
    crowd = simulate_crowd(1, 1, 2, per_task=1)
    crowd = CrowdDataset("one", crowd.classes, crowd.task_ids, crowd.worker_ids, [0, 0, 0], [0, 0, 0], [0, 1, 0])
    bound = (
        cc.aggregation.get("mace", tolerance=0, class_prior="uniform", max_iterations=200).fit(crowd).log_likelihood[-1]
    )
    rng = np.random.default_rng(0)
    know = stats.beta(0.5, 0.5).rvs(400_000, random_state=rng)
    xi = stats.beta(10, 10).rvs(400_000, random_state=rng)
    given = (
        [know * (c == 0) + (1 - know) * xi for c in (0, 1)],
        [know * (c == 1) + (1 - know) * (1 - xi) for c in (0, 1)],
    )
    evidence = np.log(np.mean(sum(a**2 * b for a, b in zip(*given, strict=True)) / 2))
    assert evidence - 1.0 < bound < evidence


def test_guesses_do_not_take_over_a_frequent_class():
    """One class in ten: under uniform shares its votes are read as guesses."""
    rng = np.random.default_rng(0)
    crowd = simulate_crowd(500, 12, 2, per_task=5, accuracy=0.8)
    gold = (rng.random(500) < 0.1).astype(np.int32)
    crowd = replace(
        crowd, gold=gold, label=np.where(crowd.label == crowd.gold[crowd.task], gold[crowd.task], 1 - gold[crowd.task])
    )
    right = [
        (cc.aggregation.get("mace", class_prior=prior).fit(crowd).labels == gold).mean()
        for prior in ("uniform", "estimated")
    ]
    assert right[1] > right[0] + 0.01


@pytest.mark.filterwarnings("ignore")
def test_equals_crowd_kits_variational_bayes():
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    crowd = simulate_crowd(60, 6, 3, per_task=4, accuracy=0.7)
    # crowd-kit mixes up workers and labels unless both first appear in sorted order
    order = np.lexsort((crowd.label, crowd.worker))
    frame = pd.DataFrame({n: getattr(crowd, n)[order] for n in ("task", "worker", "label")})
    expected = kit.MACE(n_restarts=1, n_iter=100).fit(frame).probas_.sort_index().sort_index(axis=1).to_numpy()
    ours = cc.aggregation.get("mace", tolerance=0, class_prior="uniform", max_iterations=300).fit(crowd)
    np.testing.assert_allclose(ours.posterior, expected, atol=1e-5)


def test_knowledge_is_recovered_with_an_error_that_falls_as_one_over_root_labels():
    rng = np.random.default_rng(5)
    know, strategy = rng.uniform(0.3, 0.9, 10), rng.dirichlet(np.ones(4) * 3, 10)
    sizes, errors = [500, 2_000, 8_000, 32_000], []
    for n in sizes:
        found = [cc.aggregation.get("mace").fit(spammers(n, know, strategy, s)).worker_weight for s in range(4)]
        errors.append(np.sqrt(np.mean([(f - know) ** 2 for f in found])))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.12)
    assert errors[-1] < 0.01


def test_restarts_keep_the_best_bound_and_few_labels_are_noted():
    crowd = simulate_crowd(40, 20, 3, per_task=2, accuracy=0.5)
    one, more = (cc.aggregation.get("mace", restarts=r).fit(crowd) for r in (0, 5))
    assert more.log_likelihood[-1] >= one.log_likelihood[-1]
    assert "Few labels per worker" in one.notes[0]
    assert cc.aggregation.get("mace").fit(simulate_crowd(300, 5, 3)).notes == ()
