"""Learning from crowds: the members of this folder are the methods.

``methods.names()`` lists them, ``methods.get("conal")`` gives the class; only the latter loads torch.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

from crowdcore.core.errors import SettingError
from crowdcore.core.registry import Registry, import_name

if TYPE_CHECKING:
    from crowdcore.data.settings import LabelKind
    from crowdcore.learning.base import CrowdMethod

__all__ = ["RATINGS", "REGISTRY", "get", "named", "names"]

REGISTRY: Registry[CrowdMethod] = Registry(__name__, "crowdcore.learning.base:CrowdMethod", "method")
_OF_RATINGS = "crowdcore.learning.ratings"
RATINGS: Registry[CrowdMethod] = Registry(
    _OF_RATINGS, f"{_OF_RATINGS}.methods:RatingMethod", "method", skip=("result",), group="crowdcore.rating-methods"
)
"""The methods for ratings."""


def names() -> list[str]:
    """Names of all methods, e.g. ``"conal"``."""
    return list(REGISTRY)


def get(name: str | type[CrowdMethod], kind: LabelKind | None = None) -> type[CrowdMethod]:
    """The method called ``name``, which may be ``package.module:Class``, for labels of a kind; a class is itself.

    Raises:
        SettingError: no such method; the nearest one is suggested.
    """
    known = RATINGS if kind is not None and kind.numeric else REGISTRY
    if isinstance(name, str) and ":" in name:
        try:
            return known.find(pkgutil.resolve_name(name))
        except (ImportError, AttributeError, ValueError) as error:
            raise SettingError("method", "name something that can be imported", name, f"{error}.") from error
    if known is RATINGS and name in REGISTRY and name not in RATINGS:
        raise SettingError("method", "be one for ratings", name, f"Known: {', '.join(RATINGS)}.")
    return known.find(name)


def named(method: type[CrowdMethod]) -> str:
    """Name by which `get` finds a method, also in another process; its own name if there is none."""
    ours = method.__module__.startswith(f"{__name__.rpartition('.')[0]}.") or method.name in REGISTRY.plugins
    return method.name if ours else import_name(method) or method.name
