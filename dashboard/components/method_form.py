"""A form for a method's settings, drawn from the JSON schema of its pydantic model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from dashboard.components.text import as_text

__all__ = ["method_form"]

_OPEN = 1e-12  # how far inside an excluded bound the nearest value of a form is
_LARGEST = 2**53 - 1  # whole numbers that a browser can hold


def method_form(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    key: str,
    *,
    without: Collection[str] = (),
    open: Mapping[str, str] = MappingProxyType({}),
    kept: bool = False,
) -> dict[str, Any]:
    """Draw one field per setting: numbers with their bounds, choices, switches; descriptions as help.

    Settings of other kinds (lists, models) are not drawn and keep their value.

    Args:
        schema: from ``Model.model_json_schema()``.
        values: what the fields show where it is not the default.
        key: unique on the page; the fields are called ``{key}-{setting}``, those in ``open`` ``{key}-{setting}-open``.
        without: settings that are not drawn.
        open: setting -> what stands in its field while nothing is chosen; its value is then None.
        kept: whether the fields keep what was entered while another page is shown.

    Returns:
        The values of the fields drawn.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    definitions = schema.get("$defs", {})
    chosen: dict[str, Any] = {}
    grid = st.grid(2, min_column_width=170, gap="xsmall", vertical_alignment="bottom")
    for name, described in properties.items():
        if name in without:
            continue
        field = _resolved(described, definitions)
        if name in open:
            field |= {"optional": True, "empty": open[name]}
            if field.get("type") == "boolean":
                field["enum"] = [True, False]
        value = values.get(name, None if name in open else field.get("default"))
        with grid.cell():
            widget = f"{key}-{name}-open" if name in open else f"{key}-{name}"
            drawn = _field(field, _label(field, name), value, widget, "session" if kept else None)
        if drawn is not None:
            chosen[name] = drawn[0]
    if not chosen:
        st.caption("This method has no settings.")
    return chosen


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The field with references followed, and ``T | None`` as T with ``optional``."""
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


def _label(field: Mapping[str, Any], name: str) -> str:
    return as_text(str(field.get("title", name)).replace("_", " ").capitalize())


def _field(
    field: Mapping[str, Any], label: str, value: Any, key: str, kept: Literal["session"] | None
) -> tuple[Any] | None:
    """Draw a setting and return its value (in a tuple, as it may be None), or None if it cannot be drawn."""
    described = as_text(field["description"]) if "description" in field else None
    common: dict[str, Any] = {"help": described, "key": key, "persist_state": kept}
    how: dict[str, Any]
    kind = field.get("type")
    if "enum" in field:
        options = list(field["enum"])
        at = options.index(value) if value in options else None if "empty" in field else 0
        how = {"format_func": _said, "placeholder": field.get("empty")}
        return (st.selectbox(label, options, index=at, **how, **common),)
    if kind == "boolean":
        return (st.toggle(label, value=bool(value), **common),)
    if kind in {"integer", "number"}:
        number = int if kind == "integer" else float
        low, high = (None if bound is None else number(bound) for bound in _bounds(field, kind))
        how = {"step": 1} if kind == "integer" else {"step": _step(value), "format": "%g"}
        shown = None if value is None else number(value)
        empty = field.get("empty", "not set") if field.get("optional") else None
        return (st.number_input(label, low, high, value=shown, placeholder=empty, **how, **common),)
    if kind == "string":
        return (st.text_input(label, value="" if value is None else str(value), **common) or value,)
    return None


def _said(option: Any) -> str:
    return ("no", "yes")[option] if isinstance(option, bool) else str(option)


def _bounds(field: Mapping[str, Any], kind: str) -> tuple[float | None, float | None]:
    inside = 1 if kind == "integer" else _OPEN
    low, high = field.get("minimum"), field.get("maximum")
    if "exclusiveMinimum" in field:
        low = field["exclusiveMinimum"] + inside
    if "exclusiveMaximum" in field:
        high = field["exclusiveMaximum"] - inside
    if kind == "integer":
        low, high = (None if b is None else max(-_LARGEST, min(_LARGEST, b)) for b in (low, high))
    return low, high


def _step(value: float | None) -> float:
    """A tenth of the value's order of magnitude."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) - 1)) if value else 0.01
