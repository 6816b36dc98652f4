"""Distances between workers, their speed and their lean."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import jensenshannon

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import (
    WorkerDistance,
    confusion_distance,
    order_workers,
    shrunken_confusion,
    worker_confusion,
    worker_distance,
    worker_distance as distance_of,
)
from crowdcore.analysis.workers.speed import answer_times
from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import verdicts, view, workers
from testkit.crowds import simulate_crowd
from testkit.planted import HONEST, honest_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference

KINDS = ("shrunken-mse", "mse", "shared-mse", "jensen-shannon")


def literal(confusion, kind, r, s):
    """One distance, straight from its definition."""
    n_classes = len(confusion.classes)
    x, y = confusion.matrices[r], confusion.matrices[s]
    shared = [a for a in range(n_classes) if not np.isnan(x[a, 0]) and not np.isnan(y[a, 0])]
    if r == s:
        return 0.0
    if kind == "shrunken-mse":
        x, y = shrunken_confusion(confusion)[[r, s]]
    if kind in ("mse", "shrunken-mse"):
        return np.mean((np.nan_to_num(x) - np.nan_to_num(y)) ** 2)
    if not shared:
        return np.nan
    if kind == "shared-mse":
        return np.mean((x[shared] - y[shared]) ** 2)
    n, k = confusion.evidence[r, shared], confusion.evidence[s, shared]
    with np.errstate(invalid="ignore"):  # SciPy takes the root of -1e-17
        rows = [np.nan_to_num(jensenshannon(x[a], y[a], base=2)) for a in shared]
    return np.average(rows, weights=n * k / (n + k))


@pytest.mark.parametrize("kind", KINDS)
@given(crowd=crowds(), soft=st.booleans())
def test_every_distance_is_that_of_its_definition(kind, crowd, soft):
    confusion = worker_confusion(crowd, soft_reference(crowd) if soft else "gold")
    result = confusion_distance(confusion, kind)
    pairs = range(crowd.n_workers)
    expected = [[literal(confusion, kind, r, s) for s in pairs] for r in pairs]
    # The root in Jensen-Shannon turns rounding of 1e-16 into 1e-8.
    np.testing.assert_allclose(result.matrix, expected, atol=2e-7 if kind == "jensen-shannon" else 1e-12)
    np.testing.assert_array_equal(result.matrix, result.matrix.T)
    np.testing.assert_array_equal(np.diag(result.matrix), 0)
    known = confusion.evidenced
    np.testing.assert_array_equal(result.overlap, [[(known[r] & known[s]).sum() for s in pairs] for r in pairs])
    assert (result.matrix[~np.isnan(result.matrix)] >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_show(kind, monkeypatch):
    crowd = simulate_crowd(n_workers=11)
    whole = worker_distance(crowd, kind=kind).matrix
    monkeypatch.setattr(sys.modules["crowdcore.analysis.workers.distance"], "_BLOCK", 3)
    np.testing.assert_allclose(worker_distance(crowd, kind=kind).matrix, whole, atol=1e-8)


def test_rows_without_evidence_are_zero_for_mse_only():
    # w0 knows class 0 only, w1 class 1 only: nothing is shared
    crowd = make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2, gold=np.array([0, 1]))
    assert worker_distance(crowd, kind="mse").matrix[0, 1] == pytest.approx(0.5)
    assert np.isnan(worker_distance(crowd, kind="shared-mse").matrix[0, 1])
    assert np.isnan(worker_distance(crowd, kind="jensen-shannon").matrix[0, 1])
    assert worker_distance(crowd).overlap[0, 1] == 0
    frame = worker_distance(crowd).frame()
    assert frame.to_dict("records") == [{"worker_a": "w0", "worker_b": "w1", "distance": 0.5, "shared_rows": 0}]


def test_refusals():
    with pytest.raises(cc.SettingError, match="`kind`"):
        distance_of(simulate_crowd(), kind="euclid")


def distances(matrix) -> WorkerDistance:
    matrix = np.asarray(matrix, float)
    n = len(matrix)
    return WorkerDistance(
        matrix, np.zeros((n, n), np.int32), "mse", pd.Index([f"w{r}" for r in range(n)]), ("a", "b"), "gold"
    )


def between(points) -> WorkerDistance:
    points = np.asarray(points, float).reshape(len(points), -1)
    return distances(np.sqrt(((points[:, None] - points[None]) ** 2).sum(2)))


def all_orders(tree, n):
    """Every order of the leaves that flips of the tree's merges can make."""
    for flips in product((False, True), repeat=n - 1):
        members = {r: [r] for r in range(n)}
        for k, flip in enumerate(flips):
            a, b = (members[int(c)] for c in tree[k, :2])
            members[n + k] = b + a if flip else a + b
        yield members[2 * n - 2]


