"""Scaled rows: torch's values and gradients, alone and in a stack."""

from __future__ import annotations

import pytest
import torch
from torch.func import vmap
from torch.nn import functional

from crowdcore.learning.networks.ops import log_softmax, normalise, softmax

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
