"""Shared mistakes, single cells, lists of mistakes and largest confusions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import crowdcore as cc
from crowdcore.analysis import confusion_error, largest_confusions, mistake_cell, mistake_list, shared_mistakes
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference


@pytest.mark.parametrize(
    ("name", "true", "given", "percent", "workers"),
    [
        ("labelme", "street", "insidecity", 61.017, 36),
        ("labelme", "opencountry", "forest", 44.068, 26),
        ("music", "metal", "rock", 63.636, 28),
        ("music", "disco", "pop", 38.636, 17),
    ],
)
def test_published_figures(data_folder, name, true, given, percent, workers):
    crowd = cc.load_dataset(name)
    result = shared_mistakes(crowd, "gold")
    cell = crowd.classes.index(true), crowd.classes.index(given)
    assert round(result.percent[cell], 3) == percent
    assert result.workers[cell] == workers
    assert result.q_value[cell] < 0.01
    assert benjamini_hochberg(result.p_workers)[cell] < 0.001


def literal(crowd, truth):
    """Workers, tasks and annotations behind each cell, by sets."""
    shape = (crowd.n_classes, crowd.n_classes)
    workers, tasks, annotations = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for a in range(crowd.n_classes):
        for b in range(crowd.n_classes):
            at = np.flatnonzero((truth[crowd.task] == a) & (crowd.label == b))
            workers[a, b], tasks[a, b] = len(set(crowd.worker[at])), len(set(crowd.task[at]))
            annotations[a, b] = len(at)
    return workers, tasks, annotations


@given(crowds())
def test_hard_counts_are_those_of_sets(crowd):
    result = shared_mistakes(crowd, "gold")
    workers, tasks, annotations = literal(crowd, crowd.gold)
    np.testing.assert_array_equal(result.workers, workers)
    np.testing.assert_array_equal(result.tasks, tasks)
    np.testing.assert_array_equal(result.annotations, annotations)
    np.testing.assert_allclose(result.percent, 100 * workers / crowd.n_workers)


def literal_soft(crowd, q):
    shape = (crowd.n_classes, crowd.n_classes)
    workers, tasks, annotations = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    known = ~np.isnan(q[:, 0])
    for a in range(crowd.n_classes):
        for b in range(crowd.n_classes):
            for r in range(crowd.n_workers):
                at = set(crowd.task[(crowd.worker == r) & (crowd.label == b)])
                workers[a, b] += 1 - np.prod([1 - q[i, a] for i in at if known[i]])
            got = [i for i, y in zip(crowd.task, crowd.label, strict=True) if y == b and known[i]]
            tasks[a, b] = sum(q[i, a] for i in set(got))
            annotations[a, b] = sum(q[i, a] for i in got)
    return workers, tasks, annotations


@given(crowds(max_classes=4), st.integers(0, 1000))
def test_soft_counts_are_expectations(crowd, seed):
    reference = soft_reference(crowd, seed)
    result = shared_mistakes(crowd, reference)
    for by_pair, expected in zip(
        (result.workers, result.tasks, result.annotations), literal_soft(crowd, reference.posterior), strict=True
    ):
        np.testing.assert_allclose(by_pair, expected, atol=1e-12)


def test_a_certain_posterior_gives_the_hard_counts(crowd):
    certain = cc.analysis.Reference("sure", crowd.gold, np.eye(crowd.n_classes)[crowd.gold])
    soft, hard = shared_mistakes(crowd, certain), shared_mistakes(crowd, "gold")
    np.testing.assert_allclose(soft.percent, hard.percent)
    np.testing.assert_allclose(soft.tasks, hard.tasks)
    np.testing.assert_array_equal(soft.p_value, hard.p_value)


def test_bootstrap_has_the_distribution_of_resampled_workers():
    """For a hard reference the number of workers in a cell under resampling is binomial: known exactly."""
    from scipy.stats import binom

    crowd = simulate_crowd(n_workers=40, accuracy=0.85, seed=3)
    result = shared_mistakes(crowd, n_resamples=4000)
    inside = (result.workers > 0) & (result.workers < 40)
    share = result.percent[inside] / 100
    for end, probability in ((result.low, 0.025), (result.high, 0.975)):
        np.testing.assert_allclose(end[inside], 100 / 40 * binom.ppf(probability, 40, share), atol=100 / 40)
    assert (result.low <= result.percent).all()
    assert (result.high >= result.percent).all()


def test_bootstrap_of_soft_counts_against_resampled_datasets():
    crowd = simulate_crowd(n_tasks=40, n_workers=10, n_classes=3, seed=5)
    reference = soft_reference(crowd)
    result = shared_mistakes(crowd, reference, n_resamples=3000, level=0.9)
    alone = np.stack(
        [
            shared_mistakes(crowd.where(crowd.worker == r), reference, significance=False).workers
            for r in range(crowd.n_workers)
        ]
    )
    rng = np.random.default_rng(7)
    drawn = np.stack([alone[rng.integers(10, size=10)].sum(0) * 10 for _ in range(3000)])
    np.testing.assert_allclose(result.low, np.quantile(drawn, 0.05, axis=0), atol=3)
    np.testing.assert_allclose(result.high, np.quantile(drawn, 0.95, axis=0), atol=3)


def test_empty_and_full_cells_have_exact_limits():
    crowd = make_crowd([0, 0, 0, 1], [0, 1, 2, 0], [1, 1, 1, 1], 2, 3, 3, gold=np.array([0, 1]))
    result = shared_mistakes(crowd, n_resamples=50)
    assert result.percent[0, 1] == 100
    assert result.low[0, 1] == pytest.approx(100 * 0.025 ** (1 / 3))
    assert result.high[0, 1] == 100
    assert result.low[0, 2] == 0
    assert result.high[0, 2] == pytest.approx(100 * (1 - 0.025 ** (1 / 3)))


def test_same_seed_same_interval(crowd):
    first, second = (shared_mistakes(crowd, n_resamples=200, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.low, second.low)
    other = shared_mistakes(crowd, n_resamples=200, seed=5)
    assert not np.array_equal(first.high, other.high)


def test_two_classes_are_an_explained_state():
    result = shared_mistakes(simulate_crowd(n_classes=2))
    assert np.isnan(result.p_value).all()
    assert any("two classes" in note for note in result.notes)


def test_rows_that_cannot_be_tested_are_named():
    crowd = make_crowd([0, 1, 1], [0, 1, 2], [1, 0, 2], 2, 3, 3, gold=np.array([0, 1]))
    result = shared_mistakes(crowd)
    assert np.isnan(result.p_value[0]).all()
    assert not np.isnan(result.p_value[1]).all()
    assert any("class 0" in note and "Not tested" in note for note in result.notes)


def test_a_consensus_carries_its_caution(crowd):
    result = shared_mistakes(crowd, "majority-vote")
    assert result.reference == "majority-vote"
    assert any("'majority-vote'" in note for note in result.notes)
    assert not any("comes from" in note for note in shared_mistakes(crowd).notes)


def labels_each(seed: int, n: int) -> CrowdDataset:
    """Workers who err independently, n on each of 300 tasks, four classes, no gold."""
    rng = np.random.default_rng(seed)
    task, gold, right = np.repeat(np.arange(300), n), rng.integers(0, 4, 300), rng.uniform(0.55, 0.85, 20)
    worker = np.concatenate([rng.choice(20, n, replace=False) for _ in range(300)])
    own = rng.random(300 * n) < right[worker]
    label = np.where(own, gold[task], (gold[task] + rng.integers(1, 4, 300 * n)) % 4)
    ids = (pd.Index([f"{kind}{n}" for n in range(size)]) for kind, size in (("t", 300), ("w", 20)))
    return CrowdDataset("pairs", tuple("abcd"), *ids, task, worker, label, np.full(300, -1))


def test_a_model_that_overrules_votes_makes_no_shared_mistakes():
    mistakes = [shared_mistakes(labels_each(seed, 3), "dawid-skene") for seed in range(20)]
    assert sum(bool((result.q_value <= 0.05).any()) for result in mistakes) <= 1  # at most 5 %


def test_a_model_that_decides_tied_votes_makes_no_shared_mistakes_whatever_it_is_called():
    pairs = labels_each(0, 2)
    fit = cc.aggregation.get("dawid-skene").fit(pairs)
    for name in ("auto", "dawid-skene smoothing=0.5", "dawid-skene gold=20%", "crowd-kit:GLAD"):
        mistakes = shared_mistakes(pairs, cc.analysis.Reference(name, fit.labels, fit.posterior))
        assert not (mistakes.q_value <= 0.05).any()
        assert mistakes.annotations.sum() == pytest.approx(600)  # tied ones are counted, not tested
        assert any("overruled" in note for note in mistakes.notes)


def test_significance_can_be_left_out(crowd):
    result = shared_mistakes(crowd, significance=False)
    assert np.isnan(result.p_value).all()
    assert result.low is None


def test_frame_lists_every_cell_and_correct_labels_last(crowd):
    frame = shared_mistakes(crowd, n_resamples=20).frame()
    assert len(frame) == 16
    assert {"true", "given", "percent", "low", "high", "workers", "tasks", "annotations", "q_value"} <= set(frame)
    assert (frame["true"] == frame["given"]).tolist() == [False] * 12 + [True] * 4
    assert frame["percent"][:12].is_monotonic_decreasing


def test_too_many_classes_are_refused_with_a_way_out():
    with pytest.raises(cc.DataError, match="mistake_list"):
        shared_mistakes(simulate_crowd(n_classes=2001))


def test_tags_that_each_worker_misses_are_no_shared_mistake():
    crowd = cc.data.simulate.spans(shared_confusion=0, n_workers=20, careless=0)
    mistakes = shared_mistakes(crowd)
    assert np.isnan(mistakes.q_value).all()
    assert mistakes.null.startswith("Tags are not tested")


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
    confusions = largest_confusions(COMMON, COMMON, CLASSES, n=3)
    assert confusions.recovered.tolist() == [[2, 3], [0, 1], [0, 2]]
    assert confusions.both == 3
    frame = confusions.frame()
    assert frame["true"].tolist() == ["fox", "cat", "cat"]
    assert frame["given"].tolist() == ["owl", "dog", "fox"]
    assert frame["recovered"].tolist() == [0.4, 0.3, 0.2]


def test_the_overlap_counts_cells_and_not_their_order():
    observed = COMMON.copy()
    observed[3] = [0.5, 0.0, 0.0, 0.5]  # owl -> cat, which the model does not have
    observed[0] = [0.6, 0.1, 0.3, 0.0]
    confusions = largest_confusions(COMMON, observed, CLASSES, n=3)
    assert confusions.observed.tolist() == [[3, 0], [2, 3], [0, 2]]
    assert confusions.both == 2


def test_classes_without_labels_and_perfect_workers_have_no_confusions():
    observed = np.full((4, 4), np.nan)
    observed[0] = [0.9, 0.1, 0, 0]
    confusions = largest_confusions(np.eye(4), observed, CLASSES)
    assert confusions.recovered.shape == (0, 2)
    assert confusions.observed.tolist() == [[0, 1]]
    assert confusions.both == 0
    assert confusions.frame().empty


def test_errors_equal_loops():
    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(4), (2, 5, 4))
    a[1, 2], b[3] = np.nan, np.nan
    errors = confusion_error(a, b)
    for r in range(5):
        rows = [sum((a[r, c] - b[r, c]) ** 2) for c in range(4) if not np.isnan(a[r, c] + b[r, c]).any()]
        assert np.isnan(errors[r]) if r == 3 else errors[r] == pytest.approx(np.mean(rows))


def test_refusals():
    with pytest.raises(SettingError, match="`recovered`"):
        largest_confusions(np.eye(3), np.eye(4), CLASSES)
