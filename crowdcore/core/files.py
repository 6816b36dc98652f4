"""Write files atomically, retry locked ones; workspace, and the cache of downloads."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def workspace(folder: Path | str | None = None) -> Path:
    """The absolute path of ``folder``, else of ``CROWDCORE_WORKSPACE``, else of ``workspace`` in the current folder."""
    return Path(folder or os.environ.get("CROWDCORE_WORKSPACE") or "workspace").resolve()


def cache_folder() -> Path:
    """Folder of downloaded datasets."""
    try:
        import platformdirs
    except ModuleNotFoundError:  # a machine that only trains need not have it
        return Path.home() / ".cache" / "crowdcore" / "datasets"
    return Path(platformdirs.user_cache_dir("crowdcore")) / "datasets"


patience = 0.0
"""Seconds for which a file that is locked or out of reach is tried again."""


@contextlib.contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Retry files that are locked or out of reach for some seconds, as commands do; pages do not wait."""
    global patience
    before, patience = patience, seconds
    try:
        yield
    finally:
        patience = before


@contextlib.contextmanager
def replacing(path: Path, overwrite: bool = False, draft: str = "") -> Iterator[Path]:
    """Yield an unused name beside ``path``; the file or folder made there replaces ``path`` at the end.

    When the block fails, what was made is removed and ``path`` stays as it was. Errors name ``path``.

    Args:
        path: a file, or a folder that is empty or not there.
        overwrite: also replace a folder that is not empty.
        draft: the name to yield, for work during which this process may be killed: the next call removes the remains.
            Default: a hidden one that no other process uses.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "numbers.txt"
        ...     with replacing(file) as draft:
        ...         _ = draft.write_text("1 2 3")
        ...     file.read_text()
        '1 2 3'
    """
    made = path.with_name(draft or f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        _remove(made)
        yield made
        if overwrite and made.is_dir() and path.exists():
            old = made.with_name(f"{made.name}.old")
            path.rename(old)
            made.rename(path)
            shutil.rmtree(old, ignore_errors=True)
        else:
            made.replace(path)
    except OSError as error:
        if error.errno is None or error.filename not in {None, str(made)}:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        _remove(made)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create_private(path: Path) -> int:
    """Create a file that only its owner may read; returns its descriptor, to be read and written."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds an object; empty when it is not there, or holds something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file as a whole, for its owner alone; its folder is made if need be."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with replacing(path) as draft, os.fdopen(create_private(draft), "w", encoding="utf-8") as file:
        json.dump(value, file)
