"""A step recorded on a CPU: a list of kernel calls on fixed memory, as a CUDA graph is on CUDA.

Most of the time of a small step goes into Python, the mapping over replicas, the autograd engine, allocations and
views. All of this happens once, while recording. A replay computes the same numbers, bit for bit.

Measured on LabelMe (CoNAL and crowd-layer, batches of 64, one thread): a replay takes 0.32 to 0.35 of an eager step. A
replay by public means, the graph of `torch.fx.experimental.proxy_tensor.make_fx`, takes 0.5 to 0.7, and recording it
takes five times as long as here. `torch.compile` needs a C++ compiler and a minute for steps that then take as long as
here. So this module uses internals of PyTorch; `steps.TESTED_TORCH` are the versions it was tested with.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, Node
from torch.fx.node import map_arg
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from crowdcore.learning.training.device import UnrecordableError, restore

_UNDECLARED_VIEWS = {"aten::_unsafe_view"}
_COPIES = {"aten::clone", "aten::_to_copy"}
_UNSET = {f"aten::{n}" for n in ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")}
_OF_SHAPE = {f"aten::{n}" for n in ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")}
_WRITERS = {"aten.relu.default": partial(torch.clamp_min, min=0), "aten.sum.default": partial(torch.sum, dim=None)}


class Program:
    """A function of fixed shapes as calls of kernels.

    Args:
        function: reads ``inputs``, returns a tensor; other tensors that it reads or changes keep their place in memory.
        inputs: its static input tensors.
        state: all tensors that it changes, restored after the recording.
        memory: blocks for intermediate values, shared with programs that never run at the same time; grows.

    Raises:
        UnrecordableError: the function cannot be recorded, or an internal of PyTorch has changed.
    """

    def __init__(
        self, function: Callable[[], Tensor], inputs: tuple[Tensor, ...], state: Sequence[Tensor], memory: list[Tensor]
    ) -> None:
        self.inputs = inputs
        before = [t.detach().clone() for t in state]
        try:
            recorder = _Recorder()
            with recorder:
                output = function()
            recorder.graph.output(recorder.node(output))
            restore(state, before)
            with torch.no_grad():
                compiler = _Compiler(recorder, memory)
                self.output: Tensor = compiler.run()
        except (AttributeError, TypeError, RuntimeError) as error:
            raise UnrecordableError(str(error)) from error
        finally:
            restore(state, before)
        self.calls = compiler.calls

    def __call__(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run on other inputs; the next run overwrites the result."""
        with torch.no_grad():
            for static, value in zip(self.inputs, inputs, strict=True):
                static.copy_(value)
            for call in self.calls:
                call()
        return self.output


