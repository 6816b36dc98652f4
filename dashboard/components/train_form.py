"""Form of a training: methods with their settings, network, seeds, epochs, device; time and memory; the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.core.settings import changed_settings
from crowdcore.learning import learners, presets as tables
from crowdcore.learning.learners import suggested_methods
from crowdcore.learning.settings import TrainSettings
from dashboard import state
from dashboard.components.guard import fragment, refusals, watch
from dashboard.components.method_form import at_first, method_form
from dashboard.components.own_settings import default_words, method_titled, own_settings
from dashboard.components.text import as_text, count, duration, size
from dashboard.services import opening, train
from dashboard.services.train import Draft, estimate, refused

if TYPE_CHECKING:
    from crowdcore.runs import Estimate

APART = ("epochs", "backbone", "backbone_settings")  # settings of the trainer that have their own place
PLAIN = "device=auto"  # the line of a form that says nothing where nothing usually stands for something
NO: Mapping[str, str] = MappingProxyType({})
KEPT: dict[str, Any] = {"persist_state": "session"}  # fields outlive a visit to another page
SEEDS_HELP = (
    "How many (6 stands for the seeds 0 to 5), or which ones (0, 1, 7; a single one with a comma after it: 7,). "
    "With fewer than 6 seeds no test over seeds can find a difference at 5 %."
)


def prefill(draft: Draft) -> None:
    """Fill the form with this draft, from the next run of the page on."""
    st.session_state["train-trusted"] = draft["training"].get("backbone", "")
    st.session_state.setdefault("train-open", {})[state.get("dataset")] = True
    st.session_state.pop("train-shown", None)
    line = train.spell_draft(state.get("dataset"), draft)
    state.put(methods=list(draft["methods"]), settings=line, view=None)


@fragment
def form() -> None:
    """The form for the page's dataset."""
    dataset = state.get("dataset")
    presets = tables.titles(dataset) if opening.kind(dataset) == "classes" else NO  # they are about classes
    train_on([dataset], suggested_methods(opening.labelled(dataset)), presets=presets)


def train_on(names: Sequence[str], suggested: Sequence[str], usual: str = "", presets: Mapping[str, str] = NO) -> None:
    """The form with its start button.

    Args:
        names: datasets of one kind, each of which is trained on.
        suggested: lines of methods while nobody has chosen.
        usual: what all methods share while nobody has chosen, as a line.
        presets: name -> title of what can fill the form.
    """
    dataset = names[0]
    draft_kept = _draft_of_address(dataset, usual)
    if st.session_state["train-refused"]:
        st.error(as_text(st.session_state["train-refused"]), icon=":material/block:")
    before = state.get_many("methods") or list(suggested)
    lines = _methods(dataset, before, presets)
    draft, problem = shared_settings("train", dataset, draft_kept, lines)
    problem = problem or refusal_of(dataset, draft)
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Start {count(len(names) * len(lines), 'run')}"
        pressed = st.button(label, type="primary", icon=":material/play_arrow:", disabled=not lines or bool(problem))
        if problem:
            st.error(as_text(problem), icon=":material/block:")
        else:
            _remember(dataset, draft, usual)
            if pressed and lines:
                _start(names, draft)
        if draft["methods"] and draft["methods"] != before:
            state.put(methods=list(draft["methods"]))
            if draft["methods"] != lines:  # fields of a method have changed: its name does, too
                st.rerun()
            st.session_state["train-asked"] = lines
        if not problem:
            _estimate(names, draft)


def _draft_of_address(dataset: str, usual: str) -> Draft:
    """Settings of the address that all methods share; new fields where it differs from those on the page."""
    before = st.session_state.setdefault("train-drafts", {})  # dataset -> methods, settings
    if dataset in before and not state.chosen("methods") and not state.chosen("settings"):
        methods, settings = before[dataset]
        state.put(methods=methods, settings=settings)
    line = state.get("settings", usual)
    if st.session_state.get("train-shown") != (dataset, line):
        st.session_state["train-shown"] = (dataset, line)
        st.session_state["train-filled"] = st.session_state.get("train-filled", 0) + 1
        st.session_state["train-refused"] = ""
    try:
        return train.read_draft(dataset, line, st.session_state.get("train-trusted", ""))
    except CrowdError as refusal:
        st.session_state["train-refused"] = f"The settings in this link are not used: {refusal}"
        st.session_state["train-shown"] = (dataset, usual)
        state.put(settings=None)
        return train.read_draft(dataset, usual)


