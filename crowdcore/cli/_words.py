"""Remedies as one types them: the library names the arguments of Python, a command has options."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

from crowdcore.core.errors import Remedy, either
from crowdcore.data.settings import RatingSettings

_OPTIONS = {"read": "--read ", "method": "--set ", "command": "--"}

_CHANGES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"accept=True \(--accept\)"), "--accept"),
    (re.compile(r"\b([Rr]ead|[Ll]oad) (them|it) with [a-z_ ]*_ratings\b"), r"\1 \2 with `crowdcore ratings`"),
    (re.compile(r"\bRead them with [a-z_ ]*_dataset\b"), "Leave out the word `ratings` of the command"),
    (
        re.compile(rf"(?<!--read )(?<![\w.'-])(?:{'|'.join(RatingSettings.model_fields)})=(?:…|'\w+'|\[[^\]]*\])"),
        lambda found: f"--read '{found[0]}'" if '"' in found[0] else f"--read {found[0]}",
    ),
    (re.compile(r"\bselect_on="), "--set select_on="),
    (
        re.compile(r"\bTake an aggregator, such as (\w+), as the reference\b"),
        r"Pass an aggregator, such as --reference \1",
    ),
)


def in_command(remedy: Remedy) -> str:
    """A remedy's action as an option of the command line: ``pass --read repeats=first``."""
    if remedy.of == "accept":
        return "pass --accept"
    if remedy.of == "kind":
        return "use `crowdcore ratings`" if remedy.value == "ratings" else "leave out the word `ratings` of the command"
    if remedy.of == "reference":
        return f"pass --reference {remedy.value}"

    def text(value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    if remedy.value is None:
        value = "…"
    else:
        value = either(map(text, remedy.value)) if isinstance(remedy.value, tuple) else text(remedy.value)
    pairs = [f"{name}={value}" for name in remedy.settings]
    quoted = [shlex.quote(pair) if '"' in pair else pair for pair in pairs]
    return f"pass {' and '.join(_OPTIONS[remedy.of] + pair for pair in quoted)}"


def as_typed(sentence: str) -> str:
    """A sentence of the library with the options of the command line in place of Python's arguments.

    >>> as_typed("The range of the ratings is not known. Pass it with low=… and high=….")
    'The range of the ratings is not known. Pass it with --read low=… and --read high=….'
    """
    for pattern, instead in _CHANGES:
        sentence = pattern.sub(instead, sentence)
    return sentence
