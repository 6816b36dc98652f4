"""One worker: the verdict, the confusion beside the crowd's, partners, times, and a message."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import Exhibit, View
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.link import REVIEW, link
from dashboard.components.numbers import numbers
from dashboard.components.pickers import picker
from dashboard.components.text import as_text, number, percent
from dashboard.components.verdict import badge


def worker() -> None:
    """Picker, numbers, the two matrices, and the tasks behind a cell."""
    view = looked_at()
    one = state.one_of("worker", view.workers) or view.workers[int(view.dataset.labels_per_worker.argmax())]
    with st.container(width=420):  # ids may be addresses
        picker("Worker", "worker", view.listed, view.listed.index(one))
    exhibit = exhibits.workers.worker(view, one)
    found = exhibit.table.iloc[0]
    told = exhibits.worker_page.worker_verdict(view, one).table.iloc[0]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        badge(told["verdict"])
        st.markdown(as_text(told["reason"]), width="stretch")
    low, high = percent(found["acc. low"], 0), percent(found["acc. high"], 0)
    cells = (
        ("Annotations", f"{found['annotations']:,}", None),
        ("Accuracy", percent(found["accuracy"]), f"95 % interval {low} to {high}"),
        ("Balanced accuracy", percent(found["balanced accuracy"]), "Mean over classes of the share of right labels"),
        ("Bits per label", number(found["bits per label"], 2), f"Of {found['bits possible']:.2f} possible"),
        ("Agreement κ", number(found["agreement κ"], 2), "With the other workers on the same tasks, beyond chance"),
    )
    numbers(cells, 130)
    for note in exhibit.notes:
        st.warning(as_text(note), icon=":material/flag:")
    matrices(view, one)
    behind(view, one, told)


def matrices(view: View, name: str) -> None:
    """The worker's matrix, whose cells lead to tasks, and the crowd's."""
    true, given = (state.one_of(key, view.classes) for key in ("true", "given"))
    cell = (view.class_number(true), view.class_number(given)) if true and given else None
    grid = st.grid(2, min_column_width=380, gap="small")
    for key, who in (("own", name), ("crowd", None)):
        with grid.cell():
            show(exhibits.workers.worker_confusion(view, who), f"confusion-{key}", cell=cell)
    if cell is None:
        st.caption("Click a cell to see the tasks behind it.")
        return
    label = as_text(f"Tasks that are {true} and that {name} labelled {given}")
    link("tasks", label, true=true, given=given, worker=name)
    link("review", REVIEW, true=true, given=given, workers=[name])


def pace(view: View, name: str, speed: Exhibit) -> None:
    """How long the worker's answers take beside the others', in numbers and over time."""
    own: dict[Any, Any] = speed.table.loc[view.worker_number(name)].to_dict()
    cells = (
        ("Median answer", f"{own['seconds']:.3g} s", f"Of {own['n']:,.0f} comparable answers"),
        ("Beside the others", f"×{own['relative']:.2f}", "Median of the answer's seconds over the median of its task"),
        ("Too fast", percent(own["fast"]), as_text(speed.notes[0])),
    )
    numbers(cells, 130)
    for note in speed.notes[1:]:
        st.caption(as_text(note))
    over_time = exhibits.worker_page.worker_speed_over_time(view, name)
    if over_time.figure is not None:
        show(over_time, "speed")


def behind(view: View, name: str, told: pd.Series[Any]) -> None:
    """Confusions, partners, times, what changes without, and the message: what the verdict rests on."""
    made = exhibits.worker_page
    grid = st.grid(2, min_column_width=380, gap="medium")
    with grid.cell():
        st.header("Confusions")
        show(made.worker_mistakes(view, name), "mistakes", noun="mistake", rows=6)
        link("review", "Review and mark all labels against the reference", show="wrong", workers=[name])
    with grid.cell():
        st.header("Partners")
        partners = made.worker_partners(view, name)
        show(partners, "partners", noun="partner", rows=6, notes=False)
        if len(partners.table):
            st.caption(as_text(partners.notes[0]))
    over_time = made.worker_over_time(view, name)
    if over_time.figure is not None:
        st.header("Over time")
        show(over_time, "over-time")
    speed = made.worker_speed(view)
    if "worker" in speed.table:
        st.header("Speed")
        pace(view, name, speed)
    st.header("Without this worker")
    link(
        "annotators",
        as_text(f"Of the majority vote, {told['without']}: see which"),
        icon="person_off",
        view="Ranking",
        without=[name],
    )
    st.header("Message to the worker")
    st.code(told["message"], language=None, wrap_lines=True)
