"""Workers who coordinate do as told, and nobody else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd


@pytest.fixture
def honest() -> CrowdDataset:
    return simulate_crowd(400, n_workers=6, accuracy=0.7)


def of(crowd: CrowdDataset, worker: int) -> CrowdDataset:
    return crowd.where(crowd.worker == worker)


def test_copiers_label_the_leaders_tasks_and_mostly_alike(honest: CrowdDataset) -> None:
    crowd = simulate.copy_leader(honest, [1, 2], leader=0, rate=0.8, seed=1)
    leader = of(honest, 0)
    for copier in (1, 2):
        copied = of(crowd, copier)
        assert copied.task.tolist() == leader.task.tolist()
        alike = (copied.label == leader.label).mean()
        assert 0.8 < alike < 0.97  # the rest agrees by skill or chance
    assert of(crowd, 5).label.tolist() == of(honest, 5).label.tolist()
    assert crowd.truth is not None
    assert crowd.truth.worker_role == ("leader", "copier of w000", "copier of w000", "", "", "")
    assert (np.diff(crowd.task) >= 0).all()


def test_a_full_copy_is_a_copy_and_no_copy_is_the_workers_own_way(honest: CrowdDataset) -> None:
    full = simulate.copy_leader(honest, [1], leader=0, rate=1.0)
    assert of(full, 1).label.tolist() == of(full, 0).label.tolist()
    none = of(simulate.copy_leader(honest, [1], leader=0, rate=0.0), 1)
    before = of(honest, 1)
    assert (none.label == none.gold[none.task]).mean() == pytest.approx(
        (before.label == before.gold[before.task]).mean(), abs=0.08
    )


def test_pushers_change_one_class_only(honest: CrowdDataset) -> None:
    crowd = simulate.push_class(honest, [3, 4], true=0, given=2, rate=0.9, seed=2)
    changed = crowd.label != honest.label
    assert set(crowd.worker[changed]) == {3, 4}
    assert set(crowd.gold[crowd.task[changed]]) == {0}
    assert set(crowd.label[changed]) == {2}
    pushed = np.isin(crowd.worker, [3, 4]) & (crowd.gold[crowd.task] == 0)
    assert (crowd.label[pushed] == 2).mean() > 0.8


def test_imitators_make_the_most_frequent_mistake_of_the_others(honest: CrowdDataset) -> None:
    often = simulate.push_class(honest, [2, 3, 4, 5], true=1, given=3, rate=0.5)
    crowd = simulate.imitate_common(often, [0], rate=1.0)
    one = of(crowd, 0)
    assert set(one.label[one.gold[one.task] == 1]) == {3}
    assert (one.label != one.gold[one.task]).all()


def test_what_cannot_be_is_refused(honest: CrowdDataset) -> None:
    with pytest.raises(SettingError, match="lie between 0 and 1"):
        simulate.imitate_common(honest, [0], rate=2)
    with pytest.raises(SettingError, match="numbers in 0 … 5"):
        simulate.imitate_common(honest, [9])
    with pytest.raises(SettingError, match="who copy"):
        simulate.copy_leader(honest, [0, 1], leader=0)
    with pytest.raises(SettingError, match="another class"):
        simulate.push_class(honest, [0], true=1, given=1)
    with pytest.raises(DataError, match="without gold"):
        simulate.imitate_common(replace(honest, gold=np.full(400, -1)), [0])
