"""Simulated ratings: lines and noise are those that were planted, and the folder keeps them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.data.writers import write_folder


def test_ratings_follow_the_planted_lines_and_copiers_the_first_worker() -> None:
    crowd = simulate.ratings(n_tasks=3_000, per_task=8, low=-100, high=100, shared_low=8, shared_high=-2, noise=2)
    truth = crowd.truth
    assert truth is not None and truth.worker_bias is not None
    assert truth.worker_scale is not None and truth.worker_noise is not None
    for worker in range(crowd.n_workers - 2):  # the last two are a spammer and a copier
        mine = (crowd.worker == worker) & (np.abs(crowd.gold[crowd.task]) < 80)  # none beyond the range
        slope, at_middle = np.polyfit(crowd.gold[crowd.task[mine]], crowd.rating[mine], 1)
        around = crowd.rating[mine] - at_middle - slope * crowd.gold[crowd.task[mine]]
        assert slope == pytest.approx(truth.worker_scale[worker], abs=0.02)
        assert at_middle == pytest.approx(truth.worker_bias[worker], abs=0.4)
        assert around.std() == pytest.approx(truth.worker_noise[worker], rel=0.15)
    assert truth.worker_role[-2:] == ("spammer", "copier of w01")
    spammer = crowd.worker == crowd.n_workers - 2
    assert abs(np.corrcoef(crowd.gold[crowd.task[spammer]], crowd.rating[spammer])[0, 1]) < 0.1
    leader, copier = (crowd.worker == w for w in (0, crowd.n_workers - 1))
    np.testing.assert_array_equal(crowd.task[leader], crowd.task[copier])
    assert np.mean(crowd.rating[leader] == crowd.rating[copier]) == pytest.approx(0.9, abs=0.03)


def test_a_folder_keeps_what_was_planted(tmp_path: Path) -> None:
    crowd = simulate.ratings(n_tasks=60, n_valid=10, n_test=10, seed=3)
    back = cc.read_ratings(write_folder(crowd, tmp_path / "planted"))
    assert back.fingerprint == crowd.fingerprint
    assert crowd.truth is not None and back.truth is not None
    assert (back.truth.settings, back.truth.worker_role) == (crowd.truth.settings, crowd.truth.worker_role)
    for part in ("worker_bias", "worker_scale", "worker_noise"):
        np.testing.assert_array_equal(getattr(back.truth, part), getattr(crowd.truth, part))


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"low": 5, "high": 5}, "high"), ({"n_tasks": 20}, "n_tasks"), ({"n_workers": 2, "per_task": 1}, "n_workers")],
)
def test_settings_that_cannot_be(settings: dict[str, float], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        simulate.ratings(**settings)
