"""Zero-based skill against crowd-kit, and where it comes to rest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from testkit.crowds import simulate_crowd


@pytest.mark.parametrize("name", ["labelme", "bluebird"])
@pytest.mark.filterwarnings("ignore")
def test_equals_crowd_kit_where_ties_go_to_the_lowest_class(data_folder, name):
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    frame = pd.DataFrame({"task": dataset.task, "worker": dataset.worker, "label": dataset.label})
    theirs = kit.ZeroBasedSkill(n_iter=30).fit(frame).skills_  # its predict() fails under scikit-learn 1.9
    probas = kit.MajorityVote().fit(frame, skills=theirs).probas_.sort_index()
    ours = cc.aggregation.get("zero-based-skill", ties="lowest", max_iterations=30).fit(dataset)
    np.testing.assert_allclose(ours.worker_weight, theirs.sort_index(), rtol=1e-9)
    np.testing.assert_allclose(ours.posterior[probas.index], probas, atol=1e-9)


def test_rests_where_weights_equal_agreement_with_the_weighted_vote():
    crowd = simulate_crowd(200, 10, 4, per_task=5, accuracy=0.6, seed=2)
    result = cc.aggregation.get("zero-based-skill").fit(crowd)
    assert result.converged and "no weight moved" in result.stopped
    agreement = [(result.labels[crowd.task] == crowd.label)[crowd.worker == r].mean() for r in range(10)]
    np.testing.assert_allclose(result.worker_weight, agreement, atol=1e-9)


def test_reduced_steps_are_taken_literally_and_the_cap_is_named():
    crowd = simulate_crowd(60, 6, 3, per_task=3, accuracy=0.6)
    settings = {"learning_rate": 0.5, "reduce_every": 2, "reduce_factor": 0.1, "max_iterations": 3}
    result = cc.aggregation.get("zero-based-skill", ties="lowest", **settings).fit(crowd)
    weight = np.full(6, 1 / 3)
    for rate in (0.5, 0.05, 0.05):
        votes = np.zeros((60, 3))
        np.add.at(votes, (crowd.task, crowd.label), weight[crowd.worker])
        right = votes.argmax(1)[crowd.task] == crowd.label
        weight = weight + rate * (np.array([right[crowd.worker == r].mean() for r in range(6)]) - weight)
    np.testing.assert_allclose(result.worker_weight, weight, rtol=1e-12)
    assert result.converged is False and "3 updates" in result.stopped
