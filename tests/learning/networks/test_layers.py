"""Layers and operations: against torch's and autograd, masks of a replica's own, k-means."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans as Reference
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional

from crowdcore.learning.networks.layers import Dropout, KMeans, Linear, Random, own_dropout
from crowdcore.learning.networks.ops import log_softmax, normalise, softmax, take_rows, worker_product


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
    found = [m for m in module.modules() if isinstance(m, Dropout)]
    assert [m.p for m in found] == [0.3, 0.1]
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
    found = torch.autograd.grad((out * weight).sum(), (p, matrices))
    for a, b in zip(found, torch.autograd.grad((expected * weight).sum(), (p, matrices)), strict=True):
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
