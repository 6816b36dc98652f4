"""MACE and worker clustering against their equations with every source spelt out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import crowdcore as cc
from crowdcore.aggregation.auto import held_out
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
    """q(z) and log-likelihood by summing over knowing and guessing, annotation by annotation."""
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


def test_restarts_keep_the_best_bound_and_few_labels_are_noted():
    crowd = simulate_crowd(40, 20, 3, per_task=2, accuracy=0.5)
    one, more = (cc.aggregation.get("mace", restarts=r).fit(crowd) for r in (0, 5))
    assert more.log_likelihood[-1] >= one.log_likelihood[-1]
    assert "Few labels per worker" in one.notes[0]
    assert cc.aggregation.get("mace").fit(simulate_crowd(300, 5, 3)).notes == ()


SKILLED = np.array([[0.85, 0.1, 0.05], [0.05, 0.85, 0.1], [0.1, 0.05, 0.85]])
CONFUSED = np.array([[0.3, 0.65, 0.05], [0.05, 0.3, 0.65], [0.65, 0.05, 0.3]])


def clustered(n_tasks, seed, sizes=(8, 4), confusions=(SKILLED, CONFUSED)):
    """Workers of each cluster share its confusion; three classes, six labels a task."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    base = simulate_crowd(n_tasks, len(of), 3, per_task=6, seed=seed)
    row = np.array(confusions)[of[base.worker], base.gold[base.task]].cumsum(1)
    label = (rng.random(base.n_annotations)[:, None] > row[:, :-1]).sum(1)
    return replace(base, label=label), of


def test_bound_is_that_of_the_mean_field_and_never_falls():
    crowd, _ = clustered(60, 0)
    model = cc.aggregation.get("worker-clustering", clusters=2, tolerance=0, max_iterations=6, smoothing=0.3)
    before = model.model_copy(update={"max_iterations": 5}).fit(crowd)
    after = model.fit(crowd)
    # Parameters of the sixth E-step: confusions, and memberships seen through the mean confusion of each worker.
    shared, prior = before.common_confusion, before.prior
    q, log = after.posterior, np.log(np.maximum(after.posterior, 1e-300))
    member = np.array([np.linalg.lstsq(shared.reshape(2, -1).T, c.ravel(), rcond=None)[0] for c in before.confusion])
    share = (member.sum(0) + 1) / (12 + 2)
    bound = (q * (np.log(prior) - log)).sum() + (member * (np.log(share) - np.log(np.maximum(member, 1e-12)))).sum()
    for i, r, y in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        for c in range(3):
            bound += sum(q[i, c] * member[r, k] * np.log(shared[k, c, y]) for k in range(2))
    bound += 0.3 * np.log(shared).sum() + np.log(share).sum()
    assert after.log_likelihood[-1] == pytest.approx(bound, abs=1e-5)
    assert (np.diff(after.log_likelihood) >= -1e-9 * np.abs(after.log_likelihood[1:])).all()


def test_one_cluster_is_dawid_skene_with_one_confusion():
    crowd, _ = clustered(200, 1)
    one = cc.aggregation.get("worker-clustering", clusters=1, tolerance=0, max_iterations=9).fit(crowd)
    merged = CrowdDataset(
        "merged", crowd.classes, crowd.task_ids, pd.Index(["all"]), crowd.task, 0 * crowd.worker, crowd.label
    )
    same = cc.aggregation.get("dawid-skene", smoothing=0.1, tolerance=0, max_iterations=9).fit(merged)
    np.testing.assert_allclose(one.posterior, same.posterior, atol=1e-9)
    np.testing.assert_allclose(one.common_confusion[0], same.confusion[0], atol=1e-9)


def test_clusters_and_their_confusions_are_recovered():
    crowd, of = clustered(6_400, 0)
    result = cc.aggregation.get("worker-clustering", clusters=2).fit(crowd)
    np.testing.assert_array_equal(result.group, of)
    np.testing.assert_allclose(result.common_confusion, [SKILLED, CONFUSED], atol=0.02)


def test_held_out_labels_choose_the_number_of_clusters():
    crowd, _ = clustered(500, 3)
    result = cc.aggregation.get("worker-clustering").fit(crowd)
    assert len(result.common_confusion) == 2
    assert result.notes[0].startswith("K = 2: ")
    assert result.settings["clusters"] is None
    alike, _ = clustered(500, 4, sizes=(12,), confusions=(SKILLED,))
    assert len(cc.aggregation.get("worker-clustering").fit(alike).common_confusion) == 1


def test_hidden_labels_are_the_asked_share_whatever_the_order_and_never_the_only_one():
    crowd = simulate_crowd(2000, 10, 3, per_task=3)
    hidden = held_out(crowd, 0.2)
    assert hidden.mean() == pytest.approx(0.2, abs=0.02)
    lonely = crowd.where(np.arange(6000) % 3 == 0)
    assert not held_out(lonely, 0.9).any()
    assert len(cc.aggregation.get("worker-clustering").fit(lonely).common_confusion) == 1
