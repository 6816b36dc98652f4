"""Auto: what it chooses, and what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation._statistics import held_out, predicted
from crowdcore.aggregation.auto import _stacked
from testkit.crowds import DEPENDENT, INDEPENDENT, simulate_crowd, simulated

WORST = 1.0  # points of accuracy


@pytest.mark.parametrize("kind", ["adversaries", "unequal classes", "few labels per task", "hard rare", "spammers"])
def test_is_not_worse_than_the_majority_vote(kind):
    assert kind in INDEPENDENT | DEPENDENT
    votes = simulated(kind, 100)
    auto, majority = (
        100 * (cc.aggregation.get(n).fit(votes).labels == votes.gold).mean() for n in ("auto", "majority-vote")
    )
    assert auto >= majority - WORST


def test_weights_maximise_the_log_probability_of_the_mixture():
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.05, 0.95, (400, 3))
    value = lambda w: np.log(probability @ w).mean()  # noqa: E731
    found = _stacked(probability)
    assert found.sum() == pytest.approx(1)
    assert all(value(found) >= value(other) - 1e-5 for other in rng.dirichlet(np.ones(3), 500))


def test_the_better_posterior_predicts_held_out_annotations_better():
    votes = simulate_crowd(300, 12, 3, per_task=5, accuracy=0.7)
    hidden = held_out(votes, 0.2)
    truth = np.eye(3)[votes.gold]
    scores = [
        np.log(predicted(votes, hidden, q, 15.0)).mean() for q in (truth, np.full_like(truth, 1 / 3), truth[::-1])
    ]
    assert scores[0] > scores[1] > scores[2]


def test_it_says_why():
    result = cc.aggregation.get("auto").fit(simulate_crowd(300, 12, 3, per_task=5, accuracy=0.7))
    assert result.notes[0].startswith("Weights: ")
    assert "held-out annotations" in result.notes[0]
    few = cc.aggregation.get("auto").fit(simulate_crowd(10, 3, 2, per_task=3))
    assert "majority vote is used" in few.notes[0]


def test_tags_are_hidden_by_a_workers_whole_sentences():
    crowd = cc.data.simulate.tags(n_sentences=60, seed=1)
    hidden = held_out(crowd, 0.2)
    sentence = crowd.sentences.of_task[crowd.task]
    shares = np.bincount(sentence * crowd.n_workers + crowd.worker, hidden) / np.maximum(
        np.bincount(sentence * crowd.n_workers + crowd.worker), 1
    )
    assert set(shares) == {0.0, 1.0}
    assert 0.1 < hidden.mean() < 0.3


@pytest.mark.parametrize("most", [100_000, 4_000])
def test_aggregators_of_sequences_count_where_tasks_are_sentences(monkeypatch, most):
    monkeypatch.setattr("crowdcore.aggregation.auto._MOST", most)
    crowd = cc.data.simulate.tags(n_sentences=300, worst=0.4, best=0.8, seed=1)
    result = cc.aggregation.get("auto").fit(crowd)
    weights, scores = result.notes[0].split("; by the mean")
    assert "hmm-crowd" in weights and all(name in scores for name in ("bsc-seq", "span-majority", "dawid-skene"))
    found, plain = (
        cc.analysis.tagging_scores(crowd, cc.aggregation.get(name).fit(crowd).labels).f1
        for name in ("auto", "dawid-skene")
    )
    assert found > plain
    tokens = cc.aggregation.get("auto").fit(simulate_crowd(300, 12, 3, per_task=5, accuracy=0.7))
    assert "hmm-crowd" not in tokens.notes[0], "a task by itself is no sequence"