class _Recorder(TorchDispatchMode):
    """Records the operations of a function, below autograd and vmap.

    Attributes:
        graph: the operations, in order.
        existing: name -> a tensor that existed before.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.graph, self.existing = Graph(), dict[str, Tensor]()
        self._nodes: MutableMapping[Tensor, Node] = WeakTensorKeyDictionary()
        self._external: set[int] = set()  # addresses of the existing tensors' memory
        self._allocated: dict[int, StorageWeakRef] = {}  # address -> memory that an operation has allocated

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.data_dependent_output in op.tags:
            raise RuntimeError(f"control flow depends on values ({op})")
        node_args, node_kwargs = tree_map_only(Tensor, self.node, (args, kwargs))
        node = self.graph.call_function(op, tuple(node_args), node_kwargs)
        result = op(*args, **kwargs)
        if isinstance(result, Tensor):
            self._add(result, node)
        elif isinstance(result, (tuple, list)):
            for i, part in enumerate(result):
                if isinstance(part, Tensor):
                    self._add(part, self.graph.call_function(operator.getitem, (node, i)))
        return result

    def node(self, tensor: Tensor) -> Node:
        """The node that computes a tensor."""
        if tensor not in self._nodes:
            address = tensor.untyped_storage().data_ptr()
            if address in self._allocated and not self._allocated[address].expired():
                raise RuntimeError("a tensor was computed outside PyTorch's operations")
            name = f"existing_{len(self.existing)}"
            self.existing[name] = tensor
            self._external.add(address)
            self._nodes[tensor] = self.graph.create_node("get_attr", name)
        return self._nodes[tensor]

    def _add(self, tensor: Tensor, node: Node) -> None:
        self._nodes[tensor] = node
        storage = tensor.untyped_storage()
        if tensor.numel() and storage.data_ptr() not in self._external:
            self._allocated[storage.data_ptr()] = StorageWeakRef(storage)


class _Compiler:
    """Runs a recorded graph once, and collects the calls that repeat it.

    Every value gets its place in memory. Views are taken and constants computed now, once; the memory of a value is
    reused after the last node that needs it.

    Attributes:
        calls: the calls of a replay.
    """

    def __init__(self, recorded: _Recorder, memory: list[Tensor]) -> None:
        recorded.graph.eliminate_dead_code()
        self.existing = recorded.existing
        self.nodes = [n for n in recorded.graph.nodes if getattr(n.target, "namespace", "") != "profiler"]
        self.calls: list[Callable[[], Any]] = []
        self.constant: set[Node] = set()
        self.source, self.root, self.written = _find_shared_memory(self.nodes)
        self.dying: dict[Node, list[Node]] = {}
        for root, last in {self.root[n]: node for node in self.nodes for n in (node, *node.all_input_nodes)}.items():
            self.dying.setdefault(last, []).append(root)
        self.blocks: dict[Node, list[Tensor]] = {}
        self.memory, self.free = memory, list(memory)

    def run(self) -> Any:
        """Run the graph and return its output."""
        values: dict[Node, Any] = {}
        for node in self.nodes:
            args, kwargs = (map_arg(a, values.__getitem__) for a in (node.args, node.kwargs))
            if node.op == "output":
                return args[0]
            if node.op == "get_attr":
                values[node] = self.existing[str(node.target)]
            elif node.target is operator.getitem:
                values[node] = args[0][args[1]]
            else:
                values[node] = self._operation(node, node.target, args, kwargs)
            for root in self.dying.get(node, ()):
                self.free += self.blocks.pop(root, ())
        raise AssertionError("a graph ends with its output")

    def _operation(self, node: Node, op: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of an operation, and add the call that repeats it."""
        name, changes = op._schema.name, op._schema.is_mutable
        if torch.Tag.inplace_view in op.tags:  # a new shape for an old tensor; here, another view of it
            return op(args[0].detach(), *args[1:], **kwargs)
        if changes and (node in self.source or not op._schema.returns):
            try:
                return self._repeat(_native(name, op), args, kwargs)
            except TypeError:  # it takes other arguments
                return self._repeat(op, args, kwargs)
        result = op(*args, **kwargs)
        if name in _UNSET:
            return self._place(node, result)
        again = changes or torch.Tag.nondeterministic_seeded in op.tags
        if not again and (name in _OF_SHAPE or all(n in self.constant for n in node.all_input_nodes)):
            if self.root[node] not in self.written:
                self.constant.add(node)
                return result
            if isinstance(result, Tensor) and not result.any():
                return self._repeat(Tensor.zero_, (self._place(node, result),), {})
        if node in self.source:
            return result
        if name in _COPIES:
            return self._repeat(Tensor.copy_, (self._place(node, result), args[0]), {})
        single = isinstance(result, Tensor)
        results = (result,) if single else tuple(result)
        used = {0} if single else {user.args[1] for user in node.users}
        places = tuple(self._place(node, r) if i in used else None for i, r in enumerate(results))
        if again or not self._written_by_kernel(op, args, kwargs, results, places):
            self.calls.append(partial(_move, partial(op, *args, **kwargs), places))
            _move(lambda: results, places)
        return places[0] if single else places

    def _written_by_kernel(
        self, op: Any, args: Any, kwargs: Any, results: Sequence[Tensor], places: Sequence[Any]
    ) -> bool:
        """Add the call of a kernel that writes the results into their places; False if there is none."""
        for kernel, names in _kernels(op):
            if len(names) != len(places) or any(place is None for place in places):
                continue
            try:
                self._repeat(kernel, args, {**kwargs, **dict(zip(names, places, strict=True))})
            except (TypeError, RuntimeError):
                continue
            if all(map(_same, results, places)):
                return True
            self.calls.pop()
        return False

    def _repeat(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a kernel, now and in every replay."""
        call = partial(kernel, *args, **kwargs)
        result = call()
        self.calls.append(call)
        return result

    def _place(self, node: Node, like: Tensor) -> Tensor:
        """A place for a result of ``node``, until its last use."""
        extent = 1 + sum((n - 1) * step for n, step in zip(like.shape, like.stride(), strict=True))
        size = extent * like.itemsize if like.numel() else 0
        block = min((f for f in self.free if size <= f.numel() <= 2 * size), key=Tensor.numel, default=None)
        if block is None:
            block = torch.empty(size, dtype=torch.uint8)
            self.memory.append(block)
        self.free = [f for f in self.free if f is not block]
        self.blocks.setdefault(node, []).append(block)
        return block[:size].view(like.dtype).as_strided(like.shape, like.stride())


def _move(call: Callable[[], Any], places: Sequence[Tensor | None]) -> None:
    results = call()
    for place, result in zip(places, (results,) if isinstance(results, Tensor) else results, strict=True):
        if place is not None:
            place.copy_(result)


def _same(a: Tensor, b: Tensor) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _native(name: str, op: Any) -> Any:
    """The Python function of an in-place operation, which is faster than the operation by its schema."""
    name = name.removeprefix("aten::")
    return getattr(Tensor, name, getattr(torch, name, op))


def _kernels(op: Any) -> Iterator[tuple[Callable[..., Any], list[str]]]:
    """Functions that may write the results of ``op`` into given tensors, with their parameter names; fastest first."""
    if str(op) in _WRITERS:
        yield _WRITERS[str(op)], ["out"]
    for module in (torch, getattr(torch._C, "_linalg", None), getattr(torch._C, "_nn", None)):
        if name := getattr(module, op._schema.name.removeprefix("aten::"), None):
            yield name, ["out"]
    arguments = [(a.name, str(a.type)) for a in op._schema.arguments]
    n = len(arguments)
    for overload in (getattr(op.overloadpacket, o) for o in op.overloadpacket.overloads()):
        all_arguments = overload._schema.arguments
        given, out = all_arguments[:n], all_arguments[n:]
        written = [a.name for a in out if a.alias_info is not None and a.alias_info.is_write]
        if written and len(written) == len(out) and [(a.name, str(a.type)) for a in given] == arguments:
            yield overload, written


def _find_shared_memory(nodes: Sequence[Node]) -> tuple[dict[Node, Node], dict[Node, Node], set[Node]]:
    """Node -> node whose memory it shares; node -> first node in that memory; the first nodes that are written to."""
    source: dict[Node, Node] = {}
    root: dict[Node, Node] = {}
    written: set[Node] = set()
    for node in nodes:
        schema: Any = getattr(node.target, "_schema", None)
        if node.target is operator.getitem or (schema and schema.name in _UNDECLARED_VIEWS):
            source[node] = node.all_input_nodes[0]
        for i, argument in enumerate(schema.arguments if schema else ()):
            value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
            shared = [n for n in (value if isinstance(value, list) else [value]) if isinstance(n, Node)]
            if shared and argument.alias_info is not None:
                if argument.alias_info.is_write:
                    written.update(root[n] for n in shared)
                if any(returned.alias_info is not None for returned in schema.returns):
                    source.setdefault(node, shared[0])
        root[node] = root[source[node]] if node in source else node
    return source, root, written