@given(st.integers(2, 7), st.integers(0, 1000))
def test_no_order_of_the_leaves_is_shorter(n, seed):
    tree = between(np.random.default_rng(seed).random((n, 2)))
    result = order_workers(tree)

    def length(order):
        return sum(tree.matrix[a, b] for a, b in pairwise(order))

    best = min(length(order) for order in all_orders(result.linkage, n))
    assert length(result.order) == pytest.approx(best)
    assert sorted(result.order) == list(range(n))


def test_planted_groups_are_found_and_contiguous():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat([0, 1, 2], [10, 6, 4]))
    result = order_workers(between(np.array([[0, 0], [6, 0], [3, 5]])[group] + rng.normal(0, 0.3, (20, 2))))
    assert result.n_groups == 3
    assert len({(a, b) for a, b in zip(group, result.groups, strict=True)}) == 3
    along = result.groups[result.order]
    assert (np.diff(along) >= 0).all() and along[0] == 0
    assert result.method.endswith("above its sides")


@pytest.mark.parametrize(("apart", "told"), [(20.5, True), (40.0, False)])
def test_another_number_of_groups_that_is_nearly_as_clear_is_told(apart, told):
    # four pairs of twins; the halves stand about as far above the pairs as these above the twins, or much farther
    points = [x + twin for x in (0.0, 10.0, apart, apart + 10.0) for twin in (0.0, 0.1)]
    result = order_workers(between(points))
    assert result.n_groups == 2
    assert ("a cut into 4 is nearly as clear" in result.method) == told
    assert "nearly as clear" not in order_workers(between(points), 2).method


@given(st.integers(1, 12), st.data())
def test_asked_for_groups_are_given(n, data):
    k = data.draw(st.integers(1, n))
    result = order_workers(between(np.random.default_rng(n).random((n, 3))), k)
    assert result.n_groups == k
    assert sorted(set(result.groups)) == list(range(k))


def test_an_outlier_is_no_group():
    points = np.concatenate([np.linspace(0, 1, 8), np.linspace(3, 4, 8), [90]])
    result = order_workers(between(points))
    assert sorted(np.bincount(result.groups)) == [1, 8, 8]


def test_the_order_of_the_workers_does_not_matter():
    rng = np.random.default_rng(3)
    points, places = rng.random((15, 2)), rng.permutation(15)
    before, after = order_workers(between(points), 4), order_workers(between(points[places]), 4)
    together = before.groups[:, None] == before.groups
    np.testing.assert_array_equal(together[np.ix_(places, places)], after.groups[:, None] == after.groups)


def test_unknown_distances_take_the_mean_of_their_workers():
    matrix = np.array([[0, 1, np.nan], [1, 0, 3], [np.nan, 3, 0]])
    filled = matrix.copy()
    filled[0, 2] = filled[2, 0] = (1 + 3) / 2
    result, expected = order_workers(distances(matrix), 2), order_workers(distances(filled), 2)
    np.testing.assert_array_equal(result.linkage, expected.linkage)
    assert "1 unknown distances" in result.method
    nothing = order_workers(distances(np.where(np.eye(3), 0, np.nan)))
    assert sorted(nothing.order) == [0, 1, 2]


