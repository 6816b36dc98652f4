"""Review: labels one by one, to mark as right, wrong or unclear; what is marked can be the reference."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from crowdcore import exhibits
from crowdcore.data.dictionary import csv_bytes
from crowdcore.exhibits import Exhibit, View, review
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.fits import reference_button
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, live, refused_before
from dashboard.components.marking import at, marking, take_marks
from dashboard.components.pickers import named, optional
from dashboard.components.table import download
from dashboard.components.text import as_text, count
from dashboard.services import datasets


@fragment
def draw() -> None:
    """Filters, the label looked at, and the table of all."""
    heading()
    refused_before()
    view = looked_at()
    listed = filtered(view)
    table = listed.table
    with live("review"):
        if not len(table):
            st.info("No label matches these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
            return
        marked = int((table["mark"] != "").sum())
        noun = "label" if "worker" in table else "task"
        st.caption(f"{count(len(table), noun)}, likeliest wrong label first; {marked:,} marked.")
    grid = st.grid(2, min_column_width=400, gap="medium")
    with grid.cell():
        marking(view, table, at(table))
    with grid.cell():
        show(listed, "review", file=f"{state.get('dataset')}-review", noun=noun, rows=14)
    st.caption("Keys: A right, 1 to 9 another class, U unclear, N skip, Z undo.")
    reviewed(view)


def filtered(view: View) -> Exhibit:
    """What the pickers leave of all labels."""
    dataset = state.get("dataset")
    with st.container(horizontal=True):
        by = named("Row by row", "by", review.BY, width=130)
        which = named("Show", "show", review.REVIEWS, width=200)
        optional("True class", "true", view.classes, "Any class")
        optional("Given label", "given", view.classes, "Any label")
        chosen = [name for name in state.get_many("workers") if name in view.workers]
        st.multiselect("Workers", view.listed, placeholder="Anyone", **state.bind("workers", chosen))
        others = [name for name in datasets.references(dataset, state.get("against")) if name != view.reference]
        beside = state.one_of("against", others)
        bound = state.bind("against", beside)
        st.selectbox("Differs from", others, index=None, placeholder="No other reference", **bound)
    true, given = (state.one_of(key, view.classes) for key in ("true", "given"))
    against = datasets.reference(dataset, beside) if beside else None
    return review.review(view, by, which, true, given, tuple(chosen), against)


def take_along(view: View) -> None:
    """The two lists that marks make."""
    dataset, made = state.get("dataset"), exhibits.review
    with st.container(horizontal=True):
        for key, label, exhibit in (
            ("relabel", "Relabelling list (CSV)", made.relabel_list),
            ("training", "Training list (CSV)", made.training_list),
        ):
            download(
                label,
                partial(_csv, exhibit, view),
                f"{dataset}-{key}.csv",
                "text/csv",
                icon=":material/download:",
                key=f"list-{key}",
            )


def _csv(exhibit: Callable[[View], Exhibit], view: View) -> bytes:
    return csv_bytes(exhibit(view).table)


def reviewed(view: View) -> None:
    """All marks, and the buttons that make them the reference."""
    found = exhibits.review.marked_tasks(view)
    st.header("Marks")
    take_marks()
    if not len(found.table):
        st.caption("No marks yet.")
        return
    for note in found.notes:
        st.caption(as_text(note))
    take_along(view)
    with st.container(horizontal=True):
        reference_button("reviewed", "the marked classes; other tasks count as unknown")
        if view.dataset.has_gold:
            reference_button("reviewed+gold", "the marked classes, and gold for tasks without a mark")
    show(found, "marked", file=f"{state.get('dataset')}-marks", noun="mark", rows=8, notes=False)


page("review", draw)
