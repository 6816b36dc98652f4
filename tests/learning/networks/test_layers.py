"""Layers against torch's, masks that are a replica's own, and k-means."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans as Reference
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from crowdcore.learning.networks.layers import Dropout, KMeans, Linear, Random, own_dropout


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
