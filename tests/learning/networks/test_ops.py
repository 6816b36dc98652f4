"""Operations with their own gradients, against autograd on the plain expressions."""

from __future__ import annotations

import pytest
import torch
from torch.func import vmap
from torch.nn import functional

from crowdcore.learning.networks.ops import log_softmax, normalise, softmax, take_rows, worker_product


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
