"""Frame of every page: sign-in, the sidebar's pickers and menu, refusals, the address bar."""

from __future__ import annotations

import logging
from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crowdcore.analysis.panels.families import are_models
from crowdcore.core.errors import CrowdError
from crowdcore.data import CrowdDataset
from crowdcore.data.catalogue import dataset_title, upload_folder
from crowdcore.exhibits.view import cached
from dashboard import state
from dashboard.access import AccessError, may_enter, sign_in_settings
from dashboard.components.guard import refusals, spare
from dashboard.components.link import link
from dashboard.components.text import as_text, count
from dashboard.pages import MENU, MODES, TITLES, Mode, place_of
from dashboard.services import datasets, opening
from dashboard.services.runs import forget

_OF_RUNS = {
    "compare": ["accuracy", "classes", "curves", "calibration", "cost", "sweeps", "recovery"],
    "confusions": ["confusions"],
    "omega": ["omega"],
}
_PRINTED = {
    "overview": ["verdicts", "overview"],
    "mistakes": ["mistakes"],
    "annotators": ["agreement", "annotators"],
    **_OF_RUNS,
}
"""Page -> the parts of a report that hold its exhibits."""
_has_models = cached(lambda opened: are_models(opened.worker_ids))
IN_FRONT = 6  # modes of a place that have links of their own; others are behind a button


def page(
    name: str,
    draw: Callable[[], None],
    without: Callable[[], None] | None = None,
    *,
    ratings: Callable[[], None] | None = None,
) -> None:
    """Run a page: sidebar first, then the page itself, refusals in place, the address bar at the end.

    Args:
        name: the page's key in `state.PAGES`.
        draw: draws the page of the dataset that the sidebar settled.
        without: draws the page while there is no dataset at all.
        ratings: draws the page of a dataset whose labels are numbers, if it differs.
    """
    spare()
    if "page" not in st.session_state:  # a page just loaded shows what there is now, not what another one read before
        forget()
    state.enter(name)
    above = st.container()  # the page itself
    with st.sidebar:
        pickers, menu, below = st.container(), st.container(key="menu", gap=None), st.container()
    with refusals():
        try:
            with pickers:
                has_labels = _pickers(above)
            with below:
                _draw_facts(has_labels)
        finally:
            with menu:
                _menu()
        if has_labels:
            kinds = _kinds()
            if not any(mode.of in kinds | {"simulated", "models"} for mode in MODES if mode.page == name):
                _unfit()
            else:
                (ratings or draw if "ratings" in kinds else draw)()
            for name, what in state.unknown_names().items():
                missing = f"{dataset_title(state.get('dataset'))} has no {what} {name!r}"
                above.warning(as_text(f"{missing}, so that part of the address is left out."))
        elif without is not None:
            without()
        else:
            st.info("There is no dataset yet. Open a file on Home.", icon=":material/upload_file:")
    state.publish()


def _kinds() -> set[str]:
    """Modes that fit the dataset: classes, tags, ratings, simulated, models, all."""
    try:
        opened = opening.labelled(state.get("dataset"))
    except CrowdError:
        return {"all", "classes"}
    if not isinstance(opened, CrowdDataset):
        return {"all", "ratings"}
    tags, simulated = {"tags"} if opened.sentences is not None else set(), {"simulated"} if opened.truth else set()
    models = {"models"} if _has_models(opened) else set()
    return {"all", "classes", *tags, *simulated, *models}


def _menu() -> None:
    """The places that have something to show, each with a link to its first mode."""
    kinds = _kinds() if state.get("dataset") else {"all"}
    here = place_of(state.page(), state.get("view"))
    for place in MENU:
        if first := next((mode for mode in place.modes if mode.of in kinds), None):
            with st.container(key=f"{'here' if place is here else 'place'}-{place.title}"):
                shown = {"view": first.view} if first.of == "ratings" else {}
                link(first.page, place.title, icon=place.icon, **shown)


def heading(title: str = "") -> None:
    """The page's title, and links to the modes of its place in the menu, which keep what was chosen."""
    page, kinds = state.page(), _kinds()
    place = place_of(page, state.get("view"))
    st.title(title or (TITLES[page] if place is MENU[-1] else place.title))
    modes = [mode for mode in place.modes if mode.of in kinds]
    if len(modes) < 2:
        return
    now = next((m for m in modes if (m.page, m.view) == (page, state.get("view"))), None)
    now = now or next((m for m in modes if m.page == page), None)
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center", key="modes"):
        for mode in modes[:IN_FRONT]:
            _mode(mode, mode is now)
        if modes[IN_FRONT:]:
            with st.popover(now.label if now in modes[IN_FRONT:] else "More", type="tertiary"):
                for mode in modes[IN_FRONT:]:
                    _mode(mode, mode is now)


def _mode(mode: Mode, on: bool) -> None:
    kept = state.kept() if mode.page == state.page() else state.same_items(mode.page)
    with st.container(key=f"{'on' if on else 'mode'}-{mode.label}", width="content"):
        link(mode.page, mode.label, icon=None, **kept | {"view": mode.view})


