"""`recovered_confusion` against loops over seeds and workers."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from crowdcore.analysis import effective_confusion, recovered_confusion
from crowdcore.core.errors import SettingError
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import make_crowd

SEEDS = (3, 5, 8)


def learned(crowd, seed: int = 0, groups: int = 0):
    rng = np.random.default_rng(seed)
    n, c = crowd.n_workers, crowd.n_classes
    own = rng.dirichlet(np.ones(c), (len(SEEDS), n, c))
    common = rng.dirichlet(np.ones(c), (len(SEEDS), groups, c) if groups else (len(SEEDS), c))
    omega = rng.random((len(SEEDS), crowd.n_annotations))
    group = rng.integers(groups, size=(len(SEEDS), n)) if groups else None
    return own, common, omega, group


def test_equals_loops(crowd):
    crowd = crowd.where(crowd.worker != 5)  # one idle worker
    own, common, omega, _ = learned(crowd)
    omega[:, crowd.worker == 2] = np.nan  # one without ω
    omega[:, 7] = np.nan
    found = recovered_confusion(crowd, own, common, omega, seeds=SEEDS)
    c = crowd.n_classes
    np.testing.assert_allclose(found.matrices, (own[0] + own[1] + own[2]) / 3)
    np.testing.assert_allclose(found.common, (common[0] + common[1] + common[2]) / 3)
    assert found.spread[1, 2, 3] == pytest.approx(statistics.stdev(own[:, 1, 2, 3].tolist()))
    for r in range(crowd.n_workers):
        skill = [sum(own[s, r, a, a] for a in range(c)) / c for s in range(3)]
        far = [
            sum((own[s, r, a, b] - common[s, a, b]) ** 2 for a in range(c) for b in range(c)) / c**2 for s in (0, 1, 2)
        ]
        assert found.skill[r] == pytest.approx(statistics.mean(skill))
        assert found.skill_spread[r] == pytest.approx(statistics.stdev(skill))
        assert found.distance[r] == pytest.approx(statistics.mean(far))
        assert found.distance_spread[r] == pytest.approx(statistics.stdev(far))
        mine = [k for k in range(crowd.n_annotations) if crowd.worker[k] == r and not np.isnan(omega[0, k])]
        if not mine:
            assert r in (2, 5)
            assert np.isnan(found.common_share[r])
            continue
        share = [statistics.mean(omega[s, k] for k in mine) for s in range(3)]
        assert found.common_share[r] == pytest.approx(statistics.mean(share))
        assert found.common_share_spread[r] == pytest.approx(statistics.stdev(share))
    assert found.n_annotations[5] == 0
    assert found.combined == "mean of 3 seeds"


def test_one_seed_has_no_spread(crowd):
    own, common, omega, _ = learned(crowd)
    found = recovered_confusion(crowd, own, common, omega, seeds=SEEDS, seed=8)
    np.testing.assert_array_equal(found.matrices, own[2])
    np.testing.assert_array_equal(found.common, common[2])
    assert np.isnan(found.skill_spread).all()
    assert found.combined == "seed 8"
    assert list(found.frame().columns) == ["worker", "annotations", "skill", "distance", "common_share"]
    assert list(found.matrices_frame([1]).columns) == ["who", "true", "given", "share"]


def test_groups_have_common_confusions_of_one_seed_only(crowd):
    own, common, _, group = learned(crowd, groups=2)
    together = recovered_confusion(crowd, own, common, group=group, seeds=SEEDS)
    assert together.common is None
    assert together.group is None
    far = [np.mean((own[s, 4] - common[s, group[s, 4]]) ** 2) for s in range(3)]
    assert together.distance[4] == pytest.approx(np.mean(far))
    one = recovered_confusion(crowd, own, common, group=group, seeds=SEEDS, seed=5)
    np.testing.assert_array_equal(one.common, common[1])
    np.testing.assert_array_equal(one.group, group[1])
    assert one.distance[4] == pytest.approx(far[1])
    assert list(one.frame()["group"]) == (group[1] + 1).tolist()
    assert set(one.matrices_frame([0])["who"]) == {"common 1", "common 2", crowd.worker_ids[0]}


def test_a_method_without_common_confusion_or_omega(crowd):
    own, *_ = learned(crowd)
    found = recovered_confusion(crowd, own, seeds=SEEDS)
    assert found.common is None
    assert found.distance is None
    assert found.common_share is None
    assert list(found.frame().columns) == ["worker", "annotations", "skill", "skill_std"]


def test_unknown_rows_are_left_out(crowd):
    own, common, *_ = learned(crowd)
    own[:, 3, 1] = np.nan
    own[:, 4] = np.nan
    found = recovered_confusion(crowd, own, common, seeds=SEEDS)
    rest = [a for a in range(crowd.n_classes) if a != 1]
    assert found.skill[3] == pytest.approx(np.mean([own[s, 3, a, a] for s in range(3) for a in rest]))
    assert found.distance[3] == pytest.approx(((own[:, 3, rest] - common[:, rest]) ** 2).mean())
    assert np.isnan([found.skill[4], found.distance[4]]).all()


def test_frames_name_every_cell():
    crowd = make_crowd([0, 1], [0, 1], [1, 0], 2, 2, 2, [0, 1])
    own = np.array([[[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]]])
    frame = recovered_confusion(crowd, own, own[:, 0], seeds=(0,)).matrices_frame()
    assert len(frame) == 12
    cell = frame[(frame["who"] == "w1") & (frame["true"] == "class 0") & (frame["given"] == "class 1")]
    assert cell["share"].tolist() == [0.4]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"worker_confusion": np.ones((3, 2, 4, 4))}, "`worker_confusion` must have the shape"),
        ({"omega": np.ones((3, 2))}, "`omega` must have the shape"),
        ({"seed": 4}, "`seed` must be one of 3, 5, 8"),
        ({"common_confusion": np.ones((3, 2, 4, 4))}, "`group` must name each worker's group"),
    ],
)
def test_refusals(change, words):
    crowd = simulate_crowd()
    own, common, omega, _ = learned(crowd)
    arguments = {"worker_confusion": own, "common_confusion": common, "omega": omega, "seeds": SEEDS} | change
    with pytest.raises(SettingError, match=words):
        recovered_confusion(crowd, **arguments)


def test_what_all_labels_follow_is_summed_up_instead_but_distances_stay(crowd):
    own, common, omega, _ = learned(crowd)
    effective = effective_confusion(crowd, own, common, omega)
    found = recovered_confusion(crowd, own, common, omega, seeds=SEEDS, effective=effective)
    plain = recovered_confusion(crowd, own, common, omega, seeds=SEEDS)
    np.testing.assert_allclose(found.matrices, effective.mean(0))
    np.testing.assert_allclose(found.skill, np.trace(effective, axis1=2, axis2=3).mean(0) / crowd.n_classes)
    np.testing.assert_array_equal(found.distance, plain.distance)
