"""What surrounds every page: the pickers in the sidebar, the guard, the address bar."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard import services, state
from dashboard.components.guard import refusals
from dashboard.components.text import as_text, count

__all__ = ["hidden_names", "page"]


def page(name: str, draw: Callable[[], None]) -> None:
    """Run a page: sidebar first, then the page itself, refusals in place, the address bar at the end."""
    state.enter(name)
    with refusals():
        if _sidebar():
            draw()
    state.publish()


def hidden_names() -> bool:
    """Whether workers go by pseudonyms: as chosen, else for uploads only."""
    chosen = state.get("names")
    return chosen == "hidden" if chosen else services.uploaded(state.get("dataset"))


def _sidebar() -> bool:
    """Draw the pickers; False while there is no dataset to show."""
    with st.sidebar:
        names = services.names()
        chosen = state.get("dataset") or services.default_dataset()
        if not chosen:
            st.info("No dataset found. Open a file on the Data page, or set CROWDCORE_DATA to a folder of datasets.")
            return False
        options = names if chosen in names else [chosen, *names]
        state.settle(dataset=chosen)
        st.selectbox("Dataset", options, **state.bind("dataset", chosen))
        opened = services.dataset(chosen)
        references = services.references(chosen)
        reference = state.get("reference")
        if reference not in references:
            if reference:
                st.warning(as_text(f"{chosen} has no reference {reference!r}; showing {references[0]!r}."))
            reference = references[0]
        state.settle(reference=reference)
        st.selectbox(
            "Reference",
            references,
            help="What is taken for the truth: gold labels, or the labels that an aggregator infers.",
            **state.bind("reference", reference),
        )
        st.toggle(
            "Hide worker names",
            help="Show stable pseudonyms instead of worker ids, in tables, figures, links and downloads.",
            **state.bind("names", hidden_names(), say=("hidden", "shown")),
        )
        st.caption(
            f"{count(opened.n_tasks, 'task')} · {count(opened.n_workers, 'worker')} · "
            f"{count(opened.n_annotations, 'annotation')} · {count(opened.n_classes, 'class', 'classes')}"
        )
    return True
