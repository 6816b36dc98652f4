"""Worker clustering against its bound, spelt out, and on crowds made of clusters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.aggregation._statistics import held_out
from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd

SKILLED = np.array([[0.85, 0.1, 0.05], [0.05, 0.85, 0.1], [0.1, 0.05, 0.85]])
CONFUSED = np.array([[0.3, 0.65, 0.05], [0.05, 0.3, 0.65], [0.65, 0.05, 0.3]])


def clustered(n_tasks, seed, sizes=(8, 4), confusions=(SKILLED, CONFUSED)):
    """Workers of each cluster share its confusion; three classes, six labels a task."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    base = simulate_crowd(n_tasks, len(of), 3, per_task=6, seed=seed)
    row = np.array(confusions)[of[base.worker], base.gold[base.task]].cumsum(1)
    label = (rng.random(base.n_annotations)[:, None] > row[:, :-1]).sum(1)
    ids = base.task_ids, base.worker_ids
    return CrowdDataset("clustered", base.classes, *ids, base.task, base.worker, label, gold=base.gold), of


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


def test_clusters_and_their_confusions_are_recovered_at_the_rate_of_labels():
    sizes, errors = [200, 800, 3_200, 12_800], []
    for n in sizes:
        error = []
        for seed in range(3):
            crowd, of = clustered(n, seed)
            result = cc.aggregation.get("worker-clustering", clusters=2).fit(crowd)
            np.testing.assert_array_equal(result.group, of)
            error.append((result.common_confusion - [SKILLED, CONFUSED]) ** 2)
        errors.append(np.sqrt(np.mean(error)))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.15)


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


def test_choosing_needs_all_annotations_at_once(tmp_path):
    crowd = simulate_crowd(50, 5, 3)
    (tmp_path / "in").mkdir()
    crowd.annotations.astype(str).to_parquet(tmp_path / "in" / "part.parquet")
    with pytest.raises(SettingError, match="clusters"):
        cc.aggregation.fit_partitions(tmp_path / "in", cc.aggregation.get("worker-clustering"), tmp_path / "out")
