"""Public sources of named datasets; every file of this folder is one.

``sources.names()`` lists them and ``sources.fetch(name)`` downloads and converts one into the user's cache, where
`crowdcore.load_dataset` finds it.
"""

from __future__ import annotations

from pathlib import Path

from crowdcore.core.registry import Registry
from crowdcore.data.sources._download import DownloadError, Progress
from crowdcore.data.sources.base import RemoteFile, Source

__all__ = ["REGISTRY", "DownloadError", "Progress", "RemoteFile", "Source", "fetch", "get", "names"]

REGISTRY: Registry[Source] = Registry(__name__, Source, "source")


def names() -> list[str]:
    """Datasets that `fetch` takes."""
    return list(REGISTRY)


get = REGISTRY.find
"""The source of a dataset, by name."""


def fetch(name: str, *, url_base: str | None = None, force: bool = False, progress: Progress | None = None) -> Path:
    """Download a named dataset and convert it into the user's cache, where `crowdcore.load_dataset` finds it.

    An interrupted download continues when this is called again. The dataset appears in the cache complete or not at
    all, and the downloaded files are deleted then; their SHA-256 stay recorded.

    Args:
        name: one of `names`.
        url_base: a mirror's address that holds the source's files under their own names.
        force: fetch and convert again even if it exists.
        progress: called with a file's name, the bytes here and all bytes (None = unknown).

    Returns:
        The dataset's folder.

    Raises:
        SettingError: no such source.
        DownloadError: a file could not be fetched, or differs from the one fetched before.
        DataError: a file is damaged, unsafe or not in the source's known layout.
    """
    from crowdcore.data.sources._download import fetch_source

    return fetch_source(get(name)(), url_base=url_base, force=force, progress=progress)
