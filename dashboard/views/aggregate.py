"""Labels: true labels inferred in several ways, where they differ, and downloads."""

import streamlit as st

from dashboard import state
from dashboard.components import comparison
from dashboard.components.fits import chooser, follow, refused, shown_fits
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, live
from dashboard.services.fits import start_fits, wait_for

PATIENCE = 1.0  # seconds in which quick fits end before anything is said of their progress


def draw() -> None:
    """Draw the page."""
    heading()
    chooser()
    fits = start_fits(state.get("dataset"), shown_fits())
    with live("fits"):  # never seen
        wait_for(fits.values(), PATIENCE)
        ended = sum(fit.ended.is_set() for fit in fits.values())
        st.markdown(f"{ended} of {len(fits)} aggregators have ended")
    with st.container():  # there even when empty, so that what is below keeps its place and is not drawn anew
        if ended < len(fits):
            follow(fits)
    with st.container():
        refused(fits)
    board()


@fragment
def board() -> None:
    """Results of the fits that are done: first where they differ."""
    fits = start_fits(state.get("dataset"), shown_fits())
    ended = comparison.in_place(tuple(name for name, fit in fits.items() if fit.state == "done"))
    if ended:
        for part in (comparison.differences, comparison.overview, comparison.one_result, comparison.curves):
            with st.container():
                part(ended)


page("aggregate", draw)
