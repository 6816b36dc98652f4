"""Noise layers: no step of a low-rank one holds a number per worker and pair of classes; their starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from crowdcore.analysis import worker_confusion
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.learning import EpochEvent, load_result, methods, train
from crowdcore.learning.method_settings import StartSettings
from crowdcore.learning.networks.noise_layers import counted_confusion, split_confusion
from crowdcore.learning.training.metrics import omega_correlation, recovery_error
from tests.learning.helpers import built, featured_crowd, gradients


class Largest(TorchDispatchMode):
    """The most elements of any tensor that an operation makes, forward or backward."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for value in out if isinstance(out, tuple | list) else [out]:
            if isinstance(value, torch.Tensor):
                self.numbers = max(self.numbers, value.numel())
        return out


@pytest.mark.parametrize(("rank", "dense"), [(1, False), (None, True)])
def test_a_step_of_low_rank_makes_nothing_as_large_as_all_matrices(rank, dense):
    crowd = featured_crowd(n_tasks=40, n_workers=400, n_classes=9)
    module, _, batch = built("conal", crowd, rank=rank, variant="paper")
    with Largest() as largest:
        gradients(module, batch)
    assert (largest.numbers >= 400 * 9 * 9) == dense


STARTING = [n for n in methods.names() if issubclass(methods.get(n).Settings, StartSettings) or n == "trace"]
RUN = {"seeds": 2, "epochs": 4, "batch_size": 32, "lr": 0.01, "device": "cpu"}


def confusions(n_workers: int = 5, n_classes: int = 3) -> torch.Tensor:
    rng = np.random.default_rng(0)
    rows = 0.7 * np.eye(n_classes) + 0.3 * rng.dirichlet(np.ones(n_classes), (n_workers, n_classes))
    return torch.from_numpy(rows)


@pytest.mark.parametrize("name", [n for n in STARTING if "conal" not in n])
def test_a_method_starts_from_the_confusions_it_is_given(name):
    module, _, _ = built(name, featured_crowd())
    module.start_from(confusions())
    np.testing.assert_allclose(module.recovered()["worker_confusion"].detach(), confusions(), atol=1e-9)


@pytest.mark.parametrize("connection", ["vw", "vw+b"])
def test_weights_start_with_the_diagonals(connection):
    module, _, _ = built("crowd-layer", featured_crowd(), connection=connection)
    module.start_from(confusions())
    found = module.recovered()["worker_confusion"].diagonal(dim1=-2, dim2=-1)
    np.testing.assert_allclose(found.detach(), confusions().diagonal(dim1=-2, dim2=-1), atol=1e-9)


@pytest.mark.parametrize("name", ["conal", "conal-groups"])
def test_common_and_own_confusions_mix_to_what_they_start_from(name):
    module, _, _ = built(name, featured_crowd())
    given = confusions()
    common, own = split_confusion(given)
    alike = 0.8 * common + 0.2 * given
    np.testing.assert_allclose(sum(split_confusion(alike)) / 2, alike, atol=1e-3, err_msg="exact where it can be")
    module.start_from(given)
    found = module.recovered()
    np.testing.assert_allclose(found["worker_confusion"].detach(), own, atol=1e-9)
    np.testing.assert_allclose(found["common_confusion"].detach().reshape(-1, 3, 3).sum(-1), 1)


def test_dawid_skenes_start_is_near_the_truth_and_has_no_empty_rows():
    _, problem, _ = built("trace", featured_crowd(n_tasks=300, n_workers=8))
    found = counted_confusion(problem, "dawid-skene")
    np.testing.assert_allclose(found.sum(2), 1)
    assert found.min() >= 5e-4
    observed = worker_confusion(problem.dataset, "gold").matrices
    assert recovery_error(observed, found) < 0.5 * recovery_error(observed, np.tile(np.eye(3), (8, 1, 1)))


@pytest.mark.parametrize("name", STARTING)
def test_the_better_of_two_starts_is_kept_and_named(name):
    crowd = featured_crowd(n_tasks=120)
    best = train(crowd, name, start="best-of", **RUN)
    assert len(best.start_loss) == 2
    alone = {start: train(crowd, name, start=start, **RUN) for start in set(best.start)}
    for s, start in enumerate(best.start):
        assert best.start_loss[start][s] == min(losses[s] for losses in best.start_loss.values())
        np.testing.assert_allclose(
            best.probabilities["last"][s], alone[start].probabilities["last"][s], atol=1e-5, rtol=1e-4
        )
    assert any("Lower training loss" in note for note in best.notes)
    assert best.seeds == (0, 1) and best.curves["loss"].shape == (4, 2)


