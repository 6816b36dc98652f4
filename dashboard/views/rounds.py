"""Two rounds: what got better, which mistakes came or went, who changed, and is it more than noise."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import View, two_rounds
from dashboard import services, state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.table import table
from dashboard.components.text import as_text

OTHER = "another dataset"


def draw() -> None:
    """The page."""
    st.title("Two rounds")
    board()


@fragment
def board() -> None:
    """What the rounds are; then the answer, mistakes and workers."""
    view, by, at = rounds()
    if view is None:
        st.info("Choose the dataset that is the second round.", icon=":material/compare_arrows:")
        return
    measures, mistakes = two_rounds.two_rounds(view, by, at), two_rounds.round_mistakes(view, by, at)
    workers = two_rounds.round_workers(view, by, at)
    st.markdown(as_text(measures.notes[0]))
    st.header(as_text(measures.title))
    show(measures, "measures", noun="measure", rows=12, notes=False)
    for note in measures.notes[1:]:
        st.caption(as_text(note))
    st.header("Mistakes that came or went")
    show(mistakes, "mistakes", noun="mistake")
    st.header("Who changed")
    show(workers, "workers")
    if len(workers.table):
        table(workers.table, "each", name=f"{state.get('dataset')}-round-workers", noun="worker")


def rounds() -> tuple[View | None, str, str]:
    """The view that holds both rounds, how they are told apart, and where; None until a second dataset is chosen."""
    view = looked_at()
    columns = [] if view.extra is None else [str(name) for name in view.extra if name != "timestamp"]
    timed = view.dataset.extra is not None and "timestamp" in view.dataset.extra
    kinds = ["halves", *(["date"] if timed else []), *columns, OTHER]
    by = state.one_of("by", kinds) or ("date" if timed else "halves")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        help_ = "Halves of the crowd, the date, or a column split this dataset; or the second round is another dataset."
        st.selectbox("The second round is told by", kinds, width=260, help=help_, **state.bind("by", by))
        if by == OTHER:
            names = [name for name in services.names() if name != state.get("dataset")]
            second = state.one_of("second", names)
            st.selectbox("Second round", names, placeholder="A dataset", width=260, **state.bind("second", second))
        else:
            words = "Seed" if by == "halves" else "Second round from, or its value"
            st.text_input(words, placeholder="chosen for you", width=260, **state.bind("at", state.get("at")))
    if by != OTHER:
        return view, by, state.get("at")
    if second is None:
        return None, "", ""
    return services.rounds(state.get("dataset"), second, state.get("reference"), hidden_names()), "round", ""


page("rounds", draw)
