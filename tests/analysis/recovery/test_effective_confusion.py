"""The mixture of common and own confusion, against a loop over annotations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.analysis import effective_confusion
from crowdcore.data import simulate

CROWD = simulate.synthetic(n_tasks=90, n_valid=20, n_test=20, n_workers=7, n_classes=3, seed=1)


def by_hand(own, common, omega, group=None):
    out = np.full(own.shape, np.nan)
    for r in range(CROWD.n_workers):
        shared = common if group is None else common[group[r]]
        parts = [w * shared + (1 - w) * own[r] for w in omega[(CROWD.worker == r) & ~np.isnan(omega)]]
        if parts:
            out[r] = np.mean(parts, axis=0)
    return out


def test_it_is_the_mean_mixture_over_the_annotations_of_each_worker() -> None:
    truth = CROWD.truth
    found = effective_confusion(CROWD, truth.worker_confusion, truth.common_confusion, truth.omega)
    assert found == pytest.approx(by_hand(truth.worker_confusion, truth.common_confusion, truth.omega))
    assert found.sum(-1) == pytest.approx(np.ones((7, 3)))


def test_several_seeds_at_once_and_unknown_omega() -> None:
    rng = np.random.default_rng(0)
    own, common = rng.dirichlet(np.ones(3), (2, 7, 3)), rng.dirichlet(np.ones(3), (2, 3))
    omega = rng.random((2, CROWD.n_annotations))
    omega[1, ::3] = np.nan
    found = effective_confusion(CROWD, own, common, omega)
    for s in range(2):
        assert found[s] == pytest.approx(by_hand(own[s], common[s], omega[s]), nan_ok=True)


def test_groups_have_common_confusions_of_their_own() -> None:
    rng = np.random.default_rng(1)
    own, common = rng.dirichlet(np.ones(3), (1, 7, 3)), rng.dirichlet(np.ones(3), (1, 2, 3))
    omega, group = rng.random((1, CROWD.n_annotations)), np.array([[0, 1, 1, 0, 1, 0, 0]])
    assert effective_confusion(CROWD, own, common, omega, group)[0] == pytest.approx(
        by_hand(own[0], common[0], omega[0], group[0])
    )


def test_without_omega_it_is_the_workers_own() -> None:
    assert (effective_confusion(CROWD, CROWD.truth.worker_confusion) == CROWD.truth.worker_confusion).all()


def test_a_worker_without_annotations_has_none() -> None:
    more = replace(CROWD, worker_ids=pd.Index([*CROWD.worker_ids, "idle"]))
    own = np.concatenate([CROWD.truth.worker_confusion, np.eye(3)[None]])
    found = effective_confusion(more, own, CROWD.truth.common_confusion, CROWD.truth.omega)
    assert np.isnan(found[-1]).all()
    assert not np.isnan(found[:-1]).any()
