"""One line of text for a method and its settings: ``conal regularisation=0 variant=authors``; stands in addresses."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from crowdcore.core.errors import SettingError

__all__ = ["read", "read_mean", "read_seeds", "read_settings", "spell", "spell_mean", "spell_seeds", "spell_settings"]

_MOST_SEEDS = 1000


def spell(method: str, settings: Mapping[str, Any]) -> str:
    """The line; `read` gives back the same names and values."""
    return " ".join(filter(None, [method, spell_settings(settings)]))


def spell_settings(settings: Mapping[str, Any]) -> str:
    """``name=value`` for each; `read_settings` gives back the same."""
    return " ".join(f"{name}={_word(value)}" for name, value in settings.items())


def read(line: str) -> tuple[str, dict[str, Any]]:
    """Method and settings of a line.

    Raises:
        SettingError: a word that is no ``setting=value``.
    """
    method, _, words = line.strip().partition(" ")
    return method, read_settings(words)


def read_settings(words: str) -> dict[str, Any]:
    """The settings of a line without a method.

    Raises:
        SettingError: a word that is no ``setting=value``.
    """
    settings: dict[str, Any] = {}
    for word in words.split():
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise SettingError("setting", "be written as name=value", word)
        settings[name] = _value(unquote(value))
    return settings


def spell_mean(parts: Sequence[tuple[float, str]]) -> str:
    """``0.7 gaussian-em + 0.3 dl-em`` for weights and lines of methods, the line alone for a single one."""
    return parts[0][1] if len(parts) == 1 else " + ".join(f"{weight:.2f} {line}" for weight, line in parts)


def read_mean(text: str) -> list[tuple[float, str]]:
    """Weights (sum 1) and lines of a text of `spell_mean`.

    Raises:
        SettingError: several methods, of which one has no positive weight before it.
    """
    lines = text.strip().split(" + ")
    if len(lines) == 1:
        return [(1.0, lines[0])]
    words = [line.strip().partition(" ") for line in lines]
    try:
        weights = [float(weight) for weight, _, _ in words]
    except ValueError:
        weights = [0.0]
    if not all(0 < weight < math.inf for weight in weights):
        raise SettingError("methods", "have a weight each, as in '0.7 gaussian-em + 0.3 dl-em'", text)
    return [(weight / sum(weights), line) for weight, (_, _, line) in zip(weights, words, strict=True)]


def spell_seeds(seeds: Sequence[int]) -> str:
    """``6`` for the first six seeds, else ``0, 1, 7``; a single one has a comma after it."""
    if list(seeds) == list(range(len(seeds))):
        return str(len(seeds))
    return ", ".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")


def read_seeds(text: str) -> tuple[int, ...]:
    """The seeds of a text of `spell_seeds`.

    Raises:
        SettingError: something else than whole numbers, a seed that is there twice, none, or very many.
    """
    words = [word.strip() for word in str(text).split(",")]
    listed = words[:-1] if len(words) > 1 and not words[-1] else words
    if not all(word.isdecimal() and word.isascii() for word in listed):
        must = "be how many (6 stands for the seeds 0 to 5) or which ones, with commas between them (0, 1, 7)"
        raise SettingError("Seeds", must, text)
    seeds = tuple(map(int, listed)) if len(words) > 1 else tuple(range(min(int(listed[0]), _MOST_SEEDS + 1)))
    if not 1 <= len(seeds) <= _MOST_SEEDS:
        raise SettingError("Seeds", f"be between 1 and {_MOST_SEEDS:,}", text)
    if len(set(seeds)) < len(seeds):
        raise SettingError("Seeds", "be different from each other", text)
    return seeds


def _word(value: object) -> str:
    """One word that `_value` reads back: JSON, without the quotes of texts that need none."""
    return quote(value if isinstance(value, str) and _value(value) == value else json.dumps(value), safe="")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
