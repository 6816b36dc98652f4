"""Names and settings as text: how addresses, commands, run names and recorded runs write them.

- a line: ``conal regularisation=0 variant=authors``, values as JSON, other characters than letters percent-encoded;
- an option, a text of its own: ``regularisation=0``, ``sizes=[1, 2]``, with nothing encoded;
- a weighted mean of lines: ``0.7 gaussian-em + 0.3 dl-em^0.6``;
- seeds: ``6`` or ``0, 1, 7``; lists of values: ``0.4, 0.7``.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from crowdcore.core.errors import SettingError

_MOST_SEEDS = 1000
_JSON = ("[", "{", '"')


def spell_value(value: object) -> str:
    """JSON, without the quotes of texts that need none."""
    bare = isinstance(value, str) and not value.startswith(("[", "{")) and read_value(value) == value
    return str(value) if bare else json.dumps(value)


def read_value(text: str) -> Any:
    """The value of a text of `spell_value`: JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def spell_text(value: object) -> str:
    """The value of a text setting as `read_text` takes it: the text itself if it is printable, else JSON."""
    if isinstance(value, str) and value.isprintable() and not value.startswith(_JSON):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def read_text(text: str) -> Any:
    """The value of a text setting: the text, or JSON if it begins so, with numbers as they are written."""
    try:
        return json.loads(text, parse_int=str, parse_float=str) if text.startswith(_JSON) else text
    except ValueError:
        return text


def spell(name: str, settings: Mapping[str, Any]) -> str:
    """A line; `read` gives back the same name and values.

    Examples:
        >>> spell("conal", {"regularisation": 0, "variant": "authors"})
        'conal regularisation=0 variant=authors'
    """
    return " ".join(filter(None, [name, spell_settings(settings)]))


def spell_settings(settings: Mapping[str, Any]) -> str:
    """A line without a name; `read_settings` gives back the same values."""
    return " ".join(f"{name}={quote(spell_value(value), safe='')}" for name, value in settings.items())


def read(line: str) -> tuple[str, dict[str, Any]]:
    """Name and settings of a line; refuses a word that is no ``setting=value``."""
    name, _, words = line.strip().partition(" ")
    return name, read_settings(words)


def read_settings(line: str) -> dict[str, Any]:
    """The settings of a line without a name; refuses a word that is no ``setting=value``."""
    settings = {}
    for word in line.split():
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise SettingError("setting", "be written as name=value", word)
        settings[name] = read_value(unquote(value))
    return settings


def spell_options(settings: Mapping[str, Any]) -> list[str]:
    """An option for each setting; `read_options` gives back the same values."""
    return [f"{name}={spell_value(value)}" for name, value in settings.items()]


def read_options(options: Iterable[str], argument: str = "setting", texts: Collection[str] = ()) -> dict[str, Any]:
    """The settings of options such as ``sizes=[1, 2]``, which refusals call ``argument``; names are trimmed.

    ``texts`` are settings of text (`crowdcore.core.settings.text_settings`): ``task=1`` is a text, too.
    """
    settings: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not name.strip() or not equals:
            raise SettingError(argument, "look like NAME=VALUE", option)
        settings[name.strip()] = read_text(value) if name.strip() in texts else read_value(value)
        if value.startswith(("[", "{")) and settings[name.strip()] == value:
            remedy = f"""Quote it for the shell: {argument} '{name}=["a","b"]'."""
            raise SettingError(f"{argument} {name}", "be JSON where it begins with a bracket", value, remedy)
    return settings


def read_values(text: str) -> list[Any]:
    """The values of a text such as ``0.4, 0.7``; words stay words."""
    return [read_value(part.strip()) for part in text.split(",") if part.strip()]


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Escape what a terminal would obey: control characters, marks of writing direction, lone surrogates.

    Line breaks and tabs stay.

    Examples:
        >>> visible("a\\x1b[31mb")
        'a\\\\x1b[31mb'
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def log_visibly(name: str | None = None) -> None:
    """Have a logger (None: all) write its lines, tracebacks too, to standard error as `visible` text."""
    handler, logger = logging.StreamHandler(), logging.getLogger(name)
    handler.setFormatter(_Visible("%(asctime)s %(name)s %(message)s"))
    if not logger.handlers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


class Part(NamedTuple):
    """A method in a mean of several.

    Attributes:
        weight: of its probabilities to that power.
        line: method and settings.
        power: 1 leaves the probabilities as they are.
    """

    weight: float
    line: str
    power: float = 1.0


def spell_mean(parts: Sequence[Part]) -> str:
    """``0.7 gaussian-em + 0.3 dl-em^0.6`` for several methods, the line alone for a single one."""
    return parts[0].line if len(parts) == 1 else " + ".join(f"{part.weight:.2f} {_raised(part)}" for part in parts)


def _raised(part: Part) -> str:
    method, space, words = part.line.partition(" ")
    return part.line if part.power == 1 else f"{method}^{part.power:g}{space}{words}"


def read_mean(text: str) -> list[Part]:
    """The parts, weights with sum 1, of a text of `spell_mean`; refuses weights and powers that are not positive."""
    lines = text.strip().split(" + ")
    if len(lines) == 1:
        return [Part(1.0, lines[0])]
    parts = []
    for part in lines:
        weight, _, line = part.strip().partition(" ")
        method, space, words = line.partition(" ")
        name, raised, power = method.partition("^")
        parts.append(Part(_positive(weight, text), name + space + words, _positive(power, text) if raised else 1.0))
    total = sum(part.weight for part in parts)
    return [part._replace(weight=part.weight / total) for part in parts]


def _positive(word: str, text: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise SettingError("methods", "have a weight each, as in '0.7 gaussian-em + 0.3 dl-em^0.6'", text)
    return number


def spell_seeds(seeds: Sequence[int]) -> str:
    """``6`` for the first six seeds, else ``0, 1, 7``; a single one has a comma after it."""
    if list(seeds) == list(range(len(seeds))):
        return str(len(seeds))
    return ", ".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")


def read_seeds(text: str) -> tuple[int, ...]:
    """The seeds of a text of `spell_seeds`; refuses other than whole numbers, repeated seeds, none, and very many."""
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
