"""What to train: methods with their settings, network, seeds, epochs, device; what it will take; and the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import services, state
from dashboard.components.guard import fragment, refusals
from dashboard.components.method_form import method_form
from dashboard.components.text import as_text, count, duration, size

if TYPE_CHECKING:
    from crowdcore.runs import Estimate

__all__ = ["form", "method_titled", "prefill", "shared_settings"]

SUGGESTED = ("crowd-layer", "trace", "conal")
SEEDS, MOST_SEEDS = 5, 1000
APART = ("epochs", "backbone", "backbone_settings")  # settings of the trainer that have their own place
KEPT: dict[str, Any] = {"persist_state": "session"}  # fields outlive a visit to another page


def method_titled(line: str) -> str:
    """A method for people: its name and the settings of its own."""
    try:
        method, settings = services.read_method(line)
    except services.Refusal:
        return line
    return " · ".join([method, *(f"{key.replace('_', ' ')} {value}" for key, value in settings.items())])


def prefill(draft: services.Draft) -> None:
    """Have the form show this draft from the next run of the page on."""
    st.session_state["train-held"] = draft
    st.session_state["train-filled"] = st.session_state.get("train-filled", 0) + 1  # new fields with these values
    state.put(methods=list(draft["methods"]), view=None)


@fragment
def form() -> None:
    """The form with its start button."""
    held = {"methods": [], **st.session_state.get("train-held", {})}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        methods = _methods(state.get_many("methods") or held["methods"] or list(SUGGESTED))
    draft = {**shared_settings("train", held, methods), "methods": methods}
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            f"Start {count(len(methods), 'run')}", type="primary", icon=":material/play_arrow:", disabled=not methods
        ):
            _start(draft)
        _estimate(draft)


def _methods(lines: list[str]) -> list[str]:
    """Which methods; several at once, one of them also with different settings."""
    if "train-methods" not in st.session_state or st.session_state.get("train-asked") != lines:
        st.session_state["train-methods"] = st.session_state["train-asked"] = lines
    titles = services.learners()
    options = list(dict.fromkeys([*titles, *st.session_state["train-methods"]]))
    return st.multiselect(
        "Methods",
        options,
        format_func=lambda line: titles.get(line) or method_titled(line),
        key="train-methods",
        placeholder="Choose methods",
        wrap=True,
        **KEPT,
    )


def shared_settings(
    key: str, held: services.Draft, methods: list[str], searched: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Seeds, device and the trainer's settings, which all runs share; and a form for each method's own.

    Args:
        key: unique on the page.
        held: a draft, as far as it is known: what the fields show while they are untouched.
        methods: lines whose own settings can be changed.
        searched: lines whose own settings have their place elsewhere.

    Returns:
        ``seeds``, ``device``, ``priority`` and ``training`` of a draft.
    """
    training = dict(held.get("training", {}))
    prefix = f"{key}-{st.session_state.get('train-filled', 0)}"
    epochs = training.get("epochs", services.training_schema()["properties"]["epochs"]["default"])
    networks = services.backbones(state.get("dataset"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seeds = st.number_input(
            "Seeds",
            1,
            MOST_SEEDS,
            held.get("seeds", SEEDS),
            key=f"{prefix}-seeds",
            help="So many replicas, which differ in what is random: seeds 0, 1, …",
            width=120,
            **KEPT,
        )
        training["epochs"] = st.number_input("Epochs", 1, None, epochs, key=f"{prefix}-epochs", width=120, **KEPT)
        network = _choice("Network", networks, training.get("backbone"), f"{prefix}-backbone", 260)
        device = _choice("Device", services.devices(), held.get("device"), f"{prefix}-device", 130)
    training["backbone"] = network
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Settings", width="content")
        for line in methods:
            _own_settings(line, methods)
        if network in networks:
            training["backbone_settings"] = _network_settings(network, training, prefix)
        with st.popover("Training", type="tertiary"):
            theirs = _theirs([*methods, *searched])
            training |= method_form(
                services.training_schema(), training, f"{prefix}-training", without=APART, open=theirs, kept=True
            )
    folded = {k: v for k, v in training.items() if k not in APART and v is not None}
    changed = services.changed(services.training_schema(), folded) | {k: folded[k] for k in theirs if k in folded}
    if changed:
        st.caption(as_text("Changed: " + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in changed.items())))
    return {"seeds": seeds, "device": device, "priority": held.get("priority", 0), "training": training}


def _theirs(methods: list[str]) -> dict[str, str]:
    """Trainer settings in which a method departs from the usual, and what it takes."""
    usual = services.training_schema()["properties"]
    own: dict[str, dict[str, Any]] = {}
    for line in methods:
        try:
            for name, value in services.own_training(line).items():
                own.setdefault(name, {})[line.split()[0]] = value
        except services.Refusal:
            continue
    words = {name: ", ".join(f"{method} {value}" for method, value in taken.items()) for name, taken in own.items()}
    return {name: f"{words[name]}; else {usual[name]['default']}" if len(methods) > 1 else words[name] for name in own}


def _choice(label: str, options: dict[str, str], value: str | None, key: str, width: int) -> str:
    titles = options if value is None or value in options else {value: value, **options}
    index = 0 if value is None else list(titles).index(value)
    chosen: str = st.selectbox(label, titles, index=index, format_func=titles.__getitem__, key=key, width=width, **KEPT)
    return chosen


def _own_settings(line: str, lines: list[str]) -> None:
    """The form of one chosen method, behind a button."""
    try:
        method, values = services.read_method(line)
    except services.Refusal:
        return
    told = services.about_method(method)
    with st.popover(as_text(method_titled(line)), type="tertiary"):
        st.markdown(f"**{as_text(told['title'])}**  \n{as_text(told['paper'])}")
        st.caption(as_text(told["words"].replace("``", "")))
        own = services.own_training(line)
        if own:
            listed = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in own.items())
            st.caption(as_text(f"Trained with {listed}, unless you change these under Training."))
        with st.form(f"settings-{line}", border=False):
            chosen = method_form(told["schema"], values, f"own-{line}")
            with st.container(horizontal=True):
                instead = st.form_submit_button("Use these", type="primary")
                beside = st.form_submit_button("Add beside it", help="Keep the present settings too, to compare.")
        if instead or beside:
            new = services.spell_method(method, {**values, **chosen})
            at = lines.index(line)
            state.put(methods=list(dict.fromkeys([*lines[: at + beside], new, *lines[at + 1 :]])))
            st.rerun()


