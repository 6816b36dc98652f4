"""A device that is not there: its tensors hold values, and may not meet those of the host, as on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from crowdcore.learning.training.device import resolve_device, restore

THERE = torch.device("meta")  # has no kernels of its own, so that what happens there is said here
HOST = torch.device("cpu")
# A GPU takes indices and copies from the host.
_FROM_HOST = {
    "aten.copy_.default",
    "aten.index.Tensor",
    "aten._unsafe_index.Tensor",
    "aten.index_put.default",
    "aten.index_put_.default",
    "aten._index_put_impl_.default",
    "aten._to_copy.default",
}
_ASKS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class Elsewhere(Tensor):
    """A tensor on the device; its values are in memory."""

    values: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> Elsewhere:
        made: Elsewhere = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            values.size(),
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            device=THERE,
        )
        made.values = values
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Elsewhere({self.values})"

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves = _leaves((args, kwargs))
        apart = [a for a in leaves if isinstance(a, Tensor) and not isinstance(a, Elsewhere) and a.dim()]
        if apart and str(op) not in _FROM_HOST:
            raise RuntimeError(f"{op} of tensors on two devices")
        out = op(*_each(_here, args), **_each(_here, kwargs))
        if torch.Tag.inplace_view in op.tags:  # another shape of the same tensor
            with torch._C._DisableTorchDispatch():
                op(*args, **kwargs)
        if _is(kwargs.get("device"), HOST):
            return out
        known = {id(_here(a)): a for a in leaves if isinstance(a, Tensor)}  # what is changed in place stays itself
        return _each(lambda t: known[id(t)] if id(t) in known else Elsewhere(t) if isinstance(t, Tensor) else t, out)


class _Operations(TorchDispatchMode):
    """Operations that make tensors there, or send them there."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _leaves((args, kwargs))
        if any(isinstance(a, Elsewhere) for a in given) or not _is(kwargs.get("device"), THERE):
            return op(*args, **kwargs)
        out = op(*args, **{**kwargs, "device": HOST})
        return Elsewhere(out.clone() if any(out is a for a in given) else out)


class _Functions(TorchFunctionMode):
    """Functions that PyTorch answers without an operation."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        if func is Tensor.is_cuda.__get__:
            return args[0].device == THERE
        if func in (torch.tensor, torch.as_tensor) and _is(kwargs.get("device"), THERE):
            return func(*args, **{**kwargs, "device": HOST}).to(THERE)
        if name == "new_tensor" and args[0].device == THERE:
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(THERE)
        if func is torch.gru and not args[7] and torch.is_grad_enabled() and args[0].requires_grad:
            raise RuntimeError("cuDNN has no gradient of a recurrent network outside training mode")
        if func is Tensor.tolist:
            return args[0].cpu().tolist()
        return func(*args, **kwargs)


class _Capturing(TorchDispatchMode):
    """Refuse what a CUDA graph cannot hold: waiting for the device, and memory of the host but for single numbers."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, str(op)
        tensors = [a for a in _leaves((args, kwargs)) if isinstance(a, Tensor)]
        chosen = [t for t in _leaves(args[1:2]) if isinstance(t, Tensor)] if name in _FROM_HOST else []
        masked = name in _FROM_HOST and any(t.dtype == torch.bool for t in chosen)
        waits = masked or (name not in _FROM_HOST and _ASKS & set(op.tags))
        apart = any(t.dim() and not isinstance(t, Elsewhere) for t in tensors)
        moves = _is(kwargs.get("device"), HOST) and any(isinstance(t, Elsewhere) for t in tensors)
        if waits or apart or moves:
            raise RuntimeError(f"{op} in a CUDA graph")
        return op(*args, **kwargs)


class ImaginedGraph:
    """Stand-in for a recorded step that runs it again."""

    def __init__(self, function: Callable[[], Tensor], inputs: tuple[Tensor, ...], state: Sequence[Tensor]) -> None:
        self.function, self.inputs = function, inputs
        before = [t.detach().clone() for t in state]
        with _Capturing():
            function()
        restore(state, before)

    def __call__(self, inputs: tuple[Tensor, ...]) -> Tensor:
        for static, value in zip(self.inputs, inputs, strict=True):
            static.copy_(value)
        return self.function()


@contextmanager
def imagined_gpu() -> Iterator[torch.device]:
    """Let trainers find the device as ``"cuda"``; gradients, mappings, optimisers and recording work there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crowdcore.learning.training.steps.find_recorder", lambda device: ImaginedGraph)
        for name, module in list(sys.modules.items()):
            names = vars(module)
            if name.startswith("crowdcore.") and "resolve_device" in names:
                patch.setattr(
                    module, "resolve_device", lambda asked: THERE if asked == "cuda" else resolve_device(asked)
                )
            if name.startswith("torch.") and "_get_fused_kernels_supported_devices" in names:
                patch.setattr(module, "_get_fused_kernels_supported_devices", lambda: ["cpu", "cuda", THERE.type])
        with _Operations(), _Functions():
            yield THERE


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    """Map a function over leaves of lists, tuples and dictionaries, several times faster than torch's `tree_map`."""
    if isinstance(value, (tuple, list)):
        return type(value)([_each(function, part) for part in value])
    if isinstance(value, dict):
        return {key: _each(function, part) for key, part in value.items()}
    return function(value)


def _leaves(value: Any) -> list[Any]:
    """The leaves of lists, tuples and dictionaries."""
    leaves: list[Any] = []
    _each(leaves.append, value)
    return leaves


def _is(device: Any, which: torch.device) -> bool:
    return isinstance(device, (str, torch.device)) and torch.device(device).type == which.type


def _here(value: Any) -> Any:
    if isinstance(value, Elsewhere):
        return value.values
    return HOST if isinstance(value, torch.device) else value
