"""Layers, noise layers and operations: against torch's and autograd, masks of a replica's own, k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans as Reference
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from crowdcore.analysis import worker_confusion
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.learning import EpochEvent, load_result, methods, train
from crowdcore.learning.method_settings import StartSettings
from crowdcore.learning.networks.layers import Dropout, KMeans, Linear, Random, own_dropout
from crowdcore.learning.networks.noise_layers import counted_confusion, split_confusion
from crowdcore.learning.networks.ops import log_softmax, normalise, softmax, take_rows, worker_product
from crowdcore.learning.training.metrics import omega_correlation, recovery_error
from tests.learning.helpers import built, featured_crowd, gradients


def test_linear_is_torchs():
    torch.manual_seed(0)
    ours, theirs, x = Linear(5, 3), nn.Linear(5, 3), torch.randn(4, 5)
    with torch.no_grad():
        theirs.weight.copy_(ours.weight.T)
        theirs.bias.copy_(ours.bias)
    torch.testing.assert_close(ours(x), theirs(x))
    assert ours.weight.abs().max() <= 5**-0.5


@pytest.mark.parametrize("p", [0.25, 0.5, 0.9])
def test_dropout_keeps_its_share_and_the_mean(p):
    torch.manual_seed(1)
    layer = Dropout(p)
    out = torch.stack([layer(torch.ones(200, 64)) for _ in range(40)])
    share = round(p * 256) / 256
    spread = 5 * (share * (1 - share) / out.numel()) ** 0.5
    assert abs((out == 0).float().mean() - share) < spread
    assert out.unique().tolist() == [0.0, pytest.approx(1 / (1 - share))]
    assert torch.equal(layer.eval()(torch.ones(3)), torch.ones(3))


def test_masks_are_uncorrelated_over_calls_units_tasks_and_keys():
    torch.manual_seed(2)
    layers = [Dropout(0.5), Dropout(0.5)]
    masks = np.stack([[layer(torch.ones(200, 64)).numpy() - 1 for _ in range(60)] for layer in layers])
    pairs = {
        "keys": (masks[0], masks[1]),
        "calls": (masks[:, 1:], masks[:, :-1]),
        "tasks": (masks[:, :, 1:], masks[:, :, :-1]),
        **{f"units {k}": (masks[..., k:], masks[..., :-k]) for k in (1, 2, 3, 4, 5, 8)},
    }
    for what, (a, b) in pairs.items():
        assert abs((a * b).mean()) < 5 / a.size**0.5, what
    assert masks.mean((0, 1, 2)).std() == pytest.approx((2 * 60 * 200) ** -0.5, rel=0.4)


def test_uniform_is_uniform():
    torch.manual_seed(3)
    u = Random().uniform((100, 500))
    assert u.min() >= 0 and u.max() < 1
    counts = torch.histc(u, 20, 0, 1)
    assert ((counts - 2500) ** 2 / 2500).sum() < 45  # chi-square, 19 degrees of freedom, p < 0.001


def test_a_mask_is_the_same_in_a_stack():
    torch.manual_seed(4)
    layers = [Dropout(0.5) for _ in range(3)]
    x = torch.randn(3, 10, 8)
    _, buffers = stack_module_state(layers)
    stacked = vmap(lambda state, row: functional_call(layers[0], state, (row,)))(buffers, x)
    torch.testing.assert_close(stacked, torch.stack([layer(row) for layer, row in zip(layers, x, strict=True)]))


def test_a_stack_needs_no_rule_for_views_as_another_type(monkeypatch):
    view = torch.Tensor.view

    def without_rule(self, *shape):  # as torch 2.11
        assert not (isinstance(shape[0], torch.dtype) and torch._C._functorch.is_batchedtensor(self))
        return view(self, *shape)

    monkeypatch.setattr(torch.Tensor, "view", without_rule)
    test_a_mask_is_the_same_in_a_stack()


def test_own_dropout_replaces_torchs_at_any_depth():
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.3), nn.ReLU()), nn.Dropout(0.1))
    own_dropout(module)
    modules = [m for m in module.modules() if isinstance(m, Dropout)]
    assert [m.p for m in modules] == [0.3, 0.1]
    assert not any(type(m) is nn.Dropout for m in module.modules())


def test_it_finds_what_scikit_learn_finds_from_the_same_start():
    torch.manual_seed(0)
    x = (3 * torch.randn(2, 4, 3)).repeat_interleave(6, 1) + torch.randn(2, 24, 3)
    k_means, again = KMeans(4, rounds=30), KMeans(4)
    again.load_state_dict(k_means.state_dict())
    start = again._draw(x)
    for points, centres, clusters in zip(x, start, k_means(x), strict=True):
        reference = Reference(4, init=centres.numpy(), n_init=1, tol=0).fit(points.numpy())
        np.testing.assert_array_equal(clusters, reference.labels_)


def test_centres_start_far_from_each_other():
    torch.manual_seed(0)
    x = torch.tensor([0.0] * 20 + [1.0, 5.0])[None, :, None]
    drawn = torch.cat([KMeans(3)._draw(x) for _ in range(20)])
    assert (drawn.sort(1).values == torch.tensor([0.0, 1.0, 5.0])[:, None]).all()


def test_more_clusters_than_different_points_leave_some_empty():
    x = torch.tensor([[[0.0], [0.0], [1.0]]])
    first, same, other = KMeans(3)(x)[0]
    assert first == same != other


def inputs(*lead: int):
    torch.manual_seed(0)
    p = torch.randn(*lead, 9, 3, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(*lead, 4, 3, 5, dtype=torch.float64, requires_grad=True)
    return p, matrices, torch.randint(4, (*lead, 9))


def plain(p, matrices, worker):
    return torch.einsum("ac,ack->ak", p, matrices[worker])


def test_values_and_first_and_second_gradients():
    p, matrices, worker = inputs()
    assert torch.autograd.gradcheck(lambda a, b: worker_product(a, b, worker), (p, matrices))
    assert torch.autograd.gradgradcheck(lambda a, b: worker_product(a, b, worker), (p, matrices))
    torch.testing.assert_close(worker_product(p, matrices, worker), plain(p, matrices, worker))
    table = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: take_rows(t, worker), (table,))
    assert torch.equal(take_rows(table, worker), table[worker])


def test_a_stack_gives_each_replica_its_own():
    p, matrices, worker = inputs(2)
    out = vmap(worker_product)(p, matrices, worker)
    expected = torch.stack([plain(p[s], matrices[s], worker[s]) for s in range(2)])
    torch.testing.assert_close(out, expected)
    weight = torch.randn_like(out)
    gradients = torch.autograd.grad((out * weight).sum(), (p, matrices))
    for a, b in zip(gradients, torch.autograd.grad((expected * weight).sum(), (p, matrices)), strict=True):
        torch.testing.assert_close(a, b)


def test_a_stack_may_share_the_index_or_the_table():
    p, matrices, worker = inputs(2)
    shared = vmap(worker_product, in_dims=(0, 0, None))(p, matrices, worker[0])
    torch.testing.assert_close(shared, torch.stack([plain(p[s], matrices[s], worker[0]) for s in range(2)]))
    table = torch.randn(4, 2)
    rows = vmap(take_rows, in_dims=(None, 0))(table, worker)
    assert torch.equal(rows, table[worker])


PAIRS = [
    (log_softmax, lambda x: torch.log_softmax(x, -1)),
    (softmax, lambda x: torch.softmax(x, -1)),
    (normalise, lambda x: functional.normalize(x, dim=-1)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_values_and_gradients_are_torchs(ours, theirs):
    x = torch.randn(3, 7, 5, dtype=torch.float64) * 10
    weight = torch.randn_like(x)
    results = []
    for f in (ours, theirs, vmap(ours)):
        leaf = x.clone().requires_grad_()
        y = f(leaf)
        results.append((y.detach(), *torch.autograd.grad((y * weight).sum(), leaf)))
    for other in results[1:]:
        torch.testing.assert_close(results[0], other)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_extreme_rows(ours, theirs):
    x = torch.tensor([[1e4, -1e4, 0.0], [0.0, 0.0, 0.0], [-1e30, -1e30, 1.0]])
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize("ours", [ours for ours, _ in PAIRS])
def test_without_gradients_the_numbers_are_the_same_alone_and_in_a_stack(ours):
    x = torch.randn(3, 7, 5, requires_grad=True)
    with torch.no_grad():
        assert torch.equal(ours(x), ours(x.detach()))
        alone, stacked = ours(x), vmap(ours)(x)
    assert not alone.requires_grad
    assert torch.equal(alone, ours(x).detach()) and torch.equal(stacked, alone)


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
    diagonal = module.recovered()["worker_confusion"].diagonal(dim1=-2, dim2=-1)
    np.testing.assert_allclose(diagonal.detach(), confusions().diagonal(dim1=-2, dim2=-1), atol=1e-9)


@pytest.mark.parametrize("name", ["conal", "conal-groups"])
def test_common_and_own_confusions_mix_to_what_they_start_from(name):
    module, _, _ = built(name, featured_crowd())
    given = confusions()
    common, own = split_confusion(given)
    alike = 0.8 * common + 0.2 * given
    np.testing.assert_allclose(sum(split_confusion(alike)) / 2, alike, atol=1e-3, err_msg="exact where it can be")
    module.start_from(given)
    parameters = module.recovered()
    np.testing.assert_allclose(parameters["worker_confusion"].detach(), own, atol=1e-9)
    np.testing.assert_allclose(parameters["common_confusion"].detach().reshape(-1, 3, 3).sum(-1), 1)


def test_dawid_skenes_start_is_near_the_truth_and_has_no_empty_rows():
    _, problem, _ = built("trace", featured_crowd(n_tasks=300, n_workers=8))
    confusion = counted_confusion(problem, "dawid-skene")
    np.testing.assert_allclose(confusion.sum(2), 1)
    assert confusion.min() >= 5e-4
    observed = worker_confusion(problem.dataset, "gold").matrices
    assert recovery_error(observed, confusion) < 0.5 * recovery_error(observed, np.tile(np.eye(3), (8, 1, 1)))


@pytest.mark.parametrize("name", ["crowd-layer", "conal", "trace"])
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
    with pytest.raises(SettingError, match="vote_epochs"):
        train(featured_crowd(), "dl-em", vote_epochs=0.2, epochs=1)
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
    with pytest.raises(SettingError, match=r"selected.*0.*1.*2.*3.*4"):
        result.recovered_at(7)


def _train_std(result, omega):
    return np.nanstd(omega, axis=1, ddof=1)


def test_predictions_of_all_replicas_can_be_averaged():
    result = train(featured_crowd(n_tasks=120), "vanilla", **RUN)
    mean = result.posterior("test").mean(0).argmax(1)
    truth = result.gold[result.split == 2]
    assert result.accuracy("test", ensemble=True).tolist() == [(mean == truth).mean()]
    with pytest.raises(SettingError, match="replicas"):
        result.accuracy("test", at="best", ensemble=True)


@pytest.mark.parametrize("pattern", ["asymmetric", "symmetric"])
def test_conal_recovers_a_crowd_whose_votes_mislead(pattern):
    crowd = simulate.synthetic(pattern=pattern, common_strength=0.7, individual_strength=0.7, seed=5)
    run = {"seeds": 1, "epochs": 15, "batch_size": 512, "schedule": "cosine", "names": "validation-gold"}
    result = train(crowd, "conal", **run)
    truth, recovery = crowd.truth, result.recovered_at("last")
    assert result.accuracy("test", "last") > 0.9
    assert recovery_error(truth.common_confusion[None], recovery.common_confusion[:, None]) < 0.05
    assert recovery_error(truth.worker_confusion, recovery.worker_confusion) < 0.12
    assert omega_correlation(truth.omega, recovery.omega) > 0.6


@pytest.mark.parametrize("start", ["identity", "votes", "dawid-skene"])
def test_the_network_may_learn_the_votes_before(start):
    crowd, run = featured_crowd(n_tasks=120), {**RUN, "select_on": "none"}
    votes = train(crowd, "dl-mv", **{**run, "epochs": 2})
    stages = []

    def listen(event):
        stages.extend([event.first_stage] if isinstance(event, EpochEvent) else [])

    given = {"start": start, "vote_epochs": 0.5, "start_epochs": 0.25, "on_event": listen}
    result = train(crowd, "crowd-layer", **run, **given, should_stop=lambda: len(stages) == 2)
    n = 3 if start == "dawid-skene" else 2
    assert stages == [(1, n), (2, n)]
    assert len(result.curves["loss"]) == 1, "stopped where the votes are learnt: that is the result"
    for name, value in votes.model.items():
        if "weight" in name and name.startswith("classifier."):
            np.testing.assert_array_equal(result.model[name], value)