def test_many_workers_keep_the_trees_own_order(monkeypatch):
    monkeypatch.setattr("crowdcore.analysis.workers.distance.MOST_OPTIMAL", 5)
    result = order_workers(between(np.random.default_rng(0).random((8, 2))), 2)
    assert "up to 5 workers" in result.method
    assert sorted(result.order) == list(range(8))
    assert (np.diff(result.groups[result.order]) >= 0).all()


def test_one_worker_is_a_group():
    result = order_workers(distances([[0]]))
    assert list(result.order) == [0] and result.n_groups == 1
    assert result.frame().to_dict("records") == [{"worker": "w0", "position": 0, "group": 0}]


def test_order_refusals():
    with pytest.raises(cc.SettingError, match="`n_groups`"):
        order_workers(distances(np.zeros((3, 3))), 4)


HASTY, TIRED = 0, 1
FASTER_BY_CHANCE = 90048
"""Seed of an honest crowd with a worker whose change of speed has p between 0.025 and 0.05 over all workers."""


def timed(seed: int, planted: bool) -> CrowdDataset:
    """Log-normal seconds by worker and task; one worker clicks through half of the tasks, one slows down."""
    ds, rng = honest_crowd(seed, n_tasks=300, even=True), np.random.default_rng([seed, 2])
    log = 2 + rng.normal(0, 0.4, ds.n_workers)[ds.worker] + rng.normal(0, 0.5, ds.n_tasks)[ds.task]
    log += rng.normal(0, 0.4, len(log))
    moment = np.arange(len(log))[rng.permutation(len(log))]
    if planted:
        log = np.where((ds.worker == HASTY) & (rng.random(len(log)) < 0.5), -2, log)
        log = np.where((ds.worker == TIRED) & (moment > len(log) / 2), log + 1, log)
    return replace(ds, extra=pd.DataFrame({"seconds": np.exp(log), "timestamp": moment}))


def test_hasty_and_slowing_workers_are_named() -> None:
    speed = analysis.worker_speed(timed(0, planted=True))
    assert np.flatnonzero(speed.too_fast).tolist() == [HASTY]
    assert speed.change.adjusted[TIRED] <= 0.05
    frame = speed.frame().set_index("worker")
    assert 2 < frame["seconds then ×"].iloc[TIRED] < 4


def test_honest_workers_are_not() -> None:
    named = [analysis.worker_speed(timed(seed, planted=False)) for seed in range(20)]
    assert not any(found.too_fast.any() for found in named)
    assert sum(bool((found.change.adjusted <= 0.05).any()) for found in named) <= 3


def test_a_change_that_half_the_level_does_not_find_is_not_told() -> None:
    crowd = honest_crowd(FASTER_BY_CHANCE, **HONEST["4 classes, dense"])
    speed = analysis.worker_speed(crowd)
    worker = int(np.nanargmin(speed.change.adjusted))
    assert 0.025 < speed.change.adjusted[worker] <= 0.05
    assert speed.frame()["changed after"].isna().all()
    assert analysis.worker_speed_over_time(crowd, worker=worker).change == -1


def in_sessions(seed: int, apart: float, planted: bool) -> CrowdDataset:
    """Twenty answers a day; every day of a worker has a speed of its own, and one worker slows down for good."""
    ds, rng = honest_crowd(seed, n_tasks=600, even=True), np.random.default_rng([seed, 3])
    log, moment = 2 + rng.normal(0, 0.4, len(ds.label)), np.empty(len(ds.label))
    for worker in range(ds.n_workers):
        rows = rng.permutation(np.flatnonzero(ds.worker == worker))
        day = np.arange(len(rows)) // 20
        moment[rows] = 20 * np.arange(len(rows)) + 86_400 * day
        log[rows] += rng.normal(0, apart, day.max() + 1)[day]
        log[rows] += planted * (worker == TIRED) * (day > day.max() / 2)
    return replace(ds, extra=pd.DataFrame({"seconds": np.exp(log), "timestamp": moment}))


