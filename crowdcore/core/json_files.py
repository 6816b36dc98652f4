"""Small JSON files that are read while others write them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object; empty when it is not there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file as a whole, for its owner alone: readers see the old one or the new one."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as written:
        json.dump(value, written)
    draft.replace(path)
