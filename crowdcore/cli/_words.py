"""Remedies as one types them: the library names the arguments of Python, a command has options."""

from __future__ import annotations

import re
from collections.abc import Callable

from crowdcore.data.settings import RatingSettings

_CHANGES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"accept=True \(--accept\)"), "--accept"),
    (re.compile(r"\b([Rr]ead|[Ll]oad) (them|it) with [a-z_ ]*_ratings\b"), r"\1 \2 with `crowdcore ratings`"),
    (re.compile(r"\bRead them with [a-z_ ]*_dataset\b"), "Leave out the word `ratings` of the command"),
    (
        re.compile(rf"(?<![\w.'-])(?:{'|'.join(RatingSettings.model_fields)})=(?:…|'\w+'|\[[^\]]*\])"),
        lambda found: f"--read '{found[0]}'" if '"' in found[0] else f"--read {found[0]}",
    ),
    (re.compile(r"\bselect_on="), "--set select_on="),
    (
        re.compile(r"\bTake an aggregator, such as (\w+), as the reference\b"),
        r"Pass an aggregator, such as --reference \1",
    ),
)


def as_typed(sentence: str) -> str:
    """A sentence of the library with the options of the command line in place of Python's arguments.

    >>> as_typed("The range of the ratings is not known. Pass it with low=… and high=….")
    'The range of the ratings is not known. Pass it with --read low=… and --read high=….'
    """
    for pattern, instead in _CHANGES:
        sentence = pattern.sub(instead, sentence)
    return sentence
