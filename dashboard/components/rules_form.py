"""Rules for a crowd: a field for each limit, and a file of them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crowdcore.analysis.checks import lines
from crowdcore.analysis.checks.rules import LIMITS
from dashboard import state
from dashboard.components.guard import attempt
from dashboard.components.text import as_text

KEY = "check-rule-{}"  # of a setting's field
FILE = "check-file"


def rules_form() -> dict[str, Any]:
    """Draw the form; an empty limit is not checked. Returns setting -> value, None where it is empty."""
    values = lines.read_rule_lines(state.get_many("rules"))
    with st.expander("Rules", icon=":material/rule_settings:"):
        st.caption("Rules with an empty field are not checked. The names include the units.")
        _fields([name for name in lines.FIELDS if name in LIMITS], values)
        st.caption("How it is measured:")
        _fields([name for name in lines.FIELDS if name not in LIMITS], values)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.file_uploader(
                "Rules from a file", ["yaml", "yml", "toml", "json"], key=FILE, on_change=attempt, args=(_take_file,)
            )
            st.button("Recommended limits", on_click=state.put, kwargs={"rules": None}, icon=":material/restart_alt:")
    return values


def _fields(names: list[str], values: dict[str, Any]) -> None:
    grid = st.grid(3, min_column_width=220, gap="small", vertical_alignment="bottom")
    for name in names:
        field, key = lines.FIELDS[name], KEY.format(name)
        common: dict[str, Any] = {"key": key, "on_change": _take, "help": as_text(field.description)}
        value = values.get(name)
        with grid.cell():
            if field.kind == "text":
                state.show(key, str(value or ""))
                st.text_input(field.title, **common)
                continue
            whole = field.kind == "integer"
            number = None if value is None or isinstance(value, str) else int(value) if whole else float(value)
            state.show(key, number)
            how: dict[str, Any] = {"step": 1} if whole else {"format": "%g"}
            st.number_input(field.title, value=None, placeholder="not checked", **how, **common)


def _take() -> None:
    """Keep what the fields show in the address."""
    shown = {name: st.session_state[KEY.format(name)] for name in lines.FIELDS}
    state.put(rules=lines.spell_rules(shown))


def _take_file() -> None:
    """Take over the rules of a file, and the reference that it names."""
    if (file := st.session_state[FILE]) is not None:
        rules, reference = lines.lines_of_file(file.name, file.getvalue())
        state.put(rules=rules, **({"reference": reference} if reference else {}))
