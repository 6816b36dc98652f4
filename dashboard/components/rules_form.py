"""Rules for a crowd: a field for each limit, a file of them, and the texts that stand in addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore.analysis.checks.rules import LIMITS, Rules, parse_rules, recommended
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import changed_settings, form_fields
from crowdcore.core.spelling import read_options, spell_options
from dashboard import state
from dashboard.components.guard import attempt
from dashboard.components.text import as_text

KEY = "check-rule-{}"  # of a setting's field
FILE = "check-file"
NOTHING = "nothing"  # the text where somebody has switched all rules off
FIELDS = {name: field for name, field in form_fields(Rules).items() if name != "reference"}  # that is in the sidebar
MOST = 100_000  # bytes of a file of rules


def read_rules(texts: Sequence[str]) -> dict[str, Any]:
    """Setting -> value, of the texts of `spell_rules`; without any the recommended limits."""
    given = read_options(text for text in texts if "=" in text) if texts else recommended()
    return {name: field.default for name, field in FIELDS.items() if name not in LIMITS} | given


def spell_rules(values: Mapping[str, Any]) -> list[str]:
    """``name=value`` for each limit that is given and each setting that is not the default."""
    given = {name: value for name, value in values.items() if name in FIELDS and value not in (None, "")}
    whole = {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in given.items()}
    return spell_options(changed_settings(Rules, whole)) or [NOTHING]


def rules_of_file(name: str, content: bytes) -> tuple[list[str], str]:
    """The texts of a file of rules, and the reference that it names; empty if none.

    Raises:
        CrowdError: the file holds no rules, or other ones than there are.
    """
    if len(content) > MOST:
        raise SettingError("rules", f"be a file of at most {MOST // 1000} kB", f"{len(content) // 1000:,} kB")
    rules = parse_rules(content, Path(name))
    return spell_rules(rules.model_dump(exclude={"reference"})), rules.reference


def rules_form() -> dict[str, Any]:
    """Draw the form; an empty limit is not checked. Returns setting -> value, None where it is empty."""
    values = read_rules(state.get_many("rules"))
    with st.expander("Rules", icon=":material/rule_settings:"):
        st.caption("Rules with an empty field are not checked. The names include the units.")
        _fields([name for name in FIELDS if name in LIMITS], values)
        st.caption("How it is measured:")
        _fields([name for name in FIELDS if name not in LIMITS], values)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.file_uploader(
                "Rules from a file", ["yaml", "yml", "toml", "json"], key=FILE, on_change=attempt, args=(_take_file,)
            )
            st.button("Recommended limits", on_click=state.put, kwargs={"rules": None}, icon=":material/restart_alt:")
    return values


def _fields(names: list[str], values: dict[str, Any]) -> None:
    grid = st.grid(3, min_column_width=220, gap="small", vertical_alignment="bottom")
    for name in names:
        field, key = FIELDS[name], KEY.format(name)
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
    """Write the fields into the address."""
    shown = {name: st.session_state[KEY.format(name)] for name in FIELDS}
    state.put(rules=spell_rules(shown))


def _take_file() -> None:
    """Take over the rules of a file, and the reference that it names."""
    if (file := st.session_state[FILE]) is not None:
        rules, reference = rules_of_file(file.name, file.getvalue())
        state.put(rules=rules, **({"reference": reference} if reference else {}))
