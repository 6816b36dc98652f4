"""A recorded step computes what the function computes, whatever operations it is made of."""

from __future__ import annotations

import sys
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from crowdcore.learning import train
from crowdcore.learning.training import steps
from crowdcore.learning.training.device import UnrecordableError
from crowdcore.learning.training.program import Program, _Recorder
from tests.learning.helpers import featured_crowd


def record(function, *inputs, state=(), memory=None):
    """The program, and a function that runs it on other inputs."""
    static = tuple(i.clone() for i in inputs)
    return Program(lambda: function(*static), static, state, [] if memory is None else memory)


def views(x):
    y = x.t().reshape(-1)[3:].unsqueeze(0)
    a, b = y.split([4, y.shape[1] - 4], 1)
    return torch.cat([b, a.expand(3, 4).sum(0, keepdim=True)], 1).squeeze(0)


def in_place(x):
    y = torch.arange(x.shape[1], dtype=x.dtype).mul_(3)  # a constant that is written to
    table = torch.zeros(4, x.shape[1]).index_add_(0, torch.tensor([1, 3, 1, 0, 0]), x)
    return (table + y).masked_fill_(table > 1, -1.0).clamp_min_(-2)


def several_results(x):
    values, index = x.max(1)
    top = x.topk(2, dim=1)
    return torch.cat([values, index.to(x.dtype), top.values.flatten(), functional.logsigmoid(x).flatten()])


def kinds_of_numbers(x):
    bits = (x * 100).to(torch.int32)
    h = (bits ^ (bits >> 3)).view(torch.uint8).to(torch.float32)
    return torch.where(h > 7, h / 3, torch.full_like(h, 0.5)) + x.double().sum().to(torch.float32)


def gradients(x):
    w = torch.linspace(-1, 1, 4 * x.shape[1]).view(x.shape[1], 4).requires_grad_()
    loss = functional.cross_entropy(torch.relu(x @ w), torch.arange(len(x)) % 4)
    return torch.autograd.grad(loss, w)[0]


@pytest.mark.parametrize("function", [views, in_place, several_results, kinds_of_numbers, gradients])
def test_a_program_computes_what_its_function_computes(function):
    generator = torch.Generator().manual_seed(0)
    program = record(function, torch.randn(5, 6, generator=generator))
    for _ in range(3):
        x = torch.randn(5, 6, generator=generator)
        assert torch.equal(program((x,)), function(x))


def change_by_value(x):
    return x * x.sum().item()


def change_by_numpy(x):
    return x + torch.from_numpy((x * 2).numpy())


@pytest.mark.parametrize("function", [change_by_value, change_by_numpy])
def test_what_a_recording_could_not_repeat_is_refused(function):
    total = torch.zeros(3)
    with pytest.raises(UnrecordableError):
        record(lambda x: total.add_(function(x)), torch.ones(3), state=[total])
    assert total.tolist() == [0, 0, 0]


def without_recorder(monkeypatch):
    monkeypatch.setitem(sys.modules, "crowdcore.learning.training.program", None)


def untested_torch(monkeypatch):
    monkeypatch.setattr(steps, "TESTED_TORCH", ((1, 0), (1, 13)))


def changed_internal(monkeypatch):
    monkeypatch.delattr(_Recorder, "node")


@pytest.mark.parametrize("change", [without_recorder, untested_torch, changed_internal])
def test_steps_are_eager_where_they_cannot_be_recorded(change, monkeypatch):
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    calls = []
    replay = Program.__call__
    monkeypatch.setattr(Program, "__call__", lambda self, inputs: calls.append(1) or replay(self, inputs))
    run = {"seeds": 2, "epochs": 2, "batch_size": 13, "device": "cpu", "select_on": "none"}
    recorded = train(featured_crowd(), "conal", **run)
    assert calls
    calls.clear()
    change(monkeypatch)
    eager = train(featured_crowd(), "conal", **run)
    assert not calls
    np.testing.assert_allclose(eager.curves["loss"], recorded.curves["loss"], rtol=1e-6)


def test_a_recording_holds_no_value_that_its_function_has_let_go():
    held = []

    def function(x):
        values = []
        for _ in range(20):
            x = x + 1
            values.append(weakref.ref(x))
            held.append(sum(value() is not None for value in values))
        return x

    record(function, torch.ones(3))
    assert max(held) == 1


def test_recording_leaves_the_state_as_it_was_and_runs_change_it():
    norm, x = nn.BatchNorm1d(6), torch.randn(5, 6)
    own, total = nn.BatchNorm1d(6), torch.ones(6)
    state = [*own.buffers(), total]

    def step(batch):
        total.add_(own(batch).square().sum(0))
        return total * 1

    program = record(step, x, state=state)
    assert torch.equal(total, torch.ones(6))
    assert own.num_batches_tracked == 0
    expected = torch.ones(6)
    for _ in range(3):
        x = torch.randn(5, 6)
        expected += norm(x).detach().square().sum(0)
        torch.testing.assert_close(program((x,)), expected)
    assert torch.equal(own.running_mean, norm.running_mean)
    assert own.num_batches_tracked == 3


def test_random_numbers_are_fresh_in_every_run_and_constants_are_computed_once():
    program = record(lambda x: x + torch.rand(4) + torch.arange(4) * torch.ones(4), torch.zeros(4))
    first, second = program((torch.zeros(4),)).clone(), program((torch.zeros(4),)).clone()
    assert not torch.equal(first, second)
    assert len(program.calls) == 3, "random numbers, two sums"


def test_memory_is_used_again_by_later_values_and_by_other_programs():
    def function(x):
        for k in range(20):
            x = (x + k).sin()
        return x

    memory = []
    programs = [record(function, torch.randn(100), memory=memory) for _ in range(2)]
    assert sum(block.numel() for block in memory) <= 3 * 400
    for program in (*programs, *programs):
        x = torch.randn(100)
        assert torch.equal(program((x,)), function(x))
