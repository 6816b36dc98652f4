"""Choosing aggregators and their settings, following their fits, and taking one as the reference."""

from __future__ import annotations

import time
from collections.abc import Mapping

import streamlit as st

from crowdcore import aggregation
from crowdcore.core.errors import CrowdError
from crowdcore.exhibits.fits import OF_TAGS, SUGGESTED, canonical, read_fit, shown_gold, spell_fit
from dashboard import state
from dashboard.components.guard import fragment, refusals, watch
from dashboard.components.method_form import method_form
from dashboard.components.text import as_text, count
from dashboard.services import datasets, opening
from dashboard.services.fits import start_fits
from dashboard.services.jobs import Job

PERCENTS = (0, 5, 10, 20, 50, 100)
EVERY = 1.0  # seconds between looks at running fits
_ICONS = {
    "waiting": ":material/schedule:",
    "running": ":material/progress_activity:",
    "done": ":material/check:",
    "refused": ":material/block:",
    "failed": ":material/error:",
}


MANY = 100_000  # labels from which only the first of the usual aggregators begins at once


def fits_of_address() -> list[str]:
    """The fits that the address names, else the usual ones."""
    dataset = opening.dataset(state.get("dataset"))
    usual = SUGGESTED if dataset.sentences is None else ("auto", *OF_TAGS)
    return state.get_many("methods") or list(usual if dataset.n_annotations < MANY else usual[:1])


def shown_fits() -> tuple[str, ...]:
    """Fits to show in their canonical spelling, with the gold shown to them."""
    gold, fits = percent(), []
    for name in fits_of_address():
        try:
            fits.append(canonical(f"{name} gold={gold}%"))
        except CrowdError:
            fits.append(name)
    return tuple(dict.fromkeys(fits))


def percent() -> int:
    """Per cent of the training tasks whose gold the methods are shown."""
    return share if (share := state.whole("gold", 0)) in PERCENTS else 0


def titled(fit: str) -> str:
    """Title of a fit: the method's, without brackets, and the settings that were chosen."""
    try:
        method, settings, gold = read_fit(fit)
        title = aggregation.aggregators[method].title.split(" (")[0]
    except (CrowdError, KeyError):
        return fit
    words = [f"{key.replace('_', ' ')} {value}" for key, value in settings.items()]
    return " · ".join([title, *words, *([f"{gold} % gold shown"] if gold else [])])


@fragment
def chooser() -> None:
    """Picker of aggregators and their settings."""
    shown = list(dict.fromkeys(fits_of_address()))
    dataset = opening.dataset(state.get("dataset"))
    if "draft" not in st.session_state or st.session_state.get("drafted") != (dataset.name, shown):
        st.session_state["draft"] = shown
        st.session_state["drafted"] = (dataset.name, shown)
    fitting = aggregation.fitting(dataset)
    options = list(dict.fromkeys([*fitting, *st.session_state["draft"]]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draft = st.multiselect(
            "Aggregators", options, format_func=titled, key="draft", placeholder="Choose aggregators", wrap=True
        )
        gold = gold_picker()
        if st.button("Run", type="primary", icon=":material/play_arrow:", disabled=not draft):
            run(draft, gold)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Settings", width="content")
        for fit in draft:
            settings(fit, draft, gold)


def gold_picker() -> int:
    """Picker of the share of gold to show; 0 where there is none."""
    available = int((shown_gold(opening.dataset(state.get("dataset")), 100)[0] >= 0).sum())
    if not available:
        return 0
    if st.session_state.get("gold-shown") not in PERCENTS:
        st.session_state["gold-shown"] = percent()
    return st.selectbox(
        "Gold labels the method may use",
        PERCENTS,
        format_func=lambda share: f"{share} % of {count(available, 'task')}" if share else "None",
        key="gold-shown",
        help="Semi-supervised: these training tasks keep their gold label, and are left out of all accuracies.",
        width=230,
    )


def settings(fit: str, draft: list[str], gold: int) -> None:
    """The form of one chosen fit, behind a button."""
    try:
        method, values, _ = read_fit(fit)
        aggregator = aggregation.aggregators.find(method)
    except CrowdError:
        return
    with st.popover(as_text(titled(fit)), type="tertiary"):
        words = " ".join((aggregator.__doc__ or "").split("\n\n")[0].split())
        st.markdown(f"**{as_text(aggregator.title)}**. {as_text(words)}")
        if aggregator.paper != "-":
            st.caption(as_text(aggregator.paper))
        with st.form(f"settings-{fit}", border=False):
            chosen = method_form(aggregator, values, f"set-{fit}")
            with st.container(horizontal=True):
                instead = st.form_submit_button("Run with these", type="primary")
                beside = st.form_submit_button("Run beside it", help="Also keep the present settings, to compare.")
        if instead or beside:
            with refusals():
                new = canonical(spell_fit(method, {**values, **chosen}))
                at = draft.index(fit)
                run([*draft[: at + beside], new, *draft[at + 1 :]], gold)


def run(draft: list[str], gold: int) -> None:
    """Start these fits; those that failed are tried again."""
    state.put(methods=list(dict.fromkeys(draft)), gold=str(gold) if gold else None)
    start_fits(state.get("dataset"), shown_fits(), again=True)
    st.rerun()


def follow(fits: Mapping[str, Job]) -> None:
    """Show the progress of the fits, and draw the page anew whenever one ends."""

    def n_ended() -> int:
        return sum(fit.ended.is_set() for fit in fits.values())

    def status() -> None:
        with st.status(f"{ended} of {count(len(fits), 'aggregator')} done", expanded=True) as shown:
            st.progress(ended / len(fits))
            lines = [f"{_ICONS[fit.state]} {as_text(titled(name))} · {_progress_of(fit)}" for name, fit in fits.items()]
            st.markdown("  \n".join(lines))
        shown.update(state="running")

    watch(ended := n_ended(), n_ended, EVERY, status)


def _progress_of(fit: Job) -> str:
    return f"running, {time.monotonic() - fit.began:.0f} s" if fit.state == "running" else fit.state


def refused(fits: Mapping[str, Job]) -> None:
    """Show the errors of failed fits by method."""
    for name, fit in fits.items():
        if fit.refusal:
            st.warning(f"**{as_text(titled(name))}**: {as_text(str(fit.refusal))}", icon=_ICONS[fit.state])


def reference_button(name: str, what: str) -> None:
    """Offer the reference ``name``; ``what`` of it is then taken for the truth, in words for the help."""
    used = state.get("reference") == name
    if st.button(
        "Reference of every page" if used else "Use as reference",
        icon=":material/check:" if used else ":material/flag:",
        disabled=used,
        help=f"Use {what} as the truth on every page.",
    ):
        datasets.offer(state.get("dataset"), name)
        state.put(reference=name)
        st.rerun()
