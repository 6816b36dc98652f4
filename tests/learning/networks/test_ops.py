"""Lookups and products with their own gradients, against autograd on the plain expressions."""

from __future__ import annotations

import torch
from torch.func import vmap

from crowdcore.learning.networks.ops import take_rows, worker_product


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
