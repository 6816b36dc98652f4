"""A pickle read as data: a tree of plain values and *named* calls that are never made.

No unpickler runs: the opcodes that a file of arrays consists of are followed here one by one, a call is only
written down, and a name that is not on the list ends the reading. So a hostile file can execute nothing.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass, field
from typing import IO, Any

from crowdcore.core.errors import DataError

__all__ = ["Call", "Name", "PersistentId", "read_pickle_tree"]


@dataclass(frozen=True)
class Name:
    """A global the pickle mentions, as ``module.name``."""

    name: str


@dataclass
class Call:
    """A call the pickle asks for, written down but not made; ``state`` is what it would be built with."""

    name: str
    args: tuple[Any, ...]
    state: Any = None


@dataclass(frozen=True)
class PersistentId:
    """A reference to something outside of the pickle."""

    id: Any


@dataclass
class _Machine:
    allowed: frozenset[str]
    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def to_mark(self) -> list[Any]:
        at = self.marks.pop()
        items, self.stack[at:] = self.stack[at:], []
        return items

    def named(self, name: str) -> Name:
        if name not in self.allowed:
            raise DataError(
                f"The file asks for `{name}`, which no file of arrays needs: it was refused and nothing was executed"
            )
        return Name(name)

    def step(self, opcode: str, arg: Any) -> None:
        """Follow one opcode."""
        stack = self.stack
        if opcode in _PUSH_ARGUMENT:
            stack.append(arg)
        elif opcode in _PUSH_CONSTANT:
            stack.append(_PUSH_CONSTANT[opcode])
        elif opcode in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append({} if opcode == "EMPTY_DICT" else [])
        elif opcode in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
            self.memo[len(self.memo) if opcode == "MEMOIZE" else arg] = stack[-1]
        elif opcode in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[arg])
        elif opcode == "MARK":
            self.marks.append(len(stack))
        elif opcode == "TUPLE":
            stack.append(tuple(self.to_mark()))
        elif opcode in _TUPLE_SIZE:
            stack[-_TUPLE_SIZE[opcode] :] = [tuple(stack[-_TUPLE_SIZE[opcode] :])]
        elif opcode in ("APPEND", "APPENDS"):
            items = self.to_mark() if opcode == "APPENDS" else [stack.pop()]
            stack[-1].extend(items)
        elif opcode in ("SETITEM", "SETITEMS"):
            items = self.to_mark() if opcode == "SETITEMS" else [stack.pop(-2), stack.pop()]
            stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif opcode == "GLOBAL":
            stack.append(self.named(arg.replace(" ", ".", 1)))
        elif opcode == "STACK_GLOBAL":
            stack[-2:] = [self.named(f"{stack[-2]}.{stack[-1]}")]
        elif opcode in ("REDUCE", "NEWOBJ"):
            function, args = stack[-2:]
            if not isinstance(function, Name) or not isinstance(args, tuple):
                raise DataError("The file calls something that has no name: it was refused and nothing was executed")
            stack[-2:] = [Call(function.name, args)]
        elif opcode == "BUILD":
            state = stack.pop()
            if not isinstance(stack[-1], Call):
                raise DataError("The file sets the state of something that is no array: it was refused")
            stack[-1].state = state
        elif opcode == "BINPERSID":
            stack.append(PersistentId(stack.pop()))
        elif opcode not in ("PROTO", "FRAME", "STOP"):
            raise DataError(f"The file uses the pickle operation {opcode}, which no file of arrays needs: refused")


_PUSH_ARGUMENT = {
    *("BININT", "BININT1", "BININT2", "LONG1", "INT", "LONG", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINUNICODE8", "UNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING"),
}
_PUSH_CONSTANT = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLE_SIZE = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def read_pickle_tree(stream: IO[bytes], allowed: frozenset[str]) -> Any:
    """Read one pickle from a stream, up to its end, into a tree.

    Args:
        stream: stands after the pickle when this returns.
        allowed: names, as ``module.name``, that may be mentioned.

    Raises:
        DataError: another name or operation, or no pickle at all.
    """
    machine = _Machine(allowed)
    try:
        for opcode, arg, _ in pickletools.genops(stream):
            machine.step(opcode.name, arg)
        return machine.stack.pop()
    except DataError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise DataError(f"The file is no complete pickle ({error})") from error
