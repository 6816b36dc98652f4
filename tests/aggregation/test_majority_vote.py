"""Majority vote against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import crowdcore as cc
from testkit.crowds import simulate_crowd


def labels_of(crowd, task):
    return Counter(crowd.label[crowd.task == task].tolist())


def test_shares():
    crowd = simulate_crowd(50, 8, 4, per_task=5)
    posterior = cc.aggregation.get("majority-vote").fit(crowd).posterior
    for i in range(50):
        votes = labels_of(crowd, i)
        np.testing.assert_allclose(posterior[i], [votes[c] / 5 for c in range(4)])


@pytest.mark.parametrize("ties", ["lowest", "random"])
def test_hard_votes_and_tie_rules(ties):
    crowd = simulate_crowd(200, 8, 4, per_task=2, accuracy=0.5)
    result = cc.aggregation.get("majority-vote", hard=True, ties=ties, seed=3).fit(crowd)
    tied_winners = []
    for i in range(200):
        votes = labels_of(crowd, i)
        best = sorted(c for c, n in votes.items() if n == max(votes.values()))
        assert result.posterior[i].max() == 1
        if ties == "lowest" or len(best) == 1:
            assert result.labels[i] == best[0]
        else:
            tied_winners.append(best.index(result.labels[i]))
    if ties == "random":
        assert len(tied_winners) > 50
        assert 0.3 < np.mean(tied_winners) < 0.7
        other = cc.aggregation.get("majority-vote", hard=True, ties=ties, seed=4).fit(crowd)
        assert (other.labels != result.labels).any()


def test_published_accuracies(data_folder):
    """LabelMe: majority vote with ties to the lowest class is right on 76.9 % of the tasks."""
    dataset = cc.load_dataset("labelme")
    labels = cc.aggregation.get("majority-vote").fit(dataset).labels
    annotated = dataset.annotated
    assert (labels == dataset.gold)[annotated].mean() == pytest.approx(0.769)
