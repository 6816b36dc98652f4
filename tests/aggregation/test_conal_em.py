"""CoNAL-EM against its model with every source spelt out, and on simulated crowds whose confusions are known."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.aggregation.conal_em import ConalEM
from crowdcore.data.simulate import conal, synthetic
from crowdcore.data.simulate.base import draw_labels
from testkit.crowds import simulate_crowd


def fit(dataset, **settings):
    return ConalEM(**settings).fit(dataset)


def hard(seed=0, pattern="symmetric", **settings):
    """CoNAL's Synthetic where 0.7 of the common labels are mistakes, and half of all labels are common."""
    return synthetic(seed=seed, pattern=pattern, **{"common_strength": 0.7, "proportion": 0.5, **settings})


def two_groups(seed):
    """Fifteen workers each share one of two common confusions."""
    base = synthetic(seed=seed, common_strength=0.7)
    halves = [
        conal(base, seed=1000 + 2 * seed + g, n_workers=15, per_task=1.5, common_strength=0.7, pattern="symmetric")
        for g in range(2)
    ]
    task = np.concatenate([h.task for h in halves])
    order = np.argsort(task, kind="stable")
    merged = replace(
        base,
        worker_ids=pd.Index([f"w{r:02d}" for r in range(30)]),
        task=task[order],
        worker=np.concatenate([halves[0].worker, halves[1].worker + 15])[order],
        label=np.concatenate([h.label for h in halves])[order],
        truth=None,
    )
    return merged, np.stack([h.truth.common_confusion for h in halves])


def literal(dataset, common, own, omega, prior):
    """log p(y_i) and P(s = 1 | all labels), summed over the true class and the source of every label of a task."""
    likelihood, from_common = 0.0, np.zeros(dataset.n_annotations)
    for i in range(dataset.n_tasks):
        mine = np.flatnonzero(dataset.task == i)
        total, weight = 0.0, np.zeros(len(mine))
        for c, sources in itertools.product(range(dataset.n_classes), itertools.product((0, 1), repeat=len(mine))):
            p = prior[c]
            for j, s in zip(mine, sources, strict=True):
                r, y = dataset.worker[j], dataset.label[j]
                p *= omega[r, c] * common[c, y] if s else (1 - omega[r, c]) * own[r, c, y]
            total += p
            weight += p * np.array(sources)
        likelihood += np.log(total)
        from_common[mine] = weight / total
    return likelihood, from_common


@pytest.fixture
def steps(monkeypatch):
    """All parameters that a fit goes through."""
    kept = []

    def m_step(self, sums, n_workers, before=None, original=ConalEM.m_step):
        kept.append(original(self, sums, n_workers, before))
        return kept[-1]

    monkeypatch.setattr(ConalEM, "m_step", m_step)
    return kept


def test_likelihood_and_omega_are_those_of_the_model(steps):
    crowd = simulate_crowd(25, 5, 3, per_task=3, accuracy=0.6, seed=1)
    result = fit(crowd, max_iterations=150, tolerance=0)
    used, last = steps[-2:]  # the parameters of the last E-step, and those that followed from it
    split = used.split
    likelihood, from_common = literal(crowd, split.common[0], split.own, split.omega, used.prior)
    assert result.log_likelihood[-1] == pytest.approx(likelihood + used.log_prior_density)
    np.testing.assert_allclose(last.split.omega, split.omega, atol=1e-3)
    np.testing.assert_allclose(result.omega, from_common, atol=2e-3)
    np.testing.assert_allclose(result.common_confusion, last.split.common[0])
    np.testing.assert_allclose(result.common_confusion.sum(1), 1)


@pytest.mark.parametrize("settings", [{"groups": 2}, {"accuracy_prior": 1, "common_prior": 0.1}])
def test_objective_never_falls(settings):
    crowd = hard(n_tasks=400, n_valid=0, n_test=0)
    values = fit(crowd, tolerance=0, max_iterations=25, restarts=0, **settings).log_likelihood
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


