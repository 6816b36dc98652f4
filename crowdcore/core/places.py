"""Where files are: the workspace (runs, uploads, marks, the key of pseudonyms), and the cache of what was fetched."""

from __future__ import annotations

import os
from pathlib import Path


def workspace(folder: Path | str | None = None) -> Path:
    """The absolute path of ``folder``, else of ``CROWDCORE_WORKSPACE``, else of ``workspace`` in the current folder."""
    return Path(folder or os.environ.get("CROWDCORE_WORKSPACE") or "workspace").resolve()


def cache_folder() -> Path:
    """Where fetched datasets are kept."""
    try:
        import platformdirs
    except ModuleNotFoundError:  # a machine that only trains need not have it
        return Path.home() / ".cache" / "crowdcore" / "datasets"
    return Path(platformdirs.user_cache_dir("crowdcore")) / "datasets"
