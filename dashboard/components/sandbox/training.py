"""Which methods are trained on planted crowds: the ordinary runs, which every other page can open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import services, state
from dashboard.components.download import download
from dashboard.components.guard import refusals
from dashboard.components.method_form import method_form
from dashboard.components.own_settings import method_titled
from dashboard.components.text import as_text, count, duration, size
from dashboard.services import sandbox, sandbox_results

if TYPE_CHECKING:
    from crowdcore.runs import Estimate

__all__ = ["training"]

SUGGESTED = ("conal start=best-of", "crowd-layer start=best-of", "trace")
APART = ("epochs", "backbone", "backbone_settings")


def training() -> None:
    """Planted crowds, methods, settings, estimate, start."""
    names = _crowds()
    if not names:
        return
    missing = services.missing_extras()
    if missing:
        st.info("Training needs packages that are not installed here. To have them:", icon=":material/download:")
        st.code(f"pip install 'crowdcore[{','.join(missing)}]'", language=None)
        return
    why = services.untrainable(names[0])
    if why:
        st.info(as_text(why), icon=":material/block:")
        return
    lines = _methods()
    draft = {**_settings(names[0], lines), "methods": lines}
    with st.container(horizontal=True, vertical_alignment="center"):
        n = len(names) * len(lines)
        if st.button(f"Train: {count(n, 'run')}", type="primary", icon=":material/play_arrow:", disabled=not lines):
            with refusals(), st.spinner("Starting …"):
                for name in names:
                    services.start(name, draft)
                state.put(methods=list(lines))
                st.rerun()
        _estimate(names, draft)


def _crowds() -> list[str]:
    """The planted crowds that this is about, with their files."""
    known = sandbox.planted_before()
    asked = state.get_many("planted")
    chosen = [name for name in asked if name in known]
    if len(chosen) < len(asked):
        st.caption(f"{count(len(asked) - len(chosen), 'planted crowd')} of this address cannot be found here.")
    if not known:
        st.info(
            "Nothing has been planted yet. Press **Plant** above: the crowd is kept as a dataset, which every page can "
            "open.",
            icon=":material/potted_plant:",
        )
        return []
    st.multiselect(
        "Planted crowds",
        known,
        placeholder="Choose crowds to train on, or to see who recovered them",
        wrap=True,
        **state.bind("planted", chosen),
    )
    if not chosen:
        st.caption("Plant a crowd, or choose one that was planted before.")
        return []
    words = sandbox_results.crowd_words(chosen)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for name in chosen[:6]:
            st.page_link(
                "views/data.py", label=as_text(words[name]), icon=":material/database:", query_params={"dataset": name}
            )
            download(
                "ZIP",
                lambda name=name: sandbox.archive(name),  # type: ignore[misc]
                f"{name}.zip",
                "application/zip",
                key=f"zip-{name}",
                type="tertiary",
                icon=":material/download:",
                help="Its files, with what generated them in truth.npz",
            )
        if len(chosen) > 6:
            st.caption(f"and {len(chosen) - 6} more", width="content")
    return chosen


def _methods() -> list[str]:
    """Lines of methods, one of them also with different settings."""
    titles = services.learners()
    asked = state.get_many("methods") or list(SUGGESTED)
    lines = list(asked)
    st.multiselect(
        "Methods",
        list(dict.fromkeys([*titles, *lines])),
        format_func=method_titled,
        placeholder="Choose methods",
        wrap=True,
        **state.bind("methods", lines),
    )
    return lines


def _settings(name: str, lines: list[str]) -> dict[str, Any]:
    """Seeds and the trainer's settings, which all methods share; and a form for each method's own."""
    asked = state.get("training")
    usual = sandbox.usual_training(name)
    try:
        said = sandbox.read_training(asked) if asked else dict(usual)
    except services.Refusal as refusal:
        st.error(as_text(refusal), icon=":material/block:")
        asked, said = "", dict(usual)
    if st.session_state.get("sandbox-trained") != (name, asked):
        st.session_state["sandbox-fields"] = st.session_state.get("sandbox-fields", 0) + 1
    key = f"sandbox-{st.session_state['sandbox-fields']}"
    seeds, held = said.pop("seeds"), said
    schema = services.training_schema()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        about = "How many times to repeat the training with different random seeds (0, 1, …)."
        seeds = st.number_input("Seeds", 1, sandbox.MOST_SEEDS, seeds, key=f"{key}-seeds", help=about, width=120)
        epochs = held.get("epochs", schema["properties"]["epochs"]["default"])
        held["epochs"] = st.number_input("Epochs", 1, None, epochs, key=f"{key}-epochs", width=120)
        with st.popover("Training", type="tertiary"):
            held |= method_form(schema, held, f"{key}-training", without=APART)
        for line in lines:
            _own(line, lines)
    changed = services.changed(schema, {k: v for k, v in held.items() if k not in APART})
    if changed:
        st.caption(as_text("Training: " + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in changed.items())))
    now = sandbox.spell_training({**services.changed(schema, held), "epochs": held["epochs"], "seeds": seeds})
    if now != asked and (asked or sandbox.read_training(now) != usual):
        state.put(training=now)
        asked = now
    st.session_state["sandbox-trained"] = (name, asked)
    return {"seeds": seeds, "device": "auto", "priority": 0, "training": held}


def _own(line: str, lines: list[str]) -> None:
    """The form of one method, behind a button."""
    try:
        method, values = services.read_method(line)
    except services.Refusal:
        return
    told = services.about_method(method)
    with st.popover(as_text(method_titled(line)), type="tertiary"), st.form(f"settings-{line}", border=False):
        chosen = method_form(told["schema"], values, f"own-{line}")
        with st.container(horizontal=True):
            instead = st.form_submit_button("Use these", type="primary")
            beside = st.form_submit_button("Add beside it", help="Keep the present settings too, to compare.")
    if instead or beside:
        new, at = services.spell_method(method, {**values, **chosen}), lines.index(line)
        state.put(methods=list(dict.fromkeys([*lines[: at + beside], new, *lines[at + 1 :]])))
        st.rerun()


def _estimate(names: Sequence[str], draft: services.Draft) -> None:
    """What all runs will take, one after another; where a trial has to tell, it is waited for."""
    if not draft["methods"]:
        st.caption("Choose at least one method.", width="stretch")
        return

    def look(waiting: bool) -> None:
        with refusals():
            found = services.estimate(names[0], draft)
            if found is not None and waiting:
                st.rerun(scope="app")
            st.caption(_words(found, len(names)), width="stretch")

    try:
        waiting = services.estimate(names[0], draft) is None
    except services.Refusal:
        waiting = False
    if waiting:
        st.fragment(lambda: look(True), run_every=1.0)()
    else:
        look(False)


def _words(found: list[Estimate] | None, crowds: int) -> str:
    if found is None:
        return ":material/hourglass_top: Measuring how long this will take …"
    seconds, memory = crowds * sum(e.seconds for e in found), max(e.bytes for e in found)
    return f"About **{duration(seconds)}** in all and **{size(memory)}** of memory."
