"""Single cells, lists of mistakes and largest confusions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

import crowdcore as cc
from crowdcore.analysis import confusion_error, largest_confusions, mistake_cell, mistake_list, shared_mistakes
from crowdcore.core.errors import SettingError
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds


@given(crowds())
def test_cells_hold_their_annotations_workers_and_tasks(crowd):
    result = shared_mistakes(crowd)
    for a in range(crowd.n_classes):
        for b in range(crowd.n_classes):
            cell = mistake_cell(crowd, "gold", a, b)
            assert len(cell.workers) == result.workers[a, b]
            assert len(cell.tasks) == result.tasks[a, b]
            assert len(cell.annotations) == result.annotations[a, b]
            assert (crowd.label[cell.annotations] == b).all()
            assert (crowd.gold[crowd.task[cell.annotations]] == a).all()
            times = Counter(crowd.worker[cell.annotations].tolist())
            assert dict(zip(cell.workers.tolist(), cell.worker_times.tolist(), strict=True)) == times
            assert cell.worker_times.tolist() == sorted(times.values(), reverse=True)
            of_class = Counter(crowd.worker[crowd.gold[crowd.task] == a].tolist())
            assert cell.worker_labels.tolist() == [of_class[r] for r in cell.workers.tolist()]
            assert cell.task_times.sum() == len(cell.annotations)


def test_names_and_numbers_mean_the_same(data_folder):
    crowd = cc.load_dataset("labelme")
    by_name = mistake_cell(crowd, "gold", "street", "insidecity")
    by_number = mistake_cell(crowd, "gold", crowd.classes.index("street"), crowd.classes.index("insidecity"))
    assert len(by_name.workers) == 36
    np.testing.assert_array_equal(by_name.annotations, by_number.annotations)
    frame = by_name.frame()
    assert set(frame["worker"]) == set(crowd.worker_ids[by_name.workers])
    assert set(frame["true"]) == {"street"}


def test_a_soft_reference_counts_by_its_most_probable_class(crowd):
    vote = cc.aggregation.get("majority-vote").fit(crowd)
    cell = mistake_cell(crowd, "majority-vote", 0, 1)
    assert (vote.labels[cell.tasks] == 0).all()
    assert len(cell.annotations) == ((vote.labels[crowd.task] == 0) & (crowd.label == 1)).sum()


@pytest.mark.parametrize("which", ["no such", 4, -1])
def test_unknown_classes_are_refused(crowd, which):
    with pytest.raises(cc.SettingError, match="class 0"):
        mistake_cell(crowd, "gold", which, 0)


def test_the_list_holds_what_the_matrix_holds(crowd):
    matrix = shared_mistakes(crowd).frame().query("true != given and workers > 0")
    columns = ["true", "given", "percent", "workers", "tasks", "annotations"]
    keys = ["true", "given"]
    left = mistake_list(crowd)[columns].sort_values(keys, ignore_index=True)
    right = matrix[columns].sort_values(keys, ignore_index=True)
    assert left.astype({"workers": float, "tasks": float, "annotations": float}).equals(right)
    assert mistake_list(crowd)["workers"].is_monotonic_decreasing


def test_ten_thousand_classes_are_listed():
    frame = mistake_list(simulate_crowd(n_tasks=500, n_classes=10_000))
    assert len(frame) > 100
    assert (frame["true"] != frame["given"]).all()


CLASSES = ("cat", "dog", "fox", "owl")
COMMON = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.9, 0.0, 0.0], [0.0, 0.0, 0.6, 0.4], [0.0, 0.05, 0.0, 0.95]])


def test_the_planted_confusions_are_found_in_order():
    found = largest_confusions(COMMON, COMMON, CLASSES, n=3)
    assert found.recovered.tolist() == [[2, 3], [0, 1], [0, 2]]
    assert found.both == 3
    frame = found.frame()
    assert frame["true"].tolist() == ["fox", "cat", "cat"]
    assert frame["given"].tolist() == ["owl", "dog", "fox"]
    assert frame["recovered"].tolist() == [0.4, 0.3, 0.2]


def test_the_overlap_counts_cells_and_not_their_order():
    observed = COMMON.copy()
    observed[3] = [0.5, 0.0, 0.0, 0.5]  # owl -> cat, which the model does not have
    observed[0] = [0.6, 0.1, 0.3, 0.0]
    found = largest_confusions(COMMON, observed, CLASSES, n=3)
    assert found.observed.tolist() == [[3, 0], [2, 3], [0, 2]]
    assert found.both == 2


def test_classes_without_labels_and_perfect_workers_have_no_confusions():
    observed = np.full((4, 4), np.nan)
    observed[0] = [0.9, 0.1, 0, 0]
    found = largest_confusions(np.eye(4), observed, CLASSES)
    assert found.recovered.shape == (0, 2)
    assert found.observed.tolist() == [[0, 1]]
    assert found.both == 0
    assert found.frame().empty


def test_errors_equal_loops():
    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(4), (2, 5, 4))
    a[1, 2], b[3] = np.nan, np.nan
    found = confusion_error(a, b)
    for r in range(5):
        rows = [sum((a[r, c] - b[r, c]) ** 2) for c in range(4) if not np.isnan(a[r, c] + b[r, c]).any()]
        assert np.isnan(found[r]) if r == 3 else found[r] == pytest.approx(np.mean(rows))


def test_refusals():
    with pytest.raises(SettingError, match="`recovered`"):
        largest_confusions(np.eye(3), np.eye(4), CLASSES)
