"""Lines of text for crowds to plant, as addresses hold them: the simulator, what varies, and on which tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowdcore.core.method_string import read, spell
from crowdcore.core.settings import form_fields
from crowdcore.data import simulate
from crowdcore.data.simulate import TaskChoice


def read_crowd(line: str) -> tuple[str, dict[str, Any]]:
    """Simulator and settings of a line such as ``synthetic common_strength=0.7``.

    Raises:
        SettingError: no such simulator or setting, or a value out of bounds.

    Examples:
        >>> read_crowd("synthetic common_strength=0.7")
        ('synthetic', {'common_strength': 0.7})
    """
    name, settings = read(line)
    simulate.get(name)(**settings)
    return name, settings


def spell_crowd(name: str, settings: Mapping[str, Any]) -> str:
    """The line of a simulator whose settings are these; those that equal their default are left out."""
    fields = form_fields(simulate.get(name))
    return spell(name, {k: v for k, v in settings.items() if k not in fields or _plain(fields[k].default) != _plain(v)})


def _plain(value: Any) -> Any:
    """A value as a line gives it, which has lists only."""
    return list(value) if isinstance(value, tuple) else value


def read_values(text: str) -> list[Any]:
    """The values of a text such as ``0.4, 0.7``; words stay words."""
    return [read(f"x y={part.strip()}")[1]["y"] for part in text.split(",") if part.strip()]


def read_vary(lines: Sequence[str]) -> dict[str, list[Any]]:
    """Setting -> values, of lines ``setting=[…]``.

    Raises:
        SettingError: a line that is no such thing.
    """
    found = {setting: values for line in lines for setting, values in read(f"vary {line}")[1].items()}
    return {setting: values if isinstance(values, list) else [values] for setting, values in found.items()}


def spell_vary(setting: str, values: Sequence[Any]) -> str:
    """A line that `read_vary` reads."""
    return spell("", {setting: list(values)})


def read_tasks(line: str) -> dict[str, Any]:
    """Which tasks of a dataset, of a line that `spell_tasks` wrote.

    Raises:
        SettingError: a line that is no such thing.
    """
    settings = read(line or "tasks")[1]
    TaskChoice(**settings)
    return settings


def spell_tasks(settings: Mapping[str, Any]) -> str:
    """Which tasks of a dataset; empty for all."""
    return spell("tasks", settings) if settings else ""
