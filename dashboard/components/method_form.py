"""A form for a method's settings, drawn from the JSON schema of its pydantic model."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.core.json_schema import check, fields_of
from crowdcore.learning.learners import value_in_words
from dashboard.components.text import as_text


def method_form(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    key: str,
    *,
    without: Collection[str] = (),
    open: Mapping[str, str] = MappingProxyType({}),
    kept: bool = False,
) -> dict[str, Any]:
    """Draw one field per setting: numbers, choices, switches; descriptions as help.

    A field gives what it shows, also where training would refuse it: then the reason stands below it, and
    `check` raises it. Settings of other kinds (lists, models) are not drawn and keep their value.

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
    chosen: dict[str, Any] = {}
    grid = st.grid(2, min_column_width=170, gap="xsmall", vertical_alignment="bottom")
    for name, field in fields_of(schema).items():
        if name in without:
            continue
        if name in open:
            field |= {"empty": open[name]}
            if field.get("type") == "boolean":
                field["enum"] = [True, False]
        value = values.get(name, None if name in open else field.get("default"))
        with grid.cell():
            widget = f"{key}-{name}-open" if name in open else f"{key}-{name}"
            drawn = _field(field, value, widget, "session" if kept else None)
            if drawn is not None:
                chosen[name] = drawn[0]
                if drawn[0] is not None or name not in open:
                    _refusal(schema, name, drawn[0])
    if not chosen:
        st.caption("This method has no settings.")
    return chosen


def _refusal(schema: Mapping[str, Any], name: str, value: Any) -> None:
    """Say why training would refuse a value."""
    try:
        check(schema, {name: value})
    except CrowdError as refusal:
        st.caption(f":red[{as_text(refusal)}]")


def _field(field: Mapping[str, Any], value: Any, key: str, kept: Literal["session"] | None) -> tuple[Any] | None:
    """Draw a setting and return its value (in a tuple, as it may be None), or None if it cannot be drawn.

    Numbers have no bounds in the browser, which would keep showing a number beyond them and send the one before.
    """
    label, described = field["title"], as_text(field["description"]) if "description" in field else None
    common: dict[str, Any] = {"help": described, "key": key, "persist_state": kept}
    how: dict[str, Any]
    kind = field.get("type")
    if "empty" in field:
        at_first(key, float(value) if kind == "number" and value is not None else value)
        value = None
    if "enum" in field:
        options = list(field["enum"])
        at = options.index(value) if value in options else None if "empty" in field else 0
        how = {"format_func": value_in_words, "placeholder": field.get("empty")}
        return (st.selectbox(label, options, index=at, **how, **common),)
    if kind == "boolean":
        return (st.toggle(label, value=bool(value), **common),)
    if kind in {"integer", "number"}:
        number = int if kind == "integer" else float
        how = {"step": 1} if kind == "integer" else {"step": _step(field.get("default")), "format": "%g"}
        shown = None if value is None else number(value)
        empty = field.get("empty", "not set") if field.get("optional") or "empty" in field else None
        return (st.number_input(label, value=shown, placeholder=empty, **how, **common),)
    if kind == "string":
        text = st.text_input(label, value=value, placeholder=field.get("empty"), **common)
        return (text or (None if "empty" in field or field.get("optional") else ""),)
    return None


def at_first(key: str, value: Any) -> None:
    """Have a field that may be emptied begin with a value, which is not its default: emptied, it stays empty."""
    if value is not None and key not in st.session_state:
        st.session_state[key] = value


def _step(value: float | None) -> float:
    """A tenth of the default's order of magnitude."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) - 1)) if value else 0.01
