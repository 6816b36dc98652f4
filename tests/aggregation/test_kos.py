"""KOS against its equations over neighbourhoods, and against crowd-kit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError
from testkit.crowds import simulate_crowd


def literal(dataset, rounds):
    """Messages x[i, r], y[r, i] over the edges, equations of section 2.1 with unit start."""
    edges = {(i, r): 1 - 2 * c for i, r, c in zip(dataset.task, dataset.worker, dataset.label, strict=True)}
    y = dict.fromkeys(edges, 1.0)
    for _ in range(rounds):
        x = {(i, r): sum(edges[i, s] * y[i, s] for j, s in edges if j == i and s != r) for i, r in edges}
        y = {(i, r): sum(edges[j, r] * x[j, r] for j, s in edges if s == r and j != i) for i, r in edges}
    score = np.zeros(dataset.n_tasks)
    size = np.zeros(dataset.n_tasks)
    for i, r in edges:
        score[i] += edges[i, r] * y[i, r]
        size[i] += abs(y[i, r])
    return score / size


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_equals_the_equations(rounds):
    crowd = simulate_crowd(20, 8, 2, per_task=4, accuracy=0.7, seed=1)
    result = cc.aggregation.get("kos", max_iterations=rounds, patience=1000).fit(crowd)
    np.testing.assert_allclose(result.posterior[:, 0] - result.posterior[:, 1], literal(crowd, rounds), atol=1e-9)


@pytest.mark.parametrize("name", ["bluebird", "rte", "sentiment_amt"])
@pytest.mark.filterwarnings("ignore")
def test_labels_are_crowd_kits_whose_start_is_random(data_folder, name):
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    theirs = kit.KOS().fit_predict(dataset.annotations.astype(str)).reindex(dataset.task_ids)
    ours = np.array(dataset.classes)[cc.aggregation.get("kos").fit(dataset).labels]
    assert (ours == theirs.to_numpy())[dataset.annotated].mean() > 0.99


def test_swapping_the_classes_swaps_the_answer():
    crowd = simulate_crowd(80, 9, 2, per_task=5, accuracy=0.7)
    one, other = (cc.aggregation.get("kos").fit(c) for c in (crowd, replace(crowd, label=1 - crowd.label)))
    np.testing.assert_allclose(one.posterior, other.posterior[:, ::-1], atol=1e-12)


def test_finds_adversaries_that_the_vote_follows():
    rng = np.random.default_rng(0)
    crowd = simulate_crowd(600, 20, 2, per_task=7, accuracy=0.9)
    flip = (crowd.worker < 8) & (rng.random(crowd.n_annotations) < 0.9)
    crowd = replace(crowd, label=np.where(flip, 1 - crowd.label, crowd.label))
    accuracy = {m: (cc.aggregation.get(m).fit(crowd).labels == crowd.gold).mean() for m in ("kos", "majority-vote")}
    assert accuracy["kos"] > 0.98 > 0.8 > accuracy["majority-vote"]
    assert (cc.aggregation.get("kos").fit(crowd).worker_weight[:8] < 0).all()


def test_refuses_more_classes_in_a_sentence():
    with pytest.raises(DataError, match="but simulated has 4"):
        cc.aggregation.get("kos").fit(simulate_crowd())


def test_warns_where_one_worker_labels_much_more_than_the_others(data_folder):
    assert "times the median" in cc.aggregation.get("kos").fit(cc.load_dataset("rte")).notes[0]
    assert cc.aggregation.get("kos").fit(simulate_crowd(100, 10, 2, per_task=5)).notes == ()


def test_known_tasks_teach_who_is_reliable():
    crowd = simulate_crowd(300, 12, 2, per_task=5, accuracy=0.3, seed=6)  # most labels are wrong
    known = np.where(np.arange(300) < 100, crowd.gold, -1)
    blind, told = (cc.aggregation.get("kos").fit(crowd, known=k).labels[100:] for k in (None, known))
    assert (blind == crowd.gold[100:]).mean() < 0.3 < 0.7 < (told == crowd.gold[100:]).mean()
