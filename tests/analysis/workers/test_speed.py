"""Too-fast answers and changes of speed: those that are planted are named, honest workers are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.workers.speed import answer_times
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import HONEST, honest_crowd

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
    found = analysis.worker_speed(timed(0, planted=True))
    assert np.flatnonzero(found.too_fast).tolist() == [HASTY]
    assert found.change.adjusted[TIRED] <= 0.05
    frame = found.frame().set_index("worker")
    assert 2 < frame["seconds then ×"].iloc[TIRED] < 4


def test_honest_workers_are_not() -> None:
    named = [analysis.worker_speed(timed(seed, planted=False)) for seed in range(20)]
    assert not any(found.too_fast.any() for found in named)
    assert sum(bool((found.change.adjusted <= 0.05).any()) for found in named) <= 3


def test_a_change_that_half_the_level_does_not_find_is_not_told() -> None:
    crowd = honest_crowd(FASTER_BY_CHANCE, **HONEST["4 classes, dense"])
    found = analysis.worker_speed(crowd)
    worker = int(np.nanargmin(found.change.adjusted))
    assert 0.025 < found.change.adjusted[worker] <= 0.05
    assert found.frame()["changed after"].isna().all()
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
    assert sum(bool((found.change.adjusted <= 0.05).any()) for found in named) <= 1
    for seed in range(3):
        found = analysis.worker_speed(in_sessions(seed, apart=0.1, planted=True))
        assert np.flatnonzero(found.change.adjusted <= 0.05).tolist() == [TIRED]


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
    found = analysis.worker_speed(replace(ds, extra=pd.DataFrame({"seconds": seconds})))
    assert found.too_fast.tolist() == [False, False, True, False, False, False]
    np.testing.assert_allclose(found.relative, np.where(np.arange(6) == 2, 0.19, 1.0))
    assert found.change is None


def test_speed_over_time_is_that_of_the_answers_counted_by_hand() -> None:
    votes = timed(3, planted=True)
    found = analysis.worker_speed_over_time(votes, worker=TIRED, n_blocks=4)
    log, when = np.log(votes.extra["seconds"].to_numpy()), votes.extra["timestamp"].to_numpy()
    own = sorted(np.flatnonzero(votes.worker == TIRED), key=lambda row: when[row])
    ratio = []
    for row in own:
        others = (votes.task == votes.task[row]) & (np.arange(len(log)) != row)
        if others.any():
            ratio.append((np.exp(log[row] - log[others].mean()), np.exp(log[row])))
    parts = np.array_split(np.array(ratio), 4)
    np.testing.assert_allclose(found.ratio, [np.exp(np.median(np.log(part[:, 0]))) for part in parts])
    np.testing.assert_allclose(found.seconds, [np.median(part[:, 1]) for part in parts])
    assert found.last[-1] == len(ratio)
    assert abs(found.change - len(ratio) / 2) < len(ratio) / 6
    assert 2 < found.after / found.before < 4
    assert (found.low <= found.ratio).all()
    assert (found.ratio <= found.high).all()


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
