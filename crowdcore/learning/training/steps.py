"""Gradient steps of S replicas: stacked parameters, one optimiser for all, steps that are recorded and replayed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.data import Batch, Feed, Index
from crowdcore.learning.training.device import CudaGraph, UnrecordableError

TESTED_TORCH = ((2, 11), (2, 14))
"""First and last version of PyTorch that `program`, which needs its internals, was tested with."""


class _Dispatch(nn.Module):
    """Lets `functional_call` reach any method of the module."""

    def __init__(self, method: CrowdMethod) -> None:
        super().__init__()
        self.method = method

    def forward(self, name: str, *arguments: Any) -> Any:
        out = getattr(self.method, name)(*arguments)
        return {} if out is None else out


class Replicas:
    """Parameters and buffers with a leading replica axis, and calls mapped over it.

    Forward passes are mapped with `torch.func.vmap`; gradients come from the ordinary engine applied to the stacked
    tensors, so that an ordinary optimiser steps all replicas at once. A single replica is called directly.

    Args:
        methods: one module per replica, equal but for their values.
        device: training device.

    Attributes:
        parameters: name -> (S, ...) leaf tensors.
        buffers: name -> (S, ...).
        model: names of the tensors of the model, without state that is re-estimated from the data.
        fixed: first and last task of a chunk -> (S, n, ...) cached output of `CrowdMethod.fixed`.
    """

    def __init__(self, methods: Sequence[CrowdMethod], device: torch.device) -> None:
        self.size = len(methods)
        template = methods[0]
        self.method = type(template)
        self.model = tuple(template.state_dict())
        self.parameters = {
            name: torch.stack([m.get_parameter(name).detach() for m in methods])
            .to(device)
            .requires_grad_(p.requires_grad)
            for name, p in template.named_parameters()
        }
        self.buffers = {
            name: torch.stack([m.get_buffer(name) for m in methods]).to(device) for name, _ in template.named_buffers()
        }
        self.fixed: dict[tuple[int, int], Tensor] = {}
        self._dispatch = _Dispatch(template)

    def tensors(self) -> dict[str, Tensor]:
        """All parameters and buffers, (S, ...) each."""
        return {**self.parameters, **self.buffers}

    def train(self, mode: bool) -> None:
        """Switch training mode (dropout, batch statistics) on or off."""
        self._dispatch.train(mode)

    def call(self, name: str, *arguments: Any, in_dims: Any = None, state: dict[str, Tensor] | None = None) -> Any:
        """Call the method's ``name`` for every replica.

        Args:
            name: a method of the module.
            arguments: its arguments.
            in_dims: per argument 0 if it has a leading replica axis, else None (see `torch.vmap`); for a tuple of
                tensors a tuple of the same type. None: all replicas share the arguments.
            state: values to use instead of `tensors`.

        Returns:
            The method's return value, every tensor with a leading replica axis.
        """
        state = {f"method.{k}": v for k, v in (self.tensors() if state is None else state).items()}
        dims = (None,) * len(arguments) if in_dims is None else in_dims
        if self.size == 1:
            single = tree_map(
                lambda d, a: a if d is None else a.squeeze(0), dims, arguments, is_leaf=lambda dim: dim is None
            )
            out = functional_call(self._dispatch, {k: v.squeeze(0) for k, v in state.items()}, (name, *single))
            return tree_map(lambda t: t.unsqueeze(0), out)

        def call_one(values: dict[str, Tensor], *given: Any) -> Any:
            return functional_call(self._dispatch, values, (name, *given))

        return vmap(call_one, in_dims=(0, *dims), randomness="different")(state, *arguments)


def learning_rate(training: TrainSettings, epoch: int) -> float:
    """Scheduled learning rate of an epoch (from 0)."""
    share = epoch / training.epochs
    if training.schedule == "cosine":
        return training.lr * (1 + math.cos(math.pi * share)) / 2
    if training.schedule == "step":
        return training.lr * 0.1 ** ((share >= 0.5) + (share >= 0.75))
    return training.lr


class Optimiser:
    """Adam or SGD over stacked parameters; its arithmetic is per element, so replicas are independent.

    Args:
        parameters: leaf tensors.
        training: settings of the optimiser and its schedule.
        rates: learning rate of each parameter as a multiple of ``training.lr``; None = 1.
    """

    def __init__(
        self, parameters: Sequence[Tensor], training: TrainSettings, rates: Sequence[float] | None = None
    ) -> None:
        self.training = training
        self.parameters = [p for p in parameters if p.requires_grad]
        cuda = self.parameters[0].is_cuda
        grouped: dict[float, list[Tensor]] = {}
        for p, rate in zip(parameters, rates or [1.0] * len(parameters), strict=True):
            if p.requires_grad:
                grouped.setdefault(rate, []).append(p)
        # A learning rate is a tensor, so that recorded steps see its changes.
        dtype = torch.float32 if cuda else torch.float64
        groups: list[dict[str, Any]] = [
            {"params": params, "rate": rate, "lr": torch.zeros((), dtype=dtype, device=params[0].device)}
            for rate, params in grouped.items()
        ]
        decay = training.weight_decay
        self._inner: torch.optim.Optimizer
        if training.optimizer == "adam":
            self._inner = torch.optim.Adam(groups, weight_decay=decay, fused=True, capturable=cuda)
        else:
            self._inner = torch.optim.SGD(groups, momentum=training.momentum, weight_decay=decay, fused=True)
        # A step of length 0 creates the moments, which must exist before a step is recorded.
        for p in self.parameters:
            p.grad = torch.zeros_like(p)
        self.step()
        self.clear()
        self.forget()

    def forget(self) -> None:
        """Reset the moments."""
        for value in self.tensors().values():
            value.zero_()

    def start_epoch(self, epoch: int) -> None:
        """Set the learning rate of an epoch (from 0)."""
        lr = learning_rate(self.training, epoch)
        for group in self._inner.param_groups:
            group["lr"].fill_(lr * group["rate"])

    def step(self) -> None:
        """Apply the gradients."""
        self._inner.step()

    def clear(self) -> None:
        """Drop the gradients."""
        for p in self.parameters:
            p.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The moments by name; changing them in place changes the optimiser."""
        return {
            f"{i}.{name}": value
            for i, p in enumerate(self.parameters)
            for name, value in self._inner.state[p].items()
            if isinstance(value, Tensor)
        }


