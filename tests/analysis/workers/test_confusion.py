"""Confusions as counted and as shrunken."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import crowdcore as cc
from crowdcore.analysis import shrunken_confusion, spread_of_workers, worker_confusion, worker_distance
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference


@given(crowds())
def test_counts_are_literal_and_rows_are_their_shares(crowd):
    result = worker_confusion(crowd, "gold")
    counts = np.zeros((crowd.n_workers, crowd.n_classes, crowd.n_classes))
    for task, worker, label in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        if crowd.gold[task] >= 0:
            counts[worker, crowd.gold[task], label] += 1
    np.testing.assert_array_equal(result.counts, counts)
    for r in range(crowd.n_workers):
        for a in range(crowd.n_classes):
            if counts[r, a].sum() == 0:
                assert np.isnan(result.matrices[r, a]).all()
            else:
                np.testing.assert_allclose(result.matrices[r, a], counts[r, a] / counts[r, a].sum())
    np.testing.assert_array_equal(result.evidence, counts.sum(2))
    np.testing.assert_array_equal(result.crowd_counts, counts.sum(0))


@given(crowds())
def test_soft_counts_add_the_posterior(crowd):
    reference = soft_reference(crowd)
    counts = np.zeros((crowd.n_workers, crowd.n_classes, crowd.n_classes))
    for task, worker, label in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        counts[worker, :, label] += np.nan_to_num(reference.posterior[task])
    result = worker_confusion(crowd, reference)
    np.testing.assert_allclose(result.counts, counts, atol=1e-12)
    assert result.reference == "soft"


def test_the_frame_holds_the_cells_with_annotations():
    crowd = make_crowd([0, 1, 2], [0, 0, 1], [0, 1, 1], 3, 2, 2, gold=np.array([0, 0, 1]))
    frame = worker_confusion(crowd).frame()
    assert frame.to_dict("list") == {
        "worker": ["w0", "w0", "w1"],
        "true": ["class 0", "class 0", "class 1"],
        "given": ["class 0", "class 1", "class 1"],
        "count": [1.0, 1.0, 1.0],
        "share": [0.5, 0.5, 1.0],
    }


def test_too_large_is_refused_before_allocating():
    crowd = CrowdDataset(
        "wide",
        tuple(map(str, range(10_000))),
        pd.Index(["t"]),
        pd.Index([f"w{r}" for r in range(500)]),
        np.array([0]),
        np.array([0]),
        np.array([0]),
        gold=np.array([0]),
    )
    with pytest.raises(cc.DataError, match="10,000 classes"):
        worker_confusion(crowd)
    refuse_beyond(1, "Little", "")


def test_labelme_street_row_of_the_crowd(data_folder):
    crowd = cc.load_dataset("labelme")
    result = worker_confusion(crowd, "gold")
    street, insidecity = crowd.classes.index("street"), crowd.classes.index("insidecity")
    said = (crowd.gold[crowd.task] == street) & (crowd.label == insidecity)
    assert len(set(crowd.worker[said])) == (result.counts[:, street, insidecity] > 0).sum() == 36
    np.testing.assert_allclose(np.nansum(result.crowd, axis=1), 1.0)


def rows_of(counts, n_classes=2):
    """A crowd whose workers gave these counts of labels to tasks of class 0, and one label right of class 1."""
    worker, label = [], []
    for r, row in enumerate(counts):
        worker += [r] * sum(row)
        label += np.repeat(np.arange(n_classes), row).tolist()
    gold = np.zeros(len(label) + 1, int)
    gold[-1] = 1
    task = np.arange(len(gold))
    return make_crowd(task, [*worker, 0], [*label, 1], len(gold), len(counts), n_classes, gold)


def test_the_moments_by_hand():
    # three workers, 4, 2 and 2 labels, shares of class 0: 1, .5, 0; the crowd's: 5 / 8
    confusion = worker_confusion(rows_of([[4, 0], [1, 1], [0, 2]]))
    between = 2 * (4 * (3 / 8) ** 2 + 2 * (1 / 8) ** 2 + 2 * (5 / 8) ** 2) / 2
    within = 2 * (2 * 0.25) / (3 + 1 + 1)
    per_worker = (8 - (16 + 4 + 4) / 8) / 2
    rho = (between - within) / (between + (per_worker - 1) * within)
    assert spread_of_workers(confusion) == pytest.approx([rho, 0])
    kappa = (1 - rho) / rho
    expected = [[(4 + kappa * 5 / 8) / (4 + kappa), (kappa * 3 / 8) / (4 + kappa)], [0, 1]]
    np.testing.assert_allclose(shrunken_confusion(confusion)[0], expected)


@given(crowd=crowds(), soft=st.booleans())
def test_rows_are_probabilities_between_the_workers_and_the_crowds(crowd, soft):
    confusion = worker_confusion(crowd, soft_reference(crowd) if soft else "gold")
    spread, shrunken = spread_of_workers(confusion), shrunken_confusion(confusion)
    assert ((spread >= 0) & (spread <= 1)).all()
    labelled = confusion.evidence.sum(0) > 0
    np.testing.assert_allclose(shrunken.sum(2), np.broadcast_to(labelled, shrunken.shape[:2]), atol=1e-9)
    own, crowds_row = np.nan_to_num(confusion.matrices), np.nan_to_num(confusion.crowd)
    own = np.where(confusion.evidenced[..., None], own, crowds_row)
    assert (shrunken >= np.minimum(own, crowds_row) - 1e-9).all()
    assert (shrunken <= np.maximum(own, crowds_row) + 1e-9).all()


def planted(spread, seed=0, workers=200, labels=60):
    """Counts of class 0 by workers whose rows are drawn from a Dirichlet distribution with that spread."""
    rng = np.random.default_rng(seed)
    mean = np.array([0.6, 0.3, 0.1])
    rows = rng.dirichlet(mean * (1 - spread) / spread, workers) if spread else np.tile(mean, (workers, 1))
    volume = np.maximum(rng.poisson(rng.exponential(labels, workers)), 1)
    return [rng.multinomial(n, row) for n, row in zip(volume, rows, strict=True)]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.2, 0.6])
def test_a_planted_spread_is_found(spread):
    found = [spread_of_workers(worker_confusion(rows_of(planted(spread, seed), 3)))[0] for seed in range(5)]
    assert np.mean(found) == pytest.approx(spread, abs=0.03)


def test_far_from_the_crowd_is_who_errs_differently_not_who_labelled_little():
    # 30 honest workers, of whom ten gave 3 labels, and two who call class 0 class 1
    rng = np.random.default_rng(0)
    volume = np.r_[np.full(20, 120), np.full(10, 3), 80, 80]
    worker = np.repeat(np.arange(32), volume)
    gold = rng.integers(4, size=len(worker))
    label = np.where(rng.random(len(worker)) < 0.75, gold, (gold + rng.integers(1, 4, len(worker))) % 4)
    label[(worker >= 30) & (gold == 0)] = 1
    crowd = make_crowd(np.arange(len(worker)), worker, label, len(worker), 32, 4, gold)
    shrunken, plain = (worker_distance(crowd, kind=kind).matrix.mean(1) for kind in ("shrunken-mse", "mse"))
    assert set(np.argsort(shrunken)[-2:]) == {30, 31}
    assert (volume[np.argsort(plain)[-4:-1]] == 3).all()


def test_workers_who_differ_by_chance_alone_are_at_no_distance():
    crowd = simulate_crowd(n_tasks=40, per_task=1, accuracy=1.0)
    assert not worker_distance(crowd, kind="shrunken-mse").matrix.any()
