"""One worker's confusion beside the crowd's."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.text import as_text, number, percent

__all__ = ["worker"]


def worker() -> None:
    """Picker, numbers, the two matrices, and the tasks behind a cell."""
    dataset, reference = state.get("dataset"), state.get("reference")
    names = services.workers(dataset, hidden_names())
    found = services.quality(dataset, reference)
    one = state.index_of("worker", names)
    if one is None:
        one = int(found.n_annotations.argmax())
    st.selectbox("Annotator", names, width=260, **state.bind("worker", names[one]))
    grid = st.grid(5, min_column_width=130, gap="xsmall")
    low, high = percent(found.accuracy_low[one], 0), percent(found.accuracy_high[one], 0)
    for label, value, hint in (
        ("Annotations", f"{found.n_annotations[one]:,}", None),
        ("Accuracy", percent(found.accuracy[one]), f"95 % interval {low} to {high}"),
        ("Skill", number(found.skill[one]), "Mean of the diagonal of the confusion"),
        ("Bits per label", number(found.information[one], 2), f"Of {found.information_limit[one]:.2f} possible"),
        ("Agreement κ", number(found.agreement_kappa[one], 2), "With the others on the same tasks, beyond chance"),
    ):
        with grid.cell():
            st.metric(label, value, border=True, help=hint)
    if found.answers_single[one] or found.answers_random[one]:
        kind = "gives a single answer" if found.answers_single[one] else "answers at random"
        st.warning(f"The labels look as if this annotator {kind}.", icon=":material/flag:")
    matrices(one, names[one])


def matrices(one: int, name: str) -> None:
    """The worker's matrix, whose cells lead to tasks, and the crowd's."""
    dataset, reference = state.get("dataset"), state.get("reference")
    classes = services.dataset(dataset).classes
    cell = state.index_of("true", classes), state.index_of("given", classes)
    chosen = None if cell[0] is None or cell[1] is None else (cell[0], cell[1])

    def clicked(row: int, column: int) -> None:
        state.put(true=classes[row], given=classes[column])

    grid = st.grid(2, min_column_width=380, gap="small")
    for key, who, title in (("own", one, name), ("crowd", None, "All annotators together")):
        with grid.cell():
            figure(
                services.confusion_figure(dataset, reference, who, title),
                f"confusion-{key}",
                name=f"{dataset}-confusion-{name if who is not None else 'crowd'}-{reference}",
                alt=f"Confusion of {title}: true classes downwards, given labels to the right",
                data=partial(services.confusion_table, dataset, reference, who),
                cell=chosen,
                on_cell=clicked,
            )
    if chosen is None:
        st.caption("Click a cell to go to the tasks behind it.")
        return
    true, given = classes[chosen[0]], classes[chosen[1]]
    view = state.address("tasks", true=true, given=given, worker=name)
    label = as_text(f"Tasks that are {true} and that {name} labelled {given}")
    st.page_link("views/tasks.py", label=label, query_params=view, icon=":material/list_alt:")
