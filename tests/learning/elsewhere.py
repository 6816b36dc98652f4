"""A device that is not there: tensors on it may not meet those of the host, as on a GPU, and live in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda")


class Elsewhere(Tensor):
    """A tensor that is said to be on the GPU."""


class ImaginaryGpu(TorchFunctionMode):
    """Within: what goes to ``"cuda"`` stays in memory, marked."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        leaves = tree_leaves((args, kwargs))
        marked = any(isinstance(a, Elsewhere) for a in leaves)
        sent = any(_names_device(a) and torch.device(a).type == "cuda" for a in leaves)
        name = getattr(func, "__name__", "")
        if name == "_parse_to":  # of a module; it moves its tensors one by one
            return func(*args, **(kwargs or {}))
        if marked and func == Tensor.device.__get__:
            return CUDA
        if marked and name in ("numpy", "__array__"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        apart = [a for a in leaves if isinstance(a, Tensor) and not isinstance(a, Elsewhere) and a.dim()]
        if marked and apart and name not in ("__getitem__", "__setitem__", "copy_", "to"):
            raise RuntimeError(f"{func} of tensors on two devices")
        args, kwargs = tree_map(_plain, (args, kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            out = func(*args, **kwargs)
        if name in ("cpu", "tolist", "item") or not (marked or sent):
            return out
        return tree_map(lambda t: t.as_subclass(Elsewhere) if isinstance(t, Tensor) else t, out)


def _names_device(value: Any) -> bool:
    return isinstance(value, torch.device) or (isinstance(value, str) and value in ("cpu", "cuda"))


def _plain(value: Any) -> Any:
    if isinstance(value, Elsewhere):
        return value.as_subclass(Tensor)
    return torch.device("cpu") if _names_device(value) else value
