"""Two rounds: changes of measures, mistakes and workers, and whether they are more than noise."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crowdcore.exhibits import View, two_rounds
from dashboard import state
from dashboard.components.exhibit import clicks, follow, looked_at, show, show_notes
from dashboard.components.frame import heading, hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.pickers import optional
from dashboard.components.table import table
from dashboard.components.text import as_text
from dashboard.services import datasets

OTHER, HALVES = "another dataset", "halves"
ASK = "Which labels are of the second round? Choose a column, a time or another dataset."
FEW = 20  # values of a column that may tell rounds apart


@fragment
def draw() -> None:
    """Choice of the rounds; then measures, mistakes and workers."""
    heading()
    follow()
    view, by, at = rounds()
    if view is None:
        st.info(ASK, icon=":material/compare_arrows:")
        return
    measures, mistakes = two_rounds.two_rounds(view, by, at), two_rounds.round_mistakes(view, by, at)
    workers = two_rounds.round_workers(view, by, at)
    st.markdown(as_text(measures.notes[0]))
    st.header(as_text(measures.title))
    show(measures, "measures", noun="measure", rows=12, notes=False)
    show_notes(measures.notes[1:])
    st.header("Mistakes that appeared or disappeared")
    show(mistakes, "mistakes", noun="mistake", leads=True)
    if workers.figure is None:
        st.caption("No worker is in both rounds.")
        return
    show(workers, "workers", leads=True)
    assert workers.click is not None
    on_row = clicks(workers.click, leads=True)
    table(workers.table, "each", name=f"{state.get('dataset')}-round-workers", noun="worker", on_row=on_row)


def rounds() -> tuple[View | None, str, str]:
    """The view that holds both rounds, how they are told apart, and where; None until that is chosen."""
    view = looked_at()
    kinds = [*columns(view), OTHER, HALVES]
    words = {kind: "chance check: random halves" if kind == HALVES else kind for kind in kinds}
    about = "Split this dataset by date or by a column, or compare it with another dataset."
    usual, second, at = "round" if "round" in kinds else None, None, None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        look: dict[str, Any] = {"width": 260, "help": about}
        by = optional("The second round is given by", "by", words, "A column, a time …", usual, **look)
        values = _values(view, by)
        if by == OTHER:
            names = [name for name in datasets.names() if name != state.get("dataset")]
            second = optional("Second round", "second", names, "A dataset", width=260)
        elif values:
            at = optional(f"Value of {by}", "at", values, "A value", width=260)
        elif by:
            title, at = "Seed" if by == HALVES else "Second round from, or its value", state.get("at")
            st.text_input(title, placeholder="chosen for you", width=260, **state.bind("at", at))
    if by != OTHER:
        return (None, "", "") if by is None or at is None else (view, by, at)
    if second is None:
        return None, "", ""
    return datasets.rounds(state.get("dataset"), second, state.get("reference"), hidden_names()), "round", ""


def columns(view: View) -> list[str]:
    """Columns that may tell rounds apart: ``round``, dates, then others, unless they may reveal hidden names."""
    extra = view.dataset.extra
    if extra is None:
        return []
    few = [name for name in extra if name not in {"round", "timestamp"} and 2 <= extra[name].nunique() <= FEW]
    return [
        *(["round"] if "round" in extra else []),
        *(["date"] if "timestamp" in extra else []),
        *([] if view.hidden else map(str, few)),
    ]


def _values(view: View, by: str | None) -> list[str]:
    """Values of a column of names among which the second round must be chosen; none where it is clear."""
    extra = view.dataset.extra
    if extra is None or by not in extra or extra[by].dtype.kind in "iufM" or extra[by].nunique() < 3:
        return []
    return sorted(map(str, extra[by].dropna().unique()))


page("rounds", draw)
