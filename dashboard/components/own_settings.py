"""The form of one chosen method behind a button; what its fields show is what its run uses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import streamlit as st

from crowdcore.core import spelling
from crowdcore.core.errors import CrowdError
from crowdcore.learning import learners
from crowdcore.learning.learners import Learner
from crowdcore.learning.settings import TrainSettings
from dashboard import state
from dashboard.components.method_form import method_form
from dashboard.components.text import as_text
from dashboard.services import opening


def _kind() -> learners.Kind:
    """Kind of labels of the page's dataset, on which the methods depend."""
    return opening.kind(state.get("dataset"))


def method_titled(line: str, kind: learners.Kind = "classes") -> str:
    """Title of a method: its registered name, and its own settings or else its title."""
    try:
        method, settings = learners.read_method(line, kind)
    except CrowdError:
        return line
    if not settings:
        return f"{method} · {learners.learners(kind)[method]}"
    return " · ".join([method, *learners.settings_in_words(settings, method)])


def default_words(lines: list[str]) -> dict[str, str]:
    """Trainer setting -> value used unless one is chosen: that of the methods, else the default."""
    brought: dict[str, dict[str, Any]] = {}
    for line in lines:
        try:
            brought[line] = {**_variant_settings(line), **learners.read_method(line, _kind())[1]}
        except CrowdError:
            continue
    times = Counter(line.split()[0] for line in lines)
    short = {line: line.split()[0] if times[line.split()[0]] == 1 else method_titled(line, _kind()) for line in brought}
    defaults, in_words = {}, learners.value_in_words
    for name, field in TrainSettings.model_fields.items():
        words = ", ".join(f"{short[line]} {in_words(given[name])}" for line, given in brought.items() if name in given)
        everywhere = lines and all(name in brought.get(line, {}) for line in lines)
        defaults[name] = words if everywhere else f"{words}; else {in_words(field.default)}".removeprefix("; else ")
    return defaults


def _variant_settings(line: str) -> dict[str, Any]:
    """Settings of the variant that a line chooses."""
    return learners.variant_settings(*spelling.read(line), _kind())


def own_settings(line: str, lines: list[str]) -> tuple[list[str], str]:
    """Draw the form of a line.

    Args:
        line: of the method.
        lines: of all methods chosen.

    Returns:
        The line or lines that its fields now stand for, and why they cannot be trained with; "" if they can.
    """
    try:
        method, values = learners.read_method(line, _kind())
    except CrowdError as refusal:
        return [line], str(refusal)
    learner, key = learners.about_method(method, _kind()), _key(line, lines)
    with st.popover(
        as_text(" · ".join([method, *learners.settings_in_words(values, method)])), type="tertiary", key=key
    ):
        st.markdown(f"**{as_text(learner.title)}**  \n{as_text(learner.paper)}")
        st.caption(as_text(learner.description.replace("``", "")))
        st.caption("Grey: the value used if you enter nothing.")
        chosen = {**_method_settings(line, learner, values, key), **_training(line, values, key)}
        plain = learners.spell_method(method, {}, _kind())
        beside = st.button(
            "Also run it with its defaults",
            key=f"{key}-beside",
            icon=":material/add:",
            disabled=plain in lines,
            help="Compare these settings with the defaults.",
        )
    try:
        new = learners.spell_method(*learners.read_method(spelling.spell(method, chosen), _kind()), _kind())
    except CrowdError as refusal:
        return [line], f"{method}: {refusal}"
    _keep(line, new, key)
    return [new, *([plain] if beside else [])], ""


def _method_settings(line: str, learner: Learner, values: dict[str, Any], key: str) -> dict[str, Any]:
    """Form of the method's own settings; empty fields show the value that is used."""
    fields = learner.settings.model_fields
    usual = dict(learner.settings()) | _variant_settings(line)
    grey = {name: learners.value_in_words(usual[name]) for name in fields}
    drawn = method_form(learner.settings, values, f"own-{key}", open=grey)
    others = {name: value for name, value in values.items() if name in fields and name not in drawn}
    return others | {name: value for name, value in drawn.items() if value is not None}


def _training(line: str, values: dict[str, Any], key: str) -> dict[str, Any]:
    """Settings of the trainer that hold for this method alone."""
    possible = learners.OWN_TRAINING
    comes = {name: value for name, value in _variant_settings(line).items() if name in possible}
    if comes:
        listed = ", ".join(learners.settings_in_words(comes))
        st.caption(as_text(f"Comes with {listed}, unless you choose otherwise here or under Training."))
    names = st.multiselect(
        "Training settings for this method only",
        possible,
        [name for name in possible if name in values],
        format_func=learners.setting_title,
        key=f"{key}-alone",
        placeholder="As under Training",
        wrap=True,
    )
    if not names:
        return {}
    return method_form(
        TrainSettings,
        {**comes, **values},
        f"alone-{key}",
        without=[name for name in TrainSettings.model_fields if name not in names],
    )


def _entries() -> dict[str, str]:
    """Line -> key of its fields, which stays the same while its settings change."""
    return st.session_state.setdefault("train-entries", {})  # type: ignore[no-any-return]


def _key(line: str, lines: list[str]) -> str:
    entries = _entries()
    for gone in set(entries) - set(lines):
        del entries[gone]
    if line not in entries:
        taken, number = set(entries.values()), st.session_state.get("train-entered", 0)
        fresh = line.replace(" ", "-")
        if fresh in taken or f"{fresh}-alone" in st.session_state:
            st.session_state["train-entered"] = number + 1
            fresh = f"{fresh}-{number + 1}"
        entries[line] = fresh
    return entries[line]


def _keep(line: str, new: str, key: str) -> None:
    if new != line:
        entries = _entries()
        entries.pop(line, None)
        entries.setdefault(new, key)
