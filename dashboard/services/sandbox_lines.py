"""What the sandbox writes into the address: short lines of text, checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowdcore.core import method_string as spelling
from crowdcore.core.errors import SettingError

__all__ = [
    "MOST_SEEDS",
    "read_tasks",
    "read_training",
    "read_values",
    "read_vary",
    "spell_tasks",
    "spell_training",
    "spell_vary",
]

MOST_SEEDS = 100


def read_values(text: str) -> list[Any]:
    """The values of a text such as ``0.4, 0.7``; words stay words."""
    return [spelling.read(f"x y={part.strip()}")[1]["y"] for part in text.split(",") if part.strip()]


def read_vary(lines: Sequence[str]) -> dict[str, list[Any]]:
    """Setting -> values, of lines ``setting=[…]``.

    Raises:
        SettingError: a line that is no such thing.
    """
    found = {}
    for line in lines:
        for setting, values in spelling.read(f"vary {line}")[1].items():
            found[setting] = values if isinstance(values, list) else [values]
    return found


def spell_vary(setting: str, values: Sequence[Any]) -> str:
    """A line that `read_vary` reads."""
    return spelling.spell("vary", {setting: list(values)}).partition(" ")[2]


def read_tasks(line: str) -> dict[str, Any]:
    """Which tasks of a dataset, of a line that `spell_tasks` wrote.

    Raises:
        SettingError: a line that is no such thing.
    """
    from crowdcore.data.simulate import TaskChoice

    settings = spelling.read(line or "tasks")[1]
    TaskChoice(**settings)
    return settings


def spell_tasks(settings: Mapping[str, Any]) -> str:
    """Which tasks of a dataset; empty for all."""
    return spelling.spell("tasks", settings) if settings else ""


def read_training(line: str) -> dict[str, Any]:
    """Seeds and settings of the trainer, of a line that `spell_training` wrote.

    Raises:
        SettingError: a setting that there is not, or a value out of bounds.
    """
    from crowdcore.learning.settings import TrainSettings

    settings = spelling.read(line or "training")[1]
    seeds = settings.pop("seeds", 1)
    if not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
        raise SettingError("seeds", f"be a whole number from 1 to {MOST_SEEDS}", seeds)
    TrainSettings(**settings)
    return {"seeds": seeds, **settings}


def spell_training(settings: Mapping[str, Any]) -> str:
    """Seeds and settings of the trainer as a line."""
    return spelling.spell("training", settings)
