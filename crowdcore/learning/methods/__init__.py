"""Learning from crowds: the members of this folder are the methods.

``methods.names()`` lists them, ``methods.get("conal")`` gives the class; only the latter loads torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdcore.core.registry import Registry

if TYPE_CHECKING:
    from crowdcore.learning.base import CrowdMethod

__all__ = ["REGISTRY", "get", "names"]

REGISTRY: Registry[CrowdMethod] = Registry(__name__, "crowdcore.learning.base:CrowdMethod", "method")


def names() -> list[str]:
    """Names of all methods, e.g. ``"conal"``."""
    return list(REGISTRY)


def get(name: str | type[CrowdMethod]) -> type[CrowdMethod]:
    """The method called ``name``; a class is itself.

    Raises:
        SettingError: no such method; the nearest one is suggested.
    """
    return REGISTRY.find(name)
