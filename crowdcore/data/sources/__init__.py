"""Public sources of named datasets; every file of this folder is one.

``sources.names()`` lists them and ``sources.fetch(name)`` downloads and converts one into the user's cache, where
`crowdcore.load_dataset` finds it.
"""

from __future__ import annotations

from crowdcore.core.registry import Registry
from crowdcore.data.sources._download import DownloadError, Progress
from crowdcore.data.sources.base import RemoteFile, Source

__all__ = ["REGISTRY", "DownloadError", "Progress", "RemoteFile", "Source", "get", "names"]

REGISTRY: Registry[Source] = Registry(__name__, Source, "source")  # type: ignore[type-abstract]


def names() -> list[str]:
    """Datasets that `fetch` takes."""
    return list(REGISTRY)


def get(name: str) -> type[Source]:
    """The source of a named dataset.

    Raises:
        SettingError: no such source.
    """
    return REGISTRY.find(name)
