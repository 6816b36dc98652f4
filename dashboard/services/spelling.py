"""One line of text for a method and its settings: ``conal regularisation=0 variant=authors``; stands in addresses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from crowdcore.core.errors import SettingError

__all__ = ["read", "spell"]


def spell(method: str, settings: Mapping[str, Any]) -> str:
    """The line; `read` gives back the same names and values."""
    return " ".join([method, *(f"{name}={_word(value)}" for name, value in settings.items())])


def read(line: str) -> tuple[str, dict[str, Any]]:
    """Method and settings of a line.

    Raises:
        SettingError: a word that is no ``setting=value``.
    """
    method, *words = line.split() or [""]
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise SettingError("setting", "be written as name=value", word)
        settings[name] = _value(unquote(value))
    return method, settings


def _word(value: object) -> str:
    """One word that `_value` reads back: JSON, without the quotes of texts that need none."""
    return quote(value if isinstance(value, str) and _value(value) == value else json.dumps(value), safe="")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
