"""Settings as a JSON schema describes them, where the model itself is not loaded: fields of a form, and refusals."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from crowdcore.core.errors import SettingError

_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("exclusiveMinimum", "more than", operator.gt),
    ("maximum", "at most", operator.le),
    ("exclusiveMaximum", "less than", operator.lt),
)
_KINDS = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}


def fields_of(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Setting -> its field: references followed, ``T | None`` as T with ``optional``, ``title`` always in words."""
    definitions = schema.get("$defs", {})
    return {
        name: {**(field := _resolved(described, definitions)), "title": _title(name, field)}
        for name, described in schema.get("properties", {}).items()
    }


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(field)
    if "anyOf" in found:
        kinds = [k for k in found.pop("anyOf") if k.get("type") != "null"]
        optional = len(kinds) < len(field["anyOf"])
        if len(kinds) > 1 and all(k.get("type") == "boolean" or "const" in k for k in kinds):
            choices = [[k["const"]] if "const" in k else [True, False] for k in kinds]
            return {**found, "enum": sorted(itertools.chain(*choices), key=lambda c: isinstance(c, bool))}
        found = {**(kinds[0] if len(kinds) == 1 else {}), **found, "optional": optional}
    if "$ref" in found:
        found = {**definitions.get(str(found.pop("$ref")).rsplit("/", 1)[-1], {}), **found}
    return found


def _title(name: str, field: Mapping[str, Any]) -> str:
    """Its title, unless pydantic made it from the name."""
    title = str(field.get("title", ""))
    return title if title and title != name.replace("_", " ").title() else name.replace("_", " ").capitalize()


def check(schema: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse what training would refuse.

    Raises:
        SettingError: a setting that is not there, or a value that it does not take.
    """
    fields = fields_of(schema)
    for name, value in values.items():
        if name not in fields:
            raise SettingError("a setting", f"be one of {', '.join(fields) or 'none'}", name)
        must = _must(fields[name], value)
        if must:
            raise SettingError(fields[name]["title"], must, value)


def _must(field: Mapping[str, Any], value: Any) -> str:
    """What a value has to be and is not; "" if it is fine."""
    if value is None:
        return "" if field.get("optional") else "be given"
    if "enum" in field:
        return "" if value in field["enum"] else f"be one of {', '.join(map(str, field['enum']))}"
    kind = str(field.get("type"))
    if kind in {"integer", "number"}:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"be {_KINDS[kind]}"
        if kind == "integer" and not float(value).is_integer():
            return f"be {_KINDS[kind]}"
        for bound, how, holds in _BOUNDS:
            if bound in field and not holds(value, field[bound]):
                return f"be {how} {field[bound]:g}"
        return ""
    python = {"boolean": bool, "string": str, "object": dict}.get(kind, object)
    return "" if isinstance(value, python) else f"be {_KINDS.get(kind, kind)}"
