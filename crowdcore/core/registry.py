"""`Registry`: the classes of a folder by name, as Python, the commands and the app list them.

Members are the public subclasses of the folder's base class that give a ``name = "…"``; a module without such a line
has one member, named after the file. Names are read from the source, so that listing members loads none of them.
Modules whose name starts with ``_``, and those named in ``skip``, are shared helpers, not members.
A name with a colon, ``crowd-kit:GLAD``, is looked up in the helper module that ``foreign`` gives for its first part.
Third parties add members through the registry's entry-point group (name = registered name, value = the class).
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import logging
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.abc import InspectLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from crowdcore.core.errors import PluginError, SettingError, did_you_mean

T = TypeVar("T")
R = TypeVar("R")

_NAME = re.compile(r'^    name(?:: ClassVar\[str\])? = "([\w-]+)"', re.MULTILINE)
_log = logging.getLogger("crowdcore")


class Registry(Mapping[str, type[T]], Generic[T]):
    """The members of a package folder by name; a member's module is imported on first use.

    Args:
        package: dotted name of the folder, e.g. ``"crowdcore.aggregation"``.
        base: the class whose subclasses count, or its place (``"package.module:Class"``), which is imported with the
            first member.
        kind: noun for a member in a refusal ("aggregator", "method").
        skip: modules of the folder that are no members (``base`` always is none).
        foreign: prefix -> dotted module with ``member(name) -> class``; found by name, never listed.
        group: entry-point group of plug-ins; default: ``crowdcore.aggregators`` for the kind "aggregator".
    """

    def __init__(
        self,
        package: str,
        base: type[T] | str,
        kind: str,
        skip: tuple[str, ...] = (),
        foreign: Mapping[str, str] | None = None,
        group: str = "",
    ) -> None:
        self.package, self.kind, self.skip = package, kind, {"base", *skip}
        self._base = base
        self.foreign = foreign or {}
        self.group = group or f"crowdcore.{kind}s"

    @cached_property
    def base(self) -> type[T]:
        """Base class of the members."""
        return pkgutil.resolve_name(self._base) if isinstance(self._base, str) else self._base

    @cached_property
    def modules(self) -> dict[str, str]:
        """Member name -> dotted module, in alphabetical order."""
        folders, modules = importlib.import_module(self.package).__path__, dict[str, str]()
        for file in (file for folder in folders for file in Path(folder).glob("[!_]*.py")):
            if file.stem not in self.skip:
                names = _NAME.findall(file.read_text(encoding="utf-8")) or [file.stem.replace("_", "-")]
                modules |= dict.fromkeys(names, f"{self.package}.{file.stem}")
        return dict(sorted(modules.items()))

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """Member name -> entry point of a third party, not loaded; a module of the folder goes first."""
        return {name: entry for name, entry in plugged_in(self.group).items() if name not in self.modules}

    def __getitem__(self, name: str) -> type[T]:
        if name in self.modules:
            return self._member(name)
        if name in self.plugins:
            return self._plugin(self.plugins[name])
        prefix, _, rest = name.partition(":")
        if prefix in self.foreign:
            member: type[T] = importlib.import_module(self.foreign[prefix]).member(rest)
            return member
        raise KeyError(name)

    def _member(self, name: str) -> type[T]:
        module = importlib.import_module(self.modules[name])
        classes = [
            c
            for c in vars(module).values()
            if isinstance(c, type)
            and issubclass(c, self.base)
            and c.__module__ == module.__name__
            and not c.__name__.startswith("_")
        ]
        classes = [c for c in classes if vars(c).get("name") == name] or classes
        if len(classes) != 1:
            raise TypeError(f"{module.__name__} must hold one public {self.base.__name__} {name!r}, has {classes}.")
        return classes[0]

    def _plugin(self, entry: EntryPoint) -> type[T]:
        def wrong(loaded: Any) -> str:
            fits = isinstance(loaded, type) and issubclass(loaded, self.base)
            return "" if fits else f"is not a subclass of {self.base.__name__}"

        return cast("type[T]", load_plugin(self.kind, entry, wrong))

    def __iter__(self) -> Iterator[str]:
        yield from self.modules
        yield from self.plugins

    def __len__(self) -> int:
        return len(self.modules) + len(self.plugins)

    def __contains__(self, name: object) -> bool:
        """Return whether the name is that of a member, or a foreign one; nothing is loaded."""
        return name in self.modules or name in self.plugins or str(name).partition(":")[0] in self.foreign

    def describe(self, name: str) -> dict[str, Any]:
        """Attributes of a member that its source sets, see `described_classes`; {} without such."""
        return described_classes(self.modules[name]).get(name, {}) if name in self.modules else {}

    def map(self, function: Callable[[type[T]], R], names: Iterable[str] | None = None) -> dict[str, R]:
        """Results of ``function`` for each member, or those named; a plug-in that fails is left out and logged."""
        made = {}
        for name in self if names is None else names:
            try:
                made[name] = function(self[name])
            except Exception as error:
                if name not in self.plugins:
                    raise
                _log.warning("%s", _broken(self.kind, self.plugins[name], error))
        return made

    def usable(self) -> dict[str, type[T]]:
        """The members that can be loaded, by name."""
        return self.map(lambda member: member)

    def find(self, name: str | type[T]) -> type[T]:
        """Return the member called ``name``, or ``name`` if it is such a class; refusals suggest the nearest name."""
        if isinstance(name, type) and issubclass(name, self.base):
            return name
        if not isinstance(name, str):
            must = f"be a name or a subclass of {self.base.__name__}"
            raise SettingError(self.kind, must, getattr(name, "__name__", type(name).__name__))
        try:
            return self[name]
        except KeyError:
            remedy = f"{did_you_mean(name, self)}Known: {', '.join(self)}."
            raise SettingError(self.kind, "name one that exists", name, remedy) from None


def plugged_in(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group in installed packages, by name; none is loaded."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda e: e.name)}


def load_plugin(kind: str, entry: EntryPoint, wrong: Callable[[Any], str]) -> Any:
    """Load an entry point; ``wrong`` returns what is wrong with it, "" if nothing.

    Raises:
        PluginError: it cannot be imported, or is no such thing.
    """
    try:
        loaded = entry.load()
        if fault := wrong(loaded):
            raise TypeError(f"{entry.value} {fault}")
    except Exception as error:  # importing a plug-in may raise anything
        raise _broken(kind, entry, error) from error
    return loaded


def _broken(kind: str, entry: EntryPoint, error: Exception) -> PluginError:
    if isinstance(error, PluginError):
        return error
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module
    return PluginError(kind, entry.name, package, error)


def import_name(made: Any) -> str:
    """``package.module:Class`` of an object that can be imported by this name, else ""."""
    name = f"{getattr(made, '__module__', '')}:{getattr(made, '__qualname__', '')}"
    with contextlib.suppress(Exception):  # importing may raise anything
        return name if pkgutil.resolve_name(name) is made else ""
    return ""


def described_classes(module: str) -> dict[str, dict[str, Any]]:
    """Attributes of the classes of a module that set a ``name``, by this name; only the module's source is read.

    They are literals, also of base classes in the module, and names of other modules' objects as text ("" for names of
    classes in the module). ``description`` is the first paragraph of the docstring.
    """
    spec = find_spec(module)
    source = spec.loader.get_source(module) if spec is not None and isinstance(spec.loader, InspectLoader) else None
    nodes = [node for node in ast.parse(source or "").body if isinstance(node, ast.ClassDef)]
    classes: dict[str, dict[str, Any]] = {}
    for node in nodes:
        bases = [classes.get(base.id, {}) for base in node.bases if isinstance(base, ast.Name)]
        inherited = {key: value for base in reversed(bases) for key, value in base.items() if key != "name"}
        classes[node.name] = inherited | _attributes(node, {other.name for other in nodes})
    return {str(one["name"]): one for one in classes.values() if "name" in one}


def _attributes(node: ast.ClassDef, own: set[str]) -> dict[str, Any]:
    """First paragraph of a class's docstring, and its attributes; ``own``: classes of the module."""
    attributes: dict[str, Any] = {"description": " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())}
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
            if isinstance(line.value, ast.Name):
                attributes[line.target.id] = "" if line.value.id in own else line.value.id
            with contextlib.suppress(ValueError):
                attributes[line.target.id] = ast.literal_eval(line.value)
    return attributes