def _remember(dataset: str, draft: Draft, usual: str) -> None:
    """Write the draft into the address, for a reload, and keep it for a return to this dataset."""
    line = train.spell_draft(dataset, draft) or (usual and PLAIN)
    if line != state.get("settings", usual):
        state.put(settings=line)
        st.session_state["train-shown"] = (dataset, line)
        st.session_state["train-refused"] = ""
    st.session_state["train-drafts"][dataset] = (list(draft["methods"]), line)


def refusal_of(dataset: str, draft: Draft) -> str:
    """Reason why this draft cannot be started; "" if it can."""
    try:
        return refused(dataset, draft)
    except CrowdError as refusal:
        return str(refusal)


FRONT = {
    "auto": ("Auto", "Begin here: trials choose among Gaussian-EM, AggNet, CoNAL and, with gold, Max-MIG, or a mean."),
    "conal": ("CoNAL", "Which mistakes workers share, and which labels come from these."),
    "trace": ("Trace", "What each worker confuses, in a matrix of probabilities."),
    "crowd-layer": ("Crowd layer", "A layer for each worker: what most papers compare with."),
    "dl-mv": ("Majority vote", "The baseline: learns the workers' vote shares."),
}
"""Methods in front, what they are called, and when to use each; others are one click behind."""


def _front() -> None:
    """Checkboxes of the methods in front; a ticked one is in the list of all, with its settings."""

    def turned(name: str) -> None:
        others = [line for line in st.session_state["train-methods"] if line.split()[0] != name]
        st.session_state["train-methods"] = [*others, name] if st.session_state[f"train-front-{name}"] else others

    grid = st.grid(len(FRONT), min_column_width=170, gap="small")
    for name, (title, when) in FRONT.items():
        with grid.cell(), st.container(gap="xxsmall"):
            ticked = any(line.split()[0] == name for line in st.session_state["train-methods"])
            state.show(f"train-front-{name}", ticked)
            st.checkbox(title, key=f"train-front-{name}", on_change=turned, args=(name,))
            st.caption(when)


def _methods(dataset: str, lines: list[str], presets: Mapping[str, str]) -> list[str]:
    """Picker of methods, one of them also several times with different settings."""
    if "train-methods" not in st.session_state or st.session_state.get("train-asked") != lines:
        st.session_state["train-methods"] = st.session_state["train-asked"] = lines
    kind = opening.kind(dataset)
    known = learners.learners(kind)
    options = list(dict.fromkeys([*known, *st.session_state["train-methods"]]))
    titled, few = partial(method_titled, kind=kind), set(FRONT) <= set(known)
    if few:
        _front()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("More methods", icon=":material/add:") if few else st.container():
            look: dict[str, Any] = {"key": "train-methods", "placeholder": "Choose methods", "wrap": True}
            chosen: list[str] = st.multiselect("Methods", options, format_func=titled, **look, **KEPT)
        if presets:
            _preset(presets)
    if few and (others := [line for line in chosen if line not in FRONT]):
        st.markdown(as_text(f"Also: {', '.join(titled(line) for line in others)}"))
    return chosen


def _preset(titles: Mapping[str, str]) -> None:
    """Fill the form with all runs of a published table."""

    def fill() -> None:
        name = st.session_state["train-preset"]
        if name is not None:
            draft, note = train.draft_of_preset(name)
            prefill(draft)
            st.session_state["train-noted"] = note

    st.selectbox(
        "Preset",
        titles,
        index=None,
        format_func=titles.__getitem__,
        key="train-preset",
        on_change=fill,
        placeholder="All runs of a table",
        help="Fills the form with the methods, settings and seeds of one of the documented tables.",
        width=260,
    )
    if st.session_state.get("train-preset") and st.session_state.get("train-noted"):
        st.caption(as_text(st.session_state["train-noted"]))


