"""Wawa against its definition, spelt out in exact fractions, and against crowd-kit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from testkit.crowds import simulate_crowd


def weighted(dataset, weight):
    """votes[i][c] = summed weight of the workers who gave task i the label c."""
    votes = [[Fraction(0)] * dataset.n_classes for _ in range(dataset.n_tasks)]
    for i, r, c in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        votes[i][c] += weight[r]
    return votes


def skills(dataset, votes, known=None):
    """Share of a worker's labels that are winners; a tie among n winners counts 1/n."""
    right, given = [Fraction(0)] * dataset.n_workers, [0] * dataset.n_workers
    for i, r, c in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        winners = [k for k in range(dataset.n_classes) if votes[i][k] == max(votes[i])]
        if known is not None and known[i] >= 0:
            winners = [known[i]]
        right[r] += Fraction(int(c in winners), len(winners))
        given[r] += 1
    return [a / n if n else Fraction(0) for a, n in zip(right, given, strict=True)]


@pytest.mark.parametrize("n_known", [0, 5])
def test_equals_the_definition(n_known):
    crowd = simulate_crowd(25, 6, 3, per_task=3, accuracy=0.5, seed=4)
    known = np.where(np.arange(25) < n_known, crowd.gold, -1)
    skill = skills(crowd, weighted(crowd, [Fraction(1)] * 6), known)
    votes = np.array(weighted(crowd, skill), float)
    result = cc.aggregation.get("wawa").fit(crowd, known=known)
    np.testing.assert_allclose(result.worker_weight, np.array(skill, float), rtol=1e-12)
    np.testing.assert_allclose(result.posterior[n_known:], (votes / votes.sum(1, keepdims=True))[n_known:], rtol=1e-12)


@pytest.mark.parametrize("name", ["labelme", "leaves"])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ties", ["share", "lowest"])
def test_equals_crowd_kit_on_tasks_without_a_tie(data_folder, name, ties):
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    votes = cc.aggregation.get("majority-vote").fit(dataset).posterior
    dataset = dataset.where((votes == votes.max(1, keepdims=True)).sum(1)[dataset.task] == 1)
    frame = pd.DataFrame({"task": dataset.task, "worker": dataset.worker, "label": dataset.label})
    theirs = kit.Wawa().fit(frame).skills_  # its predict() fails under scikit-learn 1.9, its parts do not
    probas = kit.MajorityVote().fit(frame, skills=theirs).probas_.sort_index()
    ours = cc.aggregation.get("wawa", ties=ties).fit(dataset)
    np.testing.assert_allclose(ours.worker_weight[theirs.index], theirs, rtol=1e-12)
    np.testing.assert_allclose(ours.posterior[probas.index], probas, atol=1e-12)


def test_a_task_whose_workers_weigh_nothing_keeps_its_votes():
    crowd = simulate_crowd(4, 4, 2, per_task=2)
    crowd = replace(crowd, worker=np.array([0, 1, 0, 1, 2, 3, 2, 3]), label=np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    result = cc.aggregation.get("wawa").fit(crowd, known=np.array([1, -1, 1, 1]))
    assert result.worker_weight == pytest.approx([0.25, 0.25, 1, 1])
    wrong = cc.aggregation.get("wawa").fit(crowd.where(crowd.task != 1), known=np.array([1, -1, 0, -1]))
    assert wrong.worker_weight == pytest.approx([0, 0, 0.5, 0.5])
    silent = cc.aggregation.get("wawa").fit(crowd.where(crowd.task < 2), known=np.array([1, -1, -1, -1]))
    assert silent.posterior[1] == pytest.approx([0.5, 0.5])
