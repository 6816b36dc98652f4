"""What a run recovered, in words: the largest shared confusions beside the observed ones, and names in doubt."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard import services, state
from dashboard.components.exhibit import looked_at
from dashboard.components.recovered.choice import Choice
from dashboard.components.text import as_text, count, percent

__all__ = ["sentences"]


def sentences(choice: Choice) -> None:
    """Names in doubt, then the largest shared confusions, each a link to its tasks."""
    dataset, reference, view = state.get("dataset"), state.get("reference"), choice.view
    classes = services.dataset(dataset).classes
    at_risk = services.recovered.at_risk(dataset, view)
    if at_risk:
        listed = "; ".join(f"{classes[b]} on tasks that are {classes[a]}" for a, b in at_risk[:5])
        st.warning(
            as_text(
                f"Labels alone cannot name these classes: by the recovered matrices the most frequent label is {listed}"
                f"{f', and {len(at_risk) - 5} more' if len(at_risk) > 5 else ''}. Without gold on validation to match "
                "the classes, such names may be swapped."
            ),
            icon=":material/warning:",
        )
    common = -1 if services.panels.commons(dataset, view) else None
    if view.at == "0" or services.recovered.unmoved_in_words(services.dataset(dataset), view, common):
        return  # the largest cells of a start say nothing about the workers
    found = services.confusions.largest(dataset, reference, view)
    if not len(found.recovered):
        return
    who = "The model's common confusion" if common else "The workers' mean confusion"
    who += f" ({services.recovered.recovered(dataset, view).combined})"
    n = len(found.observed)
    with st.container(border=True, gap="xsmall"):
        st.markdown(
            f"{who} has **{found.both} of the {n} largest confusions** that the labels show among its own "
            f"{len(found.recovered)} largest:"
            if n
            else f"{who}: its {len(found.recovered)} largest confusions."
        )
        for true, given in found.recovered.tolist():
            _line(choice, found.recovered_share[true, given], found.observed_share[true, given], true, given)


def _line(choice: Choice, learnt: float, observed: float, true: int, given: int) -> None:
    """One confusion with its tasks one click away."""
    dataset = state.get("dataset")
    classes = services.dataset(dataset).classes
    n = len(exhibits.tasks.tasks(looked_at(), "all", classes[true], classes[given]).table)
    planted = services.confusions.planted(dataset, choice.view, true, given)
    words = [f"**{percent(learnt)}**", f"truth {percent(planted)}" if planted == planted else ""]
    if observed == observed:
        words.append(f"observed: {percent(observed)} of the labels on {classes[true]} tasks")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link(
            "views/tasks.py",
            label=as_text(f"{classes[true]} → {classes[given]} ({count(n, 'task')})"),
            query_params=state.address("tasks", true=classes[true], given=classes[given]),
            icon=":material/list_alt:",
        )
        st.markdown(" · ".join(w if w.startswith("**") else as_text(w) for w in words if w))
