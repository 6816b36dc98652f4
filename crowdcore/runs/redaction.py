"""Keeping secrets out of the record: passwords in addresses, and values of the environment that look like keys."""

from __future__ import annotations

import os
import re

_IN_ADDRESS = re.compile(r"(\w+://)[^/\s@]+@")
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE_KEY", re.IGNORECASE)
_SHORTEST = 6  # shorter values would blot out ordinary words


def redact(text: str) -> str:
    """The text without passwords in addresses, and without the values of variables such as ``…_TOKEN``."""
    text = _IN_ADDRESS.sub(r"\1…@", text)
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name):
            text = text.replace(value, f"<{name}>")
    return text
