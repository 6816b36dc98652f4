"""What a run recovered, in words: the largest shared confusions beside the observed ones, and names in doubt."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crowdcore import exhibits
from dashboard.components.link import link
from dashboard.components.recovered.choice import Choice
from dashboard.components.text import as_text, count, percent


def sentences(choice: Choice) -> None:
    """Names in doubt, then the largest shared confusions, each a link to its tasks."""
    view = choice.view
    at_risk = exhibits.recovered.at_risk_in_words(view)
    if at_risk:
        st.warning(as_text(at_risk), icon=":material/warning:")
    if view.at == 0 or exhibits.recovered.unmoved_in_words(view, -1 if exhibits.confusions.commons(view) else None):
        return  # the largest cells of a start say nothing about the workers
    found = exhibits.confusions.largest_confusions(view)
    if not len(found.table):
        return
    with st.container(border=True, gap="xsmall"):
        st.markdown(as_text(found.notes[0]))
        for row in found.table.to_dict("records"):
            _line(row)


def _line(row: dict[Any, Any]) -> None:
    """One confusion with its tasks one click away."""
    words = [f"truth {percent(row['true share'])}"] if row.get("true share", float("nan")) >= 0 else []
    if row["observed share"] >= 0:
        words.append(f"observed: {percent(row['observed share'])} of the labels on {row['true']} tasks")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        link(
            "tasks",
            as_text(f"{row['true']} → {row['given']} ({count(row['tasks'], 'task')})"),
            true=row["true"],
            given=row["given"],
        )
        st.markdown(" · ".join([f"**{percent(row['share'])}**", *map(as_text, words)]))
