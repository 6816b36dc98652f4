"""Where a workspace is: what was trained, uploads, marks and the key of pseudonyms."""

from __future__ import annotations

import os
from pathlib import Path


def workspace(folder: Path | str | None = None) -> Path:
    """The absolute path of ``folder``, else of ``CROWDCORE_WORKSPACE``, else of ``workspace`` in the current folder."""
    return Path(folder or os.environ.get("CROWDCORE_WORKSPACE") or "workspace").resolve()