def shared_settings(
    key: str, dataset: str, shared: Draft, methods: list[str], searched: tuple[str, ...] = ()
) -> tuple[dict[str, Any], str]:
    """Seeds, device and the trainer's settings, which all runs share; and a form for each method's own.

    Args:
        key: unique on the page.
        dataset: what is trained on.
        shared: a draft: what the fields show while they are untouched.
        methods: lines whose own settings can be changed.
        searched: lines whose own settings have their place elsewhere.

    Returns:
        A draft of what the fields show, and why it cannot be trained with; "" if it can.
    """
    training = dict(shared["training"])
    prefix = f"{key}-{st.session_state.get('train-filled', 0)}"
    networks = learners.backbones(opening.labelled(dataset))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seeds = st.text_input("Seeds", shared["seeds"], key=f"{prefix}-seeds", help=SEEDS_HELP, width=120, **KEPT)
        epochs = st.empty()
        network = _choice("Network", networks, training["backbone"], f"{prefix}-backbone", 260)
        device = _choice("Device", learners.devices(), shared["device"], f"{prefix}-device", 130)
    training["backbone"] = network
    problem, effective = "", []
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Settings", width="content")
        for line in methods:
            now, why = own_settings(line, methods)
            effective += now
            problem = problem or why
        if network in networks:
            training["backbone_settings"] = _network_settings(network, training, prefix)
        comes = default_words([*effective, *searched])
        with st.popover("Training", type="tertiary"):
            st.caption("Grey: the value used if you enter nothing.")
            training |= method_form(TrainSettings, training, f"{prefix}-training", without=APART, open=comes, kept=True)
    at_first(f"{prefix}-epochs", training.get("epochs"))
    training["epochs"] = epochs.number_input(
        "Epochs",
        value=None,
        step=1,
        placeholder=comes["epochs"],
        key=f"{prefix}-epochs",
        width=120,
        help="Passes over the training tasks. Grey: the value used if you enter nothing.",
        **KEPT,
    )
    chosen = {k: v for k, v in training.items() if k not in APART and v is not None}
    if chosen:
        st.caption(as_text("Changed: " + ", ".join(learners.settings_in_words(chosen))))
    draft = {"methods": list(dict.fromkeys(effective)), "seeds": seeds, "device": device, "training": training}
    return draft, problem


def _choice(label: str, options: dict[str, str], value: str, key: str, width: int) -> str:
    titles = options if value in options else {value: value, **options}
    index = list(titles).index(value)
    chosen: str = st.selectbox(label, titles, index=index, format_func=titles.__getitem__, key=key, width=width, **KEPT)
    return chosen


def _network_settings(network: str, training: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Form of the network's settings; returns those that differ from its defaults."""
    backbone = learners.about_backbone(network)
    if not backbone.settings.model_fields:
        return {}
    with st.popover(as_text(network), type="tertiary"):
        st.markdown(f"**{as_text(backbone.title)}**  \n{as_text(backbone.description)}")
        chosen = method_form(
            backbone.settings, training.get("backbone_settings", {}), f"{prefix}-network-{network}", kept=True
        )
    return changed_settings(backbone.settings, chosen)


def _start(names: Sequence[str], draft: Draft) -> None:
    """Queue the runs, and show them."""
    with refusals(), st.spinner("Starting …"):
        started = [run for name in names for run in train.start(name, draft)]
        state.put(runs=started, methods=list(draft["methods"]))
        st.session_state.setdefault("train-open", {})[names[0]] = False
        st.rerun()


def _estimate(names: Sequence[str], draft: Draft) -> None:
    """Show the estimated time of the runs, one after another; wait for a trial run if need be."""
    if not draft["methods"]:
        st.caption("Choose at least one method.", width="stretch")
        return
    from crowdcore.runs.estimation import SlowTrialError

    def now() -> list[Estimate] | CrowdError | None:
        try:
            return estimate(names[0], draft)
        except CrowdError as refusal:
            return refusal

    measured = now()
    if measured is None:
        words = ":material/hourglass_top: Measuring how long this will take …"
        watch(None, now, 1.0, lambda: st.caption(words, width="stretch"))
    elif isinstance(measured, SlowTrialError):
        st.caption(f":material/hourglass_disabled: {as_text(measured)}", width="stretch")
    elif isinstance(measured, CrowdError):
        with refusals():
            raise measured
    else:
        st.caption(_words(measured, len(names)), width="stretch")


def _words(estimates: list[Estimate], crowds: int) -> str:
    seconds, memory = crowds * sum(e.seconds for e in estimates), max(e.bytes for e in estimates)
    basis = as_text(" ".join(dict.fromkeys(e.basis for e in estimates)))
    return f"About **{duration(seconds)}**{' in all' * (crowds > 1)} and **{size(memory)}** of memory. {basis}"