def test_methods_without_matrices_refuse_a_start():
    with pytest.raises(SettingError, match="`start`"):
        train(featured_crowd(), "dl-em", start="trace", epochs=1)
    with pytest.raises(SettingError, match="noise_lr"):
        train(featured_crowd(), "crowd-layer", noise_lr=0, epochs=1)


def test_a_higher_rate_moves_the_noise_layers_further():
    crowd = featured_crowd(n_tasks=120)
    slow = train(crowd, "crowd-layer", start="identity", noise_lr=1, **RUN)
    fast = train(crowd, "crowd-layer", start="identity", noise_lr=20, **RUN)
    for s in range(2):
        assert fast.curves["worker_moved"][-1, s] > 3 * slow.curves["worker_moved"][-1, s]
    moved = fast.moved("worker_confusion", "last")
    np.testing.assert_allclose(moved.mean(1), fast.curves["worker_moved"][-1], atol=1e-5)


def test_matrices_of_kept_epochs_survive_the_disk(tmp_path):
    result = load_result(train(featured_crowd(), "conal", **RUN).save(tmp_path))
    assert result.kept_epochs.tolist() == [0, 1, 2, 3, 4]
    last = result.recovered_at("last")
    for kept, now in zip(result.recovered_at(4), last, strict=True):
        np.testing.assert_allclose(kept, now, atol=1e-6)
    np.testing.assert_allclose(result.curves["omega_std"][-1], _train_std(result, last.omega), atol=1e-4)
    with pytest.raises(SettingError, match="selected, last, 0, 1, 2, 3, 4"):
        result.recovered_at(7)


def _train_std(result, omega):
    return np.nanstd(omega, axis=1, ddof=1)


def test_predictions_of_all_replicas_can_be_averaged():
    result = train(featured_crowd(n_tasks=120), "vanilla", **RUN)
    mean = result.posterior("test").mean(0).argmax(1)
    truth = result.gold[result.split == 2]
    assert result.accuracy("test", ensemble=True).tolist() == [(mean == truth).mean()]
    with pytest.raises(SettingError, match="mean of the replicas"):
        result.accuracy("test", at="best", ensemble=True)


@pytest.mark.parametrize("pattern", ["asymmetric", "symmetric"])
def test_conal_recovers_a_crowd_whose_votes_mislead(pattern):
    crowd = simulate.synthetic(pattern=pattern, common_strength=0.7, individual_strength=0.7, seed=5)
    run = {"seeds": 1, "epochs": 15, "batch_size": 512, "schedule": "cosine", "names": "validation-gold"}
    result = train(crowd, "conal", **run)
    truth, found = crowd.truth, result.recovered_at("last")
    assert result.accuracy("test", "last") > 0.9
    assert recovery_error(truth.common_confusion[None], found.common_confusion[:, None]) < 0.05
    assert recovery_error(truth.worker_confusion, found.worker_confusion) < 0.12
    assert omega_correlation(truth.omega, found.omega) > 0.6


@pytest.mark.parametrize("start", ["identity", "votes", "dawid-skene"])
def test_the_network_may_learn_the_votes_before(start):
    crowd, run = featured_crowd(n_tasks=120), {**RUN, "select_on": "none"}
    votes = train(crowd, "dl-mv", **{**run, "epochs": 2})
    told = []

    def listen(event):
        told.extend([event.first_stage] if isinstance(event, EpochEvent) else [])

    given = {"start": start, "vote_epochs": 0.5, "start_epochs": 0.25, "on_event": listen}
    result = train(crowd, "crowd-layer", **run, **given, should_stop=lambda: len(told) == 2)
    n = 3 if start == "dawid-skene" else 2
    assert told == [(1, n), (2, n)]
    assert len(result.curves["loss"]) == 1, "stopped where the votes are learnt: that is the result"
    for name, value in votes.model.items():
        if "weight" in name and name.startswith("classifier."):
            np.testing.assert_array_equal(result.model[name], value)


def test_methods_without_noise_layers_refuse_epochs_on_votes():
    with pytest.raises(SettingError, match="vote_epochs"):
        train(featured_crowd(), "dl-em", vote_epochs=0.2, epochs=1)