def test_days_of_different_speed_are_no_change() -> None:
    named = [analysis.worker_speed(in_sessions(seed, apart=0.2, planted=False)) for seed in range(10)]
    assert sum(bool((speed.change.adjusted <= 0.05).any()) for speed in named) <= 1
    for seed in range(3):
        speed = analysis.worker_speed(in_sessions(seed, apart=0.1, planted=True))
        assert np.flatnonzero(speed.change.adjusted <= 0.05).tolist() == [TIRED]


def test_milliseconds_since_1970_are_not_taken_for_seconds() -> None:
    votes = timed(3, planted=False)
    moment = 1_700_000_000 + 20 * votes.extra["timestamp"]
    seconds, thousandths = (
        answer_times(replace(votes, extra=pd.DataFrame({"timestamp": unit * moment}))) for unit in (1, 1000)
    )
    assert thousandths.first == seconds.first < len(moment) / 2
    np.testing.assert_array_equal(thousandths.seconds, seconds.seconds)


def test_an_answer_is_compared_with_its_task() -> None:
    ds = honest_crowd(0, n_tasks=40, n_workers=6, per_task=6, even=True)
    seconds = np.where(ds.task < 20, 5.0, 100.0) * np.where(ds.worker == 2, 0.19, 1.0)
    speed = analysis.worker_speed(replace(ds, extra=pd.DataFrame({"seconds": seconds})))
    assert speed.too_fast.tolist() == [False, False, True, False, False, False]
    np.testing.assert_allclose(speed.relative, np.where(np.arange(6) == 2, 0.19, 1.0))
    assert speed.change is None


def test_speed_over_time_is_that_of_the_answers_counted_by_hand() -> None:
    votes = timed(3, planted=True)
    blocks = analysis.worker_speed_over_time(votes, worker=TIRED, n_blocks=4)
    log, when = np.log(votes.extra["seconds"].to_numpy()), votes.extra["timestamp"].to_numpy()
    own = sorted(np.flatnonzero(votes.worker == TIRED), key=lambda row: when[row])
    ratio = []
    for row in own:
        others = (votes.task == votes.task[row]) & (np.arange(len(log)) != row)
        if others.any():
            ratio.append((np.exp(log[row] - log[others].mean()), np.exp(log[row])))
    parts = np.array_split(np.array(ratio), 4)
    np.testing.assert_allclose(blocks.ratio, [np.exp(np.median(np.log(part[:, 0]))) for part in parts])
    np.testing.assert_allclose(blocks.seconds, [np.median(part[:, 1]) for part in parts])
    assert blocks.last[-1] == len(ratio)
    assert abs(blocks.change - len(ratio) / 2) < len(ratio) / 6
    assert 2 < blocks.after / blocks.before < 4
    assert (blocks.low <= blocks.ratio).all()
    assert (blocks.ratio <= blocks.high).all()


def test_without_times_there_is_no_speed_over_time_and_a_steady_worker_has_no_change() -> None:
    votes = timed(1, planted=False)
    assert analysis.worker_speed_over_time(votes, worker=3).change == -1
    assert np.isnan(analysis.worker_speed_over_time(votes, worker=3).after)
    assert analysis.worker_speed_over_time(replace(votes, extra=votes.extra[["seconds"]]), worker=3) is None
    rounded = votes.extra[["timestamp"]] // 60 * 60
    assert analysis.worker_speed_over_time(replace(votes, extra=rounded), worker=3) is None
    gaps = analysis.worker_speed_over_time(replace(votes, extra=votes.extra[["timestamp"]]), worker=3)
    assert gaps is not None
    assert gaps.change == -1
    unlabelled = votes.where(votes.worker != 3)
    assert analysis.worker_speed_over_time(unlabelled, worker=3) is None


