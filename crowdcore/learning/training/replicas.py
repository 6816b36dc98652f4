"""S replicas of a method in one pass over stacked parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from crowdcore.learning.base import CrowdMethod


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
        device: where they train.

    Attributes:
        parameters: name -> (S, ...) leaf tensors.
        buffers: name -> (S, ...).
        model: names of the tensors that make up the model (what re-estimation keeps for itself left out).
        fixed: first and last of some tasks -> (S, n, ...) what training does not change of their predictions.
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
        """Training mode (dropout, batch statistics) on or off."""
        self._dispatch.train(mode)

    def call(
        self,
        name: str,
        *arguments: Any,
        in_dims: Any = None,
        state: dict[str, Tensor] | None = None,
    ) -> Any:
        """Call the method's ``name`` for every replica.

        Args:
            name: a method of the module.
            arguments: its arguments.
            in_dims: per argument 0 where it has a leading replica axis, else None (as `torch.vmap` takes it); for a
                tuple of tensors a tuple of the same kind. None: the arguments are the same for all replicas.
            state: other values than the current ones, as `tensors` names them.

        Returns:
            What the method returns, every tensor with a leading replica axis.
        """
        state = {f"method.{k}": v for k, v in (self.tensors() if state is None else state).items()}
        dims = (None,) * len(arguments) if in_dims is None else in_dims
        if self.size == 1:
            single = tree_map(lambda d, a: a if d is None else a.squeeze(0), dims, arguments, is_leaf=_is_none)
            out = functional_call(self._dispatch, {k: v.squeeze(0) for k, v in state.items()}, (name, *single))
            return tree_map(lambda t: t.unsqueeze(0), out)

        def one(values: dict[str, Tensor], *given: Any) -> Any:
            return functional_call(self._dispatch, values, (name, *given))

        return vmap(one, in_dims=(0, *dims), randomness="different")(state, *arguments)


def _is_none(value: Any) -> bool:
    return value is None