class Steps:
    """Gradient steps of one stack of replicas.

    Args:
        replicas: the stack.
        optimiser: of its parameters.
        feed: its batches; of fixed width when steps are recorded.
        record: record a step of each shape once and replay it, where that is possible.

    Attributes:
        terms: names of the loss's terms, known after the first step.
    """

    def __init__(self, replicas: Replicas, optimiser: Optimiser, feed: Feed, record: bool) -> None:
        self.replicas, self.optimiser, self.feed = replicas, optimiser, feed
        self.terms: tuple[str, ...] = ()
        self._whole = feed.data.stretch(slice(0, feed.n)) if feed.shared else None
        self._recorded: dict[tuple[int, ...], Callable[[tuple[Tensor, ...]], Tensor]] = {}
        self._record = find_recorder(feed.data.device) if record else None

    def epoch(self, number: int) -> Tensor:
        """Train one epoch; (n_terms, S) mean terms of the loss, still on the device."""
        extra = self._extra(number)
        self.replicas.train(True)
        if self._whole is not None:
            return self._run((), self.feed.n, *(e[:, 0] for e in extra)).clone()
        parts = []
        for k, index in enumerate(self.feed.epoch(number)):
            n = index.task.shape[1]
            parts.append(self._run(tuple(index), n, *(e[:, k] for e in extra)) * (n / self.feed.n))
        return torch.stack(parts).sum(0)

    def _extra(self, number: int) -> tuple[Tensor, ...]:
        """Tasks and labels (S, n_steps, ...) from `CrowdMethod.extra`; () without."""
        if self.replicas.method.extra is CrowdMethod.extra:
            return ()
        with torch.no_grad():
            extra = self.replicas.call("extra", number, self.feed.n_batches)
        if not extra:
            return ()
        task, label = extra
        return (task if self.feed.data.resident else task.cpu(), label)

    def _run(self, index: tuple[Tensor, ...], n: int, *extra: Tensor) -> Tensor:
        """One step, replayed or eager; (n_terms, S) terms of the loss."""
        index = (*extra, *index)
        key = (n, *(i.shape[-1] for i in index))
        if self._record and key not in self._recorded:
            static = tuple(i.clone() for i in index)
            state = [*self.replicas.tensors().values(), *self.optimiser.tensors().values()]
            self.optimiser.clear()
            try:
                self._recorded[key] = self._record(lambda: self._step(static), static, state)
            except UnrecordableError:
                self._record = None
        return self._recorded[key](index) if self._record else self._step(index)

    def _step(self, index: tuple[Tensor, ...]) -> Tensor:
        extra = index[: len(index) % 3]
        batch = self._whole if self._whole is not None else self.feed.data.batch(Index(*index[len(extra) :]))
        if extra:
            batch = batch._replace(extra=self.feed.data.inputs(extra[0]), extra_label=extra[1])
        own = batch._fields if self._whole is None else ("extra", "extra_label")
        axes: Any = [0 if name in own and field is not None else None for name, field in batch._asdict().items()]
        terms = self.replicas.call("loss", batch, in_dims=(Batch(*axes),))
        self.terms = tuple(terms)
        losses = list(terms.values())
        ones = [torch.ones_like(loss) for loss in losses]
        gradients = torch.autograd.grad(losses, self.optimiser.parameters, ones, allow_unused=True)
        for parameter, gradient in zip(self.optimiser.parameters, gradients, strict=True):
            # Fused optimisers walk parameter and gradient in memory order, so both must have the same layout.
            parameter.grad = None if gradient is None else gradient.contiguous()
        self.optimiser.step()
        return torch.stack(losses).detach()


def find_recorder(device: torch.device) -> Callable[..., Callable[[tuple[Tensor, ...]], Tensor]] | None:
    """The class that records steps on a device, called as `CudaGraph` is; None if steps must be eager.

    On a CPU that is so with an untested version of PyTorch, or if an internal is missing.
    """
    if device.type == "cuda":
        return CudaGraph
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if not TESTED_TORCH[0] <= version <= TESTED_TORCH[1]:
        return None
    try:
        from crowdcore.learning.training.program import Program
    except ImportError:
        return None
    return partial(Program, memory=[])
