"""The summary: published figures, loops, and datasets without gold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import crowdcore as cc
from crowdcore.analysis import summary
from crowdcore.analysis.labels.votes import majority_labels, sparse_votes
from tests.analysis.crowds import crowds, make_crowd


@pytest.mark.parametrize(
    ("name", "workers", "annotations", "annotated", "mean_accuracy"),
    [("labelme", 59, 2547, 1000, 69.16), ("music", 44, 2945, 700, 73.28)],
)
def test_published_figures(data_folder, name, workers, annotations, annotated, mean_accuracy):
    found = summary(cc.load_dataset(name))
    assert (found.n_workers, found.n_annotations, found.n_annotated) == (workers, annotations, annotated)
    assert round(100 * found.worker_accuracy, 2) == mean_accuracy
    assert found.reference == "gold"


def test_published_majority_vote(data_folder):
    assert round(100 * summary(cc.load_dataset("labelme")).majority_vote_accuracy, 1) == 76.9


@given(crowds(min_classes=2))
def test_summary_is_that_of_loops(crowd):
    found = summary(crowd, "gold")
    known = crowd.gold[crowd.task] >= 0
    accuracies = [
        (crowd.label == crowd.gold[crowd.task])[known & (crowd.worker == r)].mean()
        for r in range(crowd.n_workers)
        if (known & (crowd.worker == r)).any()
    ]
    assert found.worker_accuracy == pytest.approx(np.mean(accuracies))
    hits = []
    for i in range(crowd.n_tasks):
        labels = crowd.label[crowd.task == i]
        if len(labels) and crowd.gold[i] >= 0:
            hits.append(np.bincount(labels).argmax() == crowd.gold[i])
    assert found.majority_vote_accuracy == pytest.approx(np.mean(hits))
    assert found.n_repeats == crowd.n_annotations - len(set(zip(crowd.task, crowd.worker, strict=True)))
    assert found.tasks_by_annotations @ np.arange(len(found.tasks_by_annotations)) == crowd.n_annotations
    assert found.tasks_by_annotations.sum() == crowd.n_tasks
    assert found.n_active == len(set(crowd.worker))


@given(crowds(min_classes=1))
def test_majority_labels_are_the_lowest_of_the_most_frequent(crowd):
    labels = majority_labels(sparse_votes(crowd))
    for i in range(crowd.n_tasks):
        mine = crowd.label[crowd.task == i]
        assert labels[i] == (np.bincount(mine).argmax() if len(mine) else -1)


def test_without_gold_a_model_is_the_reference(crowd):
    bare = make_crowd(crowd.task, crowd.worker, crowd.label, crowd.n_tasks, crowd.n_workers, crowd.n_classes)
    found = summary(bare)
    assert found.reference == "auto"
    assert found.n_gold == 0
    assert np.isnan(summary(bare, "majority-vote").majority_vote_accuracy)
    frame = found.frame()
    assert frame.loc[frame["quantity"] == "annotations", "value"].item() == bare.n_annotations


def test_an_empty_dataset_is_refused():
    with pytest.raises(cc.DataError, match="no annotations"):
        summary(make_crowd([], [], [], 3, 2, 2))
