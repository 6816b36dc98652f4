"""Learning from crowds: the members of this folder are the methods.

``methods.names()`` lists them, ``methods.get("conal")`` gives the class; only the latter loads torch.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

from crowdcore.core.errors import SettingError
from crowdcore.core.registry import Registry, import_name

if TYPE_CHECKING:
    from crowdcore.learning.base import CrowdMethod

__all__ = ["REGISTRY", "get", "named", "names"]

REGISTRY: Registry[CrowdMethod] = Registry(__name__, "crowdcore.learning.base:CrowdMethod", "method")


def names() -> list[str]:
    """Names of all methods, e.g. ``"conal"``."""
    return list(REGISTRY)


def get(name: str | type[CrowdMethod]) -> type[CrowdMethod]:
    """The method called ``name``, which may be ``package.module:Class``; a class is itself.

    Raises:
        SettingError: no such method; the nearest one is suggested.
    """
    if isinstance(name, str) and ":" in name:
        try:
            return REGISTRY.find(pkgutil.resolve_name(name))
        except (ImportError, AttributeError, ValueError) as error:
            raise SettingError("method", "name something that can be imported", name, f"{error}.") from error
    return REGISTRY.find(name)


def named(method: type[CrowdMethod]) -> str:
    """The name by which `get` finds a method, also in another process; its own where there is none."""
    ours = method.__module__.startswith(f"{__name__.rpartition('.')[0]}.") or method.name in REGISTRY.plugins
    return method.name if ours else import_name(method) or method.name
