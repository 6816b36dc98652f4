"""Rules for a crowd as the address bar holds them, and the files that a check makes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdcore.analysis.checks.rules import LIMITS, Rules, parse_rules, recommended
from crowdcore.core.errors import SettingError
from crowdcore.core.json_schema import fields_of
from dashboard.services.runs import spelled

NOTHING = "nothing"
"""Stands in the address where somebody has switched all rules off."""
_MOST = 100_000  # bytes of a file of rules
FIELDS: Mapping[str, Mapping[str, Any]] = {
    name: field for name, field in fields_of(Rules.model_json_schema()).items() if name != "reference"
}
"""Setting -> its field in a form; the reference is chosen in the sidebar."""


def values_at(texts: Sequence[str]) -> dict[str, Any]:
    """Setting -> value: ``name=value`` each as the address holds them, the recommended limits if it holds nothing."""
    given = dict(text.split("=", 1) for text in texts if "=" in text) if texts else recommended()
    values = {name: field.get("default") for name, field in FIELDS.items() if name not in LIMITS}
    return values | {name: _number(text) for name, text in given.items()}


def _number(text: str | float) -> str | float:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def spell(values: Mapping[str, Any]) -> list[str]:
    """What the address holds: limits that are given, and settings that are not the default."""
    usual = {name: field.get("default") for name, field in FIELDS.items()}
    chosen = {name: value for name, value in values.items() if value not in (None, "", usual.get(name))}
    return [f"{name}={str(value).removesuffix('.0')}" for name, value in chosen.items()] or [NOTHING]


def read_upload(name: str, content: bytes) -> tuple[list[str], str]:
    """A file of rules for the address, and the reference that it names; empty if none.

    Raises:
        CrowdError: the file holds no rules, or other ones than there are.
    """
    if len(content) > _MOST:
        raise SettingError("rules", f"be a file of at most {_MOST // 1000} kB", f"{len(content) // 1000:,} kB")
    rules = parse_rules(content, Path(name))
    return spell(rules.model_dump(exclude={"reference"})), rules.reference


def command_line(dataset: str, strict: bool, hidden: bool) -> str:
    """The command that checks the same rules, once they are downloaded."""
    options = [*(["--strict"] if strict else []), *(["--hide-names"] if hidden else [])]
    files = ["--rules", "rules.yaml", "--junit", "check.xml", "--html", "check.html"]
    return shlex.join(["crowdcore", "check", spelled(dataset), *files, *options])
