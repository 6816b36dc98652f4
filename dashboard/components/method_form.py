"""A form for a method's settings, drawn from its pydantic model."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.core.settings import FormField, Settings, check_settings, form_fields
from crowdcore.learning.learners import value_in_words
from dashboard.components.text import as_text


def method_form(
    model: type[Settings],
    values: Mapping[str, Any],
    key: str,
    *,
    without: Collection[str] = (),
    open: Mapping[str, str] = MappingProxyType({}),
    kept: bool = False,
) -> dict[str, Any]:
    """Draw one field per setting: numbers, choices, switches; descriptions as help.

    A field gives what it shows, also where training would refuse it: then the reason stands below it, and
    `check_settings` raises it. Settings of other kinds (lists, models) are not drawn and keep their value.

    Args:
        model: the settings.
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
    for name, field in form_fields(model).items():
        if name in without:
            continue
        value = values.get(name, None if name in open else field.default)
        with grid.cell():
            widget = f"{key}-{name}-open" if name in open else f"{key}-{name}"
            drawn = _field(field, value, widget, "session" if kept else None, open.get(name))
            if drawn is not None:
                chosen[name] = drawn[0]
                if drawn[0] is not None or name not in open:
                    _refusal(model, name, drawn[0])
    if not chosen:
        st.caption("This method has no settings.")
    return chosen


def _refusal(model: type[Settings], name: str, value: Any) -> None:
    """Say why training would refuse a value."""
    try:
        check_settings(model, {name: value})
    except CrowdError as refusal:
        st.caption(f":red[{as_text(refusal)}]")


def _field(
    field: FormField, value: Any, key: str, kept: Literal["session"] | None, empty: str | None
) -> tuple[Any] | None:
    """Draw a setting and return its value (in a tuple, as it may be None), or None if it cannot be drawn.

    Numbers have no bounds in the browser, which would keep showing a number beyond them and send the one before.

    Args:
        field: the setting.
        value: what the field shows.
        key: of the widget.
        kept: whether it keeps its value while another page is shown.
        empty: what stands in it while nothing is chosen; None: it begins with its value.
    """
    common: dict[str, Any] = {"help": as_text(field.description) or None, "key": key, "persist_state": kept}
    how: dict[str, Any]
    if empty is not None:
        at_first(key, float(value) if field.kind == "number" and value is not None else value)
        value = None
    if field.choices or (field.kind == "boolean" and empty is not None):
        options = field.choices or (True, False)
        at = options.index(value) if value in options else None if empty is not None else 0
        how = {"format_func": value_in_words, "placeholder": empty}
        return (st.selectbox(field.title, options, index=at, **how, **common),)
    if field.kind == "boolean":
        return (st.toggle(field.title, value=bool(value), **common),)
    if field.kind in {"integer", "number"}:
        number = int if field.kind == "integer" else float
        how = {"step": 1} if field.kind == "integer" else {"step": _step(field.default), "format": "%g"}
        shown = None if value is None else number(value)
        placeholder = empty if empty is not None else "not set" if field.optional else None
        return (st.number_input(field.title, value=shown, placeholder=placeholder, **how, **common),)
    if field.kind == "text":
        text = st.text_input(field.title, value=value, placeholder=empty, **common)
        return (text or (None if empty is not None or field.optional else ""),)
    return None


def at_first(key: str, value: Any) -> None:
    """Fill a field once, with a value that is not its default, so that it can be emptied and stays empty."""
    if value is not None and key not in st.session_state:
        st.session_state[key] = value


def _step(value: float | None) -> float:
    """A tenth of the default's order of magnitude."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) - 1)) if value else 0.01
