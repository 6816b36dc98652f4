"""Confusions of workers: literal counts, hard and soft; NaN without evidence; refusal before allocation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import crowdcore as cc
from crowdcore.analysis import worker_confusion
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.data.dataset import CrowdDataset
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
    with pytest.raises(cc.DataError, match=r"500 workers over 10,000 classes would need 745\.1 GiB"):
        worker_confusion(crowd)
    refuse_beyond(1, "Little", "")


def test_labelme_street_row_of_the_crowd(data_folder):
    crowd = cc.load_dataset("labelme")
    result = worker_confusion(crowd, "gold")
    street, insidecity = crowd.classes.index("street"), crowd.classes.index("insidecity")
    said = (crowd.gold[crowd.task] == street) & (crowd.label == insidecity)
    assert len(set(crowd.worker[said])) == (result.counts[:, street, insidecity] > 0).sum() == 36
    np.testing.assert_allclose(np.nansum(result.crowd, axis=1), 1.0)