def _network_settings(network: str, training: dict[str, Any], prefix: str) -> dict[str, Any]:
    """What differs from the defaults of the network."""
    told = services.about_backbone(network)
    if not told["schema"].get("properties"):
        return {}
    with st.popover(as_text(network), type="tertiary"):
        st.markdown(f"**{as_text(told['title'])}**  \n{as_text(told['words'])}")
        chosen = method_form(
            told["schema"], training.get("backbone_settings", {}), f"{prefix}-network-{network}", kept=True
        )
    return services.changed(told["schema"], chosen)


def _start(draft: services.Draft) -> None:
    """Queue the runs, and show them."""
    with refusals(), st.spinner("Starting …"):
        started = services.start(state.get("dataset"), draft)
        state.put(runs=started, methods=list(draft["methods"]))
        st.rerun()


def _estimate(draft: services.Draft) -> None:
    """What the runs will take, one after another; where a trial has to tell, it is waited for."""
    if not draft["methods"]:
        st.caption("Choose at least one method.", width="stretch")
        return
    dataset = state.get("dataset")

    def look(waiting: bool) -> None:
        with refusals():
            found = services.estimate(dataset, draft)
            if found is not None and waiting:
                st.rerun(scope="app")
            st.caption(_words(found), width="stretch")

    try:
        waiting = services.estimate(dataset, draft) is None
    except services.Refusal:
        waiting = False
    if waiting:
        st.fragment(lambda: look(True), run_every=1.0)()
    else:
        look(False)


def _words(found: list[Estimate] | None) -> str:
    if found is None:
        return ":material/hourglass_top: Measuring how long this will take …"
    seconds, memory = sum(e.seconds for e in found), max(e.bytes for e in found)
    basis = as_text(" ".join(dict.fromkeys(e.basis for e in found)))
    return f"About **{duration(seconds)}** and **{size(memory)}** of memory. {basis}"
