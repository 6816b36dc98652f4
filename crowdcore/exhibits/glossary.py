"""Meanings of the columns and statistics of tables: for tooltips, the page Glossary and the docs.

They stand in ``glossary.md``, of which ``docs/figures/glossary.md`` is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from crowdcore import aggregation
from crowdcore.analysis.reference import REVIEWED
from crowdcore.analysis.verdicts import VERDICT_WORDS

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.exhibits.exhibit import Exhibit

PAGE = Path(__file__).with_suffix(".md")


def _read_parts() -> dict[str, dict[str, str]]:
    """Heading -> column -> meaning, of the tables of `PAGE`."""
    parts: dict[str, dict[str, str]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            parts[line.removeprefix("## ")] = {}
        elif line.startswith("| ") and line != "| column | meaning |":
            name, meaning = line.strip("| ").split(" | ", 1)
            parts[next(reversed(parts))][name] = meaning
    return parts


PARTS: Mapping[str, Mapping[str, str]] = _read_parts()
GLOSSARY: Mapping[str, str] = {name: words for part in PARTS.values() for name, words in part.items()}
"""Column -> meaning."""

_INTERVAL = "end of the 95 % interval."
_ENDINGS = {" ±": "Standard deviation over seeds.", "±": "Standard deviation over seeds."} | {
    f"{between}{end}": f"{word} {_INTERVAL}"
    for between in (" ", "_")
    for end, word in (("low", "Lower"), ("high", "Upper"))
}
"""Ending of a column -> words before the meaning of the rest of its name."""
_BEGINNINGS = {
    "agrees with ": "Whether the label is the class by the reference.",
    "rating of ": "What the worker said about the task.",
    "rating − ": "The rating minus the task's true rating, by gold or by an aggregator.",
    "mean − ": "Mean of the task's ratings minus its true rating, by gold or by an aggregator.",
}
"""Beginning of a column, before a name -> meaning."""


HEADINGS: Mapping[str, str] = {
    "skill κ": "knowledge",
    "κ low": "knowledge low",
    "κ high": "knowledge high",
    "agreement κ": "agreement with others",
    "bits per label": "information per label",
    "gain_bits": "information",
    "labels changed without": "labels that change",
    "gain": "chance of a wrong label",
}
"""Short names of columns, as in files -> headings for people."""


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Put columns and verdicts of a table in plain words."""
    plain = table.replace({"verdict": VERDICT_WORDS}) if "verdict" in table else table
    return plain.rename(columns=HEADINGS)


def meaning(column: str) -> str:
    """Explain a column by its name; empty for unknown ones, such as further columns of a file.

    Examples:
        >>> from crowdcore.exhibits.glossary import meaning
        >>> meaning("κ low")
        'Lower end of the 95 % interval of the skill κ.'
    """
    name = column.removesuffix(" %") if column not in GLOSSARY else column
    if name not in GLOSSARY and name.lower() in GLOSSARY:
        name = name.lower()
    if name in GLOSSARY:
        return GLOSSARY[name]
    for ending, words in _ENDINGS.items():
        base = meaning(name.removesuffix(ending)) if name.endswith(ending) else ""
        if base:
            return f"{words} {base}"
    for beginning, words in _BEGINNINGS.items():
        if column.startswith(beginning):
            return words
    kind = column.split()[0] if column.strip() else ""
    inferred = kind in {*REVIEWED, *aggregation.names(), *aggregation.ratings.names()}
    return GLOSSARY["reference"] if inferred or column.startswith("run:") else ""


def glossary() -> Exhibit:
    """All columns and their meanings."""
    import pandas as pd

    from crowdcore.exhibits.exhibit import Exhibit

    rows = [(name, words, part) for part, entries in PARTS.items() for name, words in entries.items()]
    return Exhibit("glossary", "Glossary", None, pd.DataFrame(rows, columns=["column", "meaning", "about"]))
