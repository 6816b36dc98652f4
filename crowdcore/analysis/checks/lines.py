"""Rules for a crowd as lines of text, which stand in addresses: ``name=value`` for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdcore.analysis.checks.rules import LIMITS, Rules, parse_rules, recommended
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import FormField, form_fields

NOTHING = "nothing"
"""The line where somebody has switched all rules off."""
_MOST = 100_000  # bytes of a file of rules
FIELDS: Mapping[str, FormField] = {name: field for name, field in form_fields(Rules).items() if name != "reference"}
"""Setting -> its field in a form; the reference is chosen in the sidebar."""


def read_rule_lines(texts: Sequence[str]) -> dict[str, Any]:
    """Setting -> value: ``name=value`` each as `spell_rules` writes them; without any the recommended limits."""
    given = dict(text.split("=", 1) for text in texts if "=" in text) if texts else recommended()
    values = {name: field.default for name, field in FIELDS.items() if name not in LIMITS}
    return values | {name: _number(text) for name, text in given.items()}


def _number(text: str | float) -> str | float:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def spell_rules(values: Mapping[str, Any]) -> list[str]:
    """The lines: limits that are given, and settings that are not the default."""
    usual = {name: field.default for name, field in FIELDS.items()}
    chosen = {name: value for name, value in values.items() if value not in (None, "", usual.get(name))}
    return [f"{name}={str(value).removesuffix('.0')}" for name, value in chosen.items()] or [NOTHING]


def lines_of_file(name: str, content: bytes) -> tuple[list[str], str]:
    """The lines of a file of rules, and the reference that it names; empty if none.

    Raises:
        CrowdError: the file holds no rules, or other ones than there are.
    """
    if len(content) > _MOST:
        raise SettingError("rules", f"be a file of at most {_MOST // 1000} kB", f"{len(content) // 1000:,} kB")
    rules = parse_rules(content, Path(name))
    return spell_rules(rules.model_dump(exclude={"reference"})), rules.reference