def graders(
    seed: int, sd: float, n_tasks: int = 300, n_workers: int = 20, each: int = 6
) -> tuple[CrowdDataset, np.ndarray]:
    """Five ordered classes by thresholds, workers shifted by a normal lean and noisy; and the leans in classes."""
    rng, (n_tasks, n_workers, each) = np.random.default_rng(seed), (300, 20, 6)
    z, lean = rng.normal(0, 1.3, n_tasks), rng.normal(0, sd, n_workers)
    worker = np.argsort(rng.random((n_tasks, n_workers)), 1)[:, :each].ravel()
    task = np.repeat(np.arange(n_tasks), each)
    ends = np.array([-1.5, -0.5, 0.5, 1.5])
    label = np.searchsorted(ends, z[task] + lean[worker] + 0.6 * rng.normal(size=len(task)))
    ids = [pd.RangeIndex(n).astype(str) for n in (n_tasks, n_workers)]
    gold = np.searchsorted(ends, z).astype(np.int32)
    return CrowdDataset("grades", tuple("12345"), *ids, task, worker, label.astype(np.int32), gold=gold), lean


def test_the_planted_leans_are_found_with_their_size() -> None:
    for seed in range(5):
        crowd, lean = graders(seed, 0.6)
        worker_lean = analysis.worker_lean(crowd)
        assert np.corrcoef(worker_lean.shift, lean)[0, 1] > 0.95
        strict = worker_lean.leans & (np.abs(lean - lean.mean()) > 0.3)
        assert (np.sign(worker_lean.shift[strict]) == np.sign(lean - lean.mean())[strict]).all()
        assert worker_lean.leans[np.abs(lean - lean.mean()) > 0.7].all()


def test_nobody_without_a_lean_is_called_strict_and_intervals_hold_it() -> None:
    leans = [analysis.worker_lean(graders(seed, 0.0)[0]) for seed in range(40)]
    assert sum(one.leans.any() for one in leans) <= 3
    assert 0.93 < np.mean([((one.low <= 0) & (one.high >= 0)).mean() for one in leans]) < 0.97


def test_corrected_labels_are_nearer_to_gold() -> None:
    crowd, _ = graders(3, 0.9)
    mended = analysis.without_lean(crowd)
    before, after = (np.abs(of.label - of.gold[of.task]).mean() for of in (crowd, mended))
    assert after < 0.9 * before
    listed = workers.corrected_labels(view(crowd)).table
    assert len(listed) == (mended.label != crowd.label).sum() > 50
    assert "task" not in workers.corrected_labels(view(replace(crowd, classes=tuple("abcde")))).table
    still = ~analysis.worker_lean(crowd).leans[crowd.worker]
    np.testing.assert_array_equal(mended.label[still], crowd.label[still])


def test_the_order_is_that_of_the_numbers() -> None:
    crowd, _ = graders(1, 0.6)
    turned = replace(crowd, classes=tuple("54321"), label=4 - crowd.label, gold=4 - crowd.gold)
    np.testing.assert_allclose(analysis.worker_lean(turned).shift, analysis.worker_lean(crowd).shift)
    with pytest.raises(DataError):
        analysis.worker_lean(replace(crowd, classes=tuple("abcde")))


def test_the_sentence_of_a_worker_says_it_and_accuses_nobody_for_it() -> None:
    crowd, lean = graders(2, 0.6)
    table = verdicts.worker_verdicts(view(crowd, "gold")).table
    strict = int(np.argmin(lean))
    assert f"Strict by {-analysis.worker_lean(crowd).shift[strict]:.1f} grades" in table["reason"][strict]
    assert "remove" not in set(table["verdict"])
    assert not table["reason"].sort_index().str.contains("Strict|Lenient")[np.abs(lean) < 0.05].any()
