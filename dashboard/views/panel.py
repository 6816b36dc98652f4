"""Panel: effective number of the judges' votes, errors in common, and judges that can be dropped."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import View, panel
from dashboard import state
from dashboard.components.exhibit import follow, looked_at, show, show_notes
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.pickers import picker
from dashboard.components.text import as_text


@fragment
def draw() -> None:
    """The picture; then whom to drop, the items of a cell, each judge, people beside judges, and the honest score."""
    heading()
    follow()
    view = looked_at()
    errors, alone = panel.panel_errors(view), panel.panel_alone(view)
    if errors.figure is None:
        st.info(as_text(errors.notes[0]), icon=":material/balance:")
        return
    sentences = panel.headline(view)
    st.markdown(f"**{as_text(sentences[0])}** {as_text(sentences[-1])}")
    with st.container(key="panel-figures"):
        left, right = st.columns([3, 2], gap="small")
    with left:
        show(errors, "errors", notes=False)
    with right:
        show(alone, "alone", notes=False)
    show_notes((*sentences[1:-1], *errors.notes[len(sentences) :], *alone.notes))
    worker, other = (state.one_of(key, view.workers) for key in ("worker", "other"))
    if worker and other:
        items = panel.panel_items(view, worker, other)
        st.header(as_text(items.title))
        show(items, "items", noun="item", leads=True)
    parts = [(panel.panel_judges(view), "judges", "judge"), (panel.panel_votes(view), "votes", "measure")]
    beside = panel.panel_people(view)
    if not beside.table.empty:
        parts += [(beside, "people", "judge"), (panel.panel_people_confusions(view), "differ", "row")]
        parts += [(panel.panel_people_items(view), "against", "item")]
    for of, key in ((panel.panel_leanings(view), "leanings"), (panel.panel_flips(view), "flips")):
        parts += [(of, key, "row")] * (not of.table.empty)
    for exhibit, key, noun in parts:
        st.header(as_text(exhibit.title))
        show(exhibit, key, file=f"{state.get('dataset')}-{exhibit.name}", noun=noun, rows=12, leads=True)
    _score(view)


def _score(view: View) -> None:
    """Pass rate and accuracy from the gold there is, and the items to label next."""
    st.header("Score with honest intervals")
    passes = picker("The class that passes", "passes", view.classes, view.classes[-1], width=240)
    score = panel.panel_score(view, passes)
    if score.table.empty:
        st.info(as_text(score.notes[0]), icon=":material/straighten:")
        return
    st.markdown(f"**{as_text(score.notes[0])}**")
    show(score, "score", file=f"{state.get('dataset')}-{score.name}", noun="measure", notes=False)
    show_notes(score.notes[1:])
    after = panel.panel_score_next(view, passes)
    if not after.table.empty:
        st.subheader(as_text(after.title))
        show(after, "next", file=f"{state.get('dataset')}-{after.name}", noun="item", rows=8, leads=True)


page("panel", draw)