@pytest.mark.parametrize("pattern", ["symmetric", "asymmetric"])
def test_recovers_the_common_confusion_far_better_than_the_mean_of_dawid_skene(pattern):
    crowd = hard(0, pattern)
    truth, seen = crowd.truth, crowd.annotated
    result, plain = fit(crowd), cc.aggregation.get("dawid-skene").fit(crowd)
    error, naive = (
        ((confusion - truth.common_confusion) ** 2).mean()
        for confusion in (result.common_confusion, plain.confusion.mean(0))
    )
    assert naive / error > 20
    assert (result.labels == crowd.gold)[seen].mean() > (plain.labels == crowd.gold)[seen].mean() + 0.1
    assert np.nanmean((result.confusion - truth.worker_confusion) ** 2) < 0.01
    assert result.omega[truth.used_common].mean() > result.omega[~truth.used_common].mean() + 0.3


def test_classes_that_the_votes_misname_are_renamed_only_if_allowed():
    crowd = hard(2)
    renamed, kept = fit(crowd), fit(crowd, rename=False)
    seen = crowd.annotated
    assert (renamed.labels == crowd.gold)[seen].mean() > 0.7 > 0.3 > (kept.labels == crowd.gold)[seen].mean()
    assert "otherwise" in renamed.notes[0]
    assert kept.notes == ()
    known = np.where(np.arange(crowd.n_tasks) % 10 == 0, crowd.gold, -1)
    result = ConalEM().fit(crowd, known=known)
    assert (result.labels == crowd.gold)[seen & (known < 0)].mean() > 0.7
    assert result.notes == ()


def test_workers_of_unequal_accuracy():
    """Own accuracies from 0.1 to 0.9: the names and the split rest on no equality of the workers."""
    rng = np.random.default_rng(0)
    base = simulate_crowd(8000, 30, 6, per_task=3)
    accuracy = np.repeat(rng.uniform(0.1, 0.9, 30)[:, None], 6, axis=1)
    target = (np.arange(6) + rng.integers(1, 6, (31, 6))) % 6
    right = np.vstack([accuracy, np.full(6, 0.3)])  # the last is the common confusion
    confusion = np.eye(6) * right[:, :, None] + np.eye(6)[target] * (1 - right)[:, :, None]
    omega = np.clip(rng.normal(0.5, 0.15, (30, 6)), 0.02, 0.98)
    common = rng.random(base.n_annotations) < omega[base.worker, base.gold[base.task]]
    source = np.where(common, 30, base.worker)
    crowd = replace(base, label=draw_labels(confusion, source, base.gold[base.task], rng))
    result, plain = fit(crowd), cc.aggregation.get("dawid-skene").fit(crowd)
    assert (result.labels == crowd.gold).mean() > 0.8
    error, naive = (((m - confusion[30]) ** 2).mean() for m in (result.common_confusion, plain.confusion.mean(0)))
    assert error < naive / 3


def test_random_starts_leave_a_lower_summit():
    crowd = hard(4, "asymmetric")
    stuck, result = fit(crowd, restarts=0), fit(crowd)
    assert result.log_likelihood[-1] > stuck.log_likelihood[-1] + 100
    assert (result.labels == crowd.gold)[crowd.annotated].mean() > 0.8


def test_groups_of_workers_and_their_common_confusions():
    crowd, common = two_groups(1)
    result = fit(crowd, groups=2)
    first = int(result.group[0])
    np.testing.assert_array_equal(result.group, np.repeat([first, 1 - first], 15))
    assert ((result.common_confusion[[first, 1 - first]] - common) ** 2).mean() < 0.002
    assert fit(crowd, restarts=0, max_iterations=1).group is None


def test_no_worse_than_dawid_skene_on_real_crowds(data_folder):
    for name in ("labelme", "music", "bluebird"):
        crowd = cc.load_dataset(name)
        seen = crowd.annotated
        ours, plain = (cc.aggregation.get(m).fit(crowd) for m in ("conal-em", "dawid-skene"))
        assert (ours.labels == crowd.gold)[seen].mean() >= (plain.labels == crowd.gold)[seen].mean() - 0.01
        assert not any("named otherwise" in note for note in ours.notes)
    assert "per class" in fit(cc.load_dataset("labelme")).notes[0]
