"""The form of a simulated crowd; what it shows is one line of the address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.settings import FormField, form_fields
from crowdcore.data import simulate
from crowdcore.data.uploads import dataset_title
from crowdcore.learning.recovery import lines
from crowdcore.learning.recovery.usual import simulators, usual_simulator
from dashboard import state
from dashboard.components.method_form import method_form
from dashboard.components.text import as_text
from dashboard.services import opening

Wanted = tuple[str, list[str], str, int]
FIRST = (
    "shared_low", "shared_high", "bias_sd", "scale_sd", "noise", "spammers", "copiers",
    "shared_confusion", "missed", "boundary", "confused", "careless", "n_sentences", "per_sentence",
    "pattern", "common_strength", "individual_strength", "proportion", "omega_spread", "kind", "skill", "labels",
    "patterns", "n_workers", "per_task", "per_pattern", "seed",
)  # fmt: skip
READINGS = (
    "Individual strength .7 is read as the share of wrong labels in a worker's own confusion; if .7 shall be the share "
    "of right ones, as “annotators of high quality” suggests, enter .3.",
    "ω spread 1: two thirds of the labels have an ω between .27 and .73. ω spread 4: three fifths have one below .1 or "
    "above .9, so that nearly every label clearly comes from one of the two confusions.",
)


def crowd_form(dataset: str) -> Wanted:
    """Draw the form; returns the simulator's line, what varies, the tasks' line and how many crowds."""
    opened = opening.labelled(dataset)
    usual, titles = usual_simulator(opened), simulators(opened)
    line = state.get("crowd") or usual
    try:
        name, settings = lines.read_crowd(line)
        if opening.kind(dataset) == "ratings" and name not in titles:
            raise SettingError(
                "crowd",
                f"be one of {', '.join(titles)}, as {dataset_title(dataset)} has ratings and no classes",
                name,
            )
    except CrowdError as refusal:
        st.error(as_text(refusal), icon=":material/block:")
        line, name, settings = usual, usual, {}
    if st.session_state.get("sandbox-drawn") != line:  # an address led here: new fields with its values
        st.session_state["sandbox-filled"] = st.session_state.get("sandbox-filled", 0) + 1
    key = f"crowd-{st.session_state['sandbox-filled']}"
    model = simulate.get(name)
    fields, words = form_fields(model), " ".join((model.__doc__ or "").split("\n\n")[0].split())
    st.selectbox(
        "Simulator",
        list(titles) if name in titles else [name, *titles],
        index=(list(titles) if name in titles else [name, *titles]).index(name),
        format_func=lambda n: titles.get(n, n),
        key=f"{key}-simulator",
        on_change=_switch,
        args=(f"{key}-simulator",),
        help=as_text(f"{words} ({model.paper})"),
    )
    tasks = ""
    if not model.makes_tasks:
        st.caption(
            f"Planted on the gold of **{as_text(dataset_title(dataset))}**, the dataset chosen in the sidebar; "
            "its own labels are left out."
        )
        tasks = _tasks(dataset, key)
    lists = [p for p in fields if fields[p].kind == "list"]
    later = [p for p in fields if p not in FIRST and p not in lists]
    chosen = {**settings, **method_form(model, settings, key, without=[*later, *lists])}
    chosen |= {p: _list(fields[p], settings, key) for p in lists if p != "targets"}
    if later:
        with st.popover("More settings", type="tertiary"):
            chosen |= method_form(model, settings, key, without=[p for p in fields if p not in later])
            chosen |= {p: _list(fields[p], settings, key) for p in lists if p == "targets"}
    if "omega_spread" in fields:
        for reading in READINGS:
            st.caption(reading)
    vary = _vary(fields, chosen, key)
    repeats = st.number_input(
        "Crowds of each kind",
        1,
        10,
        min(max(int(state.get("repeats") or "1"), 1), 10) if (state.get("repeats") or "1").isdigit() else 1,
        key=f"{key}-repeats",
        help="They differ only in the seed: seed, seed + 1, …",
        width=160,
    )
    now = lines.spell_crowd(name, chosen)
    st.session_state["sandbox-drawn"] = now
    said: dict[str, Any] = {"crowd": now, "vary": vary, "tasks": tasks, "repeats": str(repeats) if repeats > 1 else ""}
    before = {"crowd": state.get("crowd"), "vary": state.get_many("vary")}
    before |= {"tasks": state.get("tasks"), "repeats": state.get("repeats")}
    if said != before and (before["crowd"] or now != usual or vary or repeats > 1):
        state.put(**said)
    return now, vary, tasks, repeats


def _switch(widget: str) -> None:
    """Another simulator, with its defaults."""
    state.put(crowd=st.session_state[widget], vary=None, tasks=None)


def _list(field: FormField, settings: Mapping[str, Any], key: str) -> list[Any] | None:
    """The field of a setting that holds several numbers."""
    text = st.text_input(
        field.title,
        ", ".join(map(str, settings.get(field.name, field.default) or ())),
        key=f"{key}-{field.name}",
        placeholder="at random" if field.default is None else None,
        help=as_text(field.description),
    )
    return lines.read_values(text) or None


def _tasks(dataset: str, key: str) -> str:
    """Which tasks of the dataset."""
    try:
        known = lines.read_tasks(state.get("tasks"))
    except CrowdError as refusal:
        st.error(as_text(refusal), icon=":material/block:")
        known = {}
    classes = list(opening.dataset(dataset).classes)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Classes",
            classes,
            [c for c in known.get("classes", []) if c in classes],
            key=f"{key}-classes-{dataset}",
            placeholder="All classes",
            format_func=str,
        )
        most = st.number_input(
            "Training tasks at most",
            1,
            None,
            known.get("n_train"),
            key=f"{key}-n-train",
            placeholder="all",
            width=170,
        )
    kept = {k: v for k, v in known.items() if k not in {"classes", "n_train"}}
    return lines.spell_tasks({**({"classes": chosen} if chosen else {}), **({"n_train": most} if most else {}), **kept})


def _vary(fields: Mapping[str, FormField], chosen: Mapping[str, Any], key: str) -> list[str]:
    """Settings that vary, with their values; what the form says of them elsewhere does not count."""
    known = lines.read_vary(state.get_many("vary"))
    names = st.multiselect(
        "Vary",
        [n for n in fields if n not in {"seed", "targets"}],
        [n for n in known if n in fields],
        key=f"{key}-vary",
        placeholder="Nothing: one kind of crowd",
        format_func=lambda n: fields[n].title,
        help="Plant a crowd for each value, to see how recovery changes. Several: all combinations.",
    )
    varied = []
    for name in names:
        options = fields[name].choices
        label = f"Values of {fields[name].title.lower()}"
        if options:
            values = st.multiselect(label, options, known.get(name, options), key=f"{key}-vary-{name}")
        else:
            start = known.get(name, [chosen.get(name, fields[name].default)])
            text = st.text_input(label, ", ".join(map(str, start)), key=f"{key}-vary-{name}", help="With commas.")
            values = lines.read_values(text)
        if values:
            varied.append(lines.spell_vary(name, values))
    return varied
