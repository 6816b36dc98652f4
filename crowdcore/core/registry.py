"""A folder is a registry: a module found there is listed everywhere under its own file name.

``aggregation/dawid_skene.py`` is ``dawid-skene``; it holds exactly one public subclass of the folder's base
class. Modules whose name starts with ``_``, and those named in ``skip``, are shared helpers, not members.
A name with a colon, ``crowd-kit:GLAD``, is asked of the helper module that ``foreign`` gives for its first part.
Third parties add members through the entry-point group ``crowdcore.methods`` (name = registered name).
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from crowdcore.core.errors import SettingError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """The members of a package folder by name; a member's module is imported only when it is asked for.

    Args:
        package: dotted name of the folder, e.g. ``"crowdcore.aggregation"``.
        base: the class whose subclasses count.
        kind: what to call a member in a refusal ("aggregator", "method").
        skip: modules of the folder that are no members (``base`` always is none).
        foreign: prefix -> dotted module with ``member(name) -> class``; found by name, never listed.
    """

    def __init__(
        self,
        package: str,
        base: type[T],
        kind: str,
        skip: tuple[str, ...] = (),
        foreign: Mapping[str, str] | None = None,
    ) -> None:
        self.package, self.base, self.kind, self.skip = package, base, kind, {"base", *skip}
        self.foreign = foreign or {}

    @cached_property
    def modules(self) -> dict[str, str]:
        """Member name -> dotted module, in alphabetical order."""
        path = importlib.import_module(self.package).__path__
        found = sorted(m.name for m in pkgutil.iter_modules(path) if not m.ispkg)
        return {
            name.replace("_", "-"): f"{self.package}.{name}"
            for name in found
            if not name.startswith("_") and name not in self.skip
        }

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        return {e.name: e for e in entry_points(group="crowdcore.methods")}

    @cached_property
    def _external(self) -> dict[str, type[T]]:
        loaded = {name: e.load() for name, e in self._entry_points.items()}
        return {n: c for n, c in loaded.items() if isinstance(c, type) and issubclass(c, self.base)}

    def __getitem__(self, name: str) -> type[T]:
        if name in self.modules:
            return self._member(importlib.import_module(self.modules[name]).__name__)
        if name in self._external:
            return self._external[name]
        prefix, _, rest = name.partition(":")
        if prefix in self.foreign:
            member: type[T] = importlib.import_module(self.foreign[prefix]).member(rest)
            return member
        raise KeyError(name)

    def _member(self, module_name: str) -> type[T]:
        module = importlib.import_module(module_name)
        classes = [
            c
            for c in vars(module).values()
            if isinstance(c, type)
            and issubclass(c, self.base)
            and c.__module__ == module_name
            and not c.__name__.startswith("_")
        ]
        if len(classes) != 1:
            raise TypeError(f"{module_name} must hold exactly one public {self.base.__name__}, has {classes}.")
        return classes[0]

    def __iter__(self) -> Iterator[str]:
        yield from self.modules
        yield from (name for name in self._external if name not in self.modules)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, name: str) -> type[T]:
        """The member called ``name``, or a refusal that names the nearest one.

        Raises:
            SettingError: no such member.
        """
        try:
            return self[name]
        except KeyError:
            near = difflib.get_close_matches(name, list(self), n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise SettingError(self.kind, "name one that exists", name, f"{hint}Known: {', '.join(self)}.") from None

    def by_class_name(self, class_name: str) -> type[T] | None:
        """The member whose class is called ``class_name`` (imports the folder), or None."""
        return next((c for c in (self[n] for n in self) if c.__name__ == class_name), None)