def _unfit() -> None:
    """Tell that the page is about labels of another kind."""
    opened = opening.labelled(state.get("dataset"))
    now = "classes" if isinstance(opened, CrowdDataset) else f"numbers from {opened.low:g} to {opened.high:g}"
    st.title(TITLES[state.page()])
    st.info(
        f"The labels of {as_text(dataset_title(state.get('dataset')))} are {now}, and this page is about labels of "
        "another kind. The menu has what applies; another dataset can be chosen above it.",
        icon=":material/category:",
    )


def hidden_names() -> bool:
    """Return whether to hide names: as chosen, else in reports and for what others uploaded, unless simulated."""
    names, dataset = state.get("names"), state.get("dataset")
    if names:
        return names == "hidden"
    simulated = getattr(opening.labelled(dataset), "truth", None) is not None
    own = dataset in st.session_state.get("uploaded", ())
    return state.page() == "report" or (upload_folder(dataset) is not None and not simulated and not own)


def _pickers(above: DeltaGenerator) -> bool:
    """Draw the pickers, and progress ``above``; return False while there is no dataset to show."""
    names = datasets.names()
    dataset = state.chosen("dataset") or datasets.default_dataset()
    if not dataset:
        st.caption("No dataset was found. CROWDCORE_DATA can name a folder of datasets.")
        return False
    state.settle(dataset=dataset)
    # First stands what is shown: a browser that missed the value begins with the first option, and would switch.
    options = [dataset, *(name for name in names if name != dataset)]
    st.selectbox("Dataset", options, format_func=dataset_title, **state.bind("dataset", dataset, among=options))
    with above, st.spinner(as_text(f"Opening {dataset_title(dataset)} …"), show_time=True):
        opening.labelled(dataset)
    references = datasets.references(dataset, state.chosen("reference"))
    reference = state.chosen("reference") or references[0]
    if reference not in references:
        st.warning(as_text(f"{dataset_title(dataset)} has no reference {reference!r}; showing {references[0]!r}."))
        state.put(reference=None)
        reference = references[0]
    state.settle(dataset=dataset, reference=reference)
    st.selectbox(
        "Reference",
        references,
        help="What counts as the truth: gold labels, or the labels that an aggregator infers.",
        **state.bind("reference", reference),
    )
    with st.container(key="file"):
        link("overview", "Open a file", icon="upload_file", view="Open a file")
    state.rename(lambda: datasets.other_names(dataset, hidden_names()))
    return True


def _draw_facts(has_labels: bool) -> None:
    """Size of the dataset, the switch for worker names, and the link to the page to print."""
    if not has_labels:
        return
    st.toggle(
        "Hide worker names",
        help="Show stable pseudonyms instead of worker ids, in tables, figures, links, downloads and reports.",
        **state.bind("names", hidden_names(), words=("hidden", "shown")),
    )
    opened = opening.labelled(state.get("dataset"))
    words = [count(opened.n_tasks, opened.kind.task), count(opened.n_workers, "worker")]
    if opened.sentences is not None:
        words.insert(1, count(len(opened.sentences), "sentence"))
    words.append(count(opened.n_annotations, opened.kind.label))
    if isinstance(opened, CrowdDataset):
        words.append(count(opened.n_classes, "class"))
    else:
        words[-1] += f" from {opened.low:g} to {opened.high:g}"
    st.caption(" · ".join(words))
    for note in opened.notes if opened.kind.numeric else ():  # what was left out is told everywhere
        st.caption(as_text(note))
    name = state.page()
    runs = state.get_many("runs") if name in _OF_RUNS else []
    if (runs or name not in _OF_RUNS) and (name == "overview" or (name in _PRINTED and not opened.kind.numeric)):
        link("report", "Print / PDF", icon="print", parts=_PRINTED[name], runs=runs)


_log = logging.getLogger("dashboard")


def admitted() -> bool:
    """Return whether the visitor may see pages; if not, draw what to do about it."""
    try:
        settings = sign_in_settings()
    except AccessError as fault:
        _log.error("%s", fault)
        st.error(
            "Access denied: the sign-in settings are invalid. The app's log tells its operator what to correct.",
            icon=":material/block:",
        )
        return False
    if settings is None:
        return True
    if not st.user.is_logged_in:
        st.title("crowdcore")
        st.write("Sign in to use this app.")
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
        return False
    if not may_enter(st.user.to_dict(), settings.access):
        account = as_text(str(st.user.get("email") or "This account"))
        st.error(f"{account} has no access. Ask the operator of this app to be added.", icon=":material/block:")
        st.button("Sign out", icon=":material/logout:", on_click=st.logout)
        return False
    with st.sidebar:
        st.caption(as_text(str(st.user.get("email"))))
        st.button("Sign out", icon=":material/logout:", type="tertiary", on_click=st.logout)
    return True
