"""Items: a list of tasks, and one task with its labels."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.data.media import has_media
from crowdcore.exhibits import View
from dashboard import state
from dashboard.components import rated_tasks
from dashboard.components.exhibit import choose_columns, looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment, live
from dashboard.components.link import link
from dashboard.components.media import LARGE, cards, media
from dashboard.components.pickers import optional, picker
from dashboard.components.text import as_text, count, number, percent

SHARE = st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100)
FILTERS = ("show", "true", "given", "worker")


def draw() -> None:
    """Draw the page: one task if the address names one, else the list."""
    one() if state.get("task") else listing()


@fragment
def listing() -> None:
    """Filters, gallery and table; a row of the table opens the page of its task."""
    if state.get("task"):
        st.rerun()
    heading()
    dataset, view = state.get("dataset"), looked_at()
    with st.container(horizontal=True):
        which = picker("Show", "show", exhibits.tasks.SHOWS, width=300)
        order = picker("Order", "sort", exhibits.tasks.SORTS, width=230)
        true = optional("True class", "true", view.classes, "Any class")
        given = optional("Given label", "given", view.classes, "Any label")
        worker = optional("Worker", "worker", view.listed, "Anyone")
    listed = exhibits.tasks.tasks(view, which, true, given, worker, order)
    frame = listed.table
    with live("listed"):
        if not len(frame):
            st.info("No task matches these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
            return
        st.caption(f"{count(len(frame), view.dataset.task_noun)}, {as_text(exhibits.tasks.SORTS[order].lower())}.")
    if has_media(view.dataset):
        chosen = {key: state.get(key) for key in FILTERS}
        cards(frame, lambda row: f"{row['most_given']} · {percent(row['share'], 0)}", "gallery", **chosen)
    given_to = {"true": true, "given": given, "workers": state.get("worker")}
    link(
        "review", "Review and mark these tasks", by="task", show="disputed" if which == "disputed" else None, **given_to
    )
    show(listed, "tasks", file=f"{dataset}-tasks", noun="task", rows=14, limits="")


def one() -> None:
    """One task: the item, the labels it got, and who gave them."""
    dataset, view, name = state.get("dataset"), looked_at(), state.get("task")
    links(view)
    heading(as_text(exhibits.tasks.task_title(view.dataset, name)))
    number_of, facts = exhibits.tasks.task_number(view.dataset, name), exhibits.tasks.task(view, name).table.iloc[0]
    if view.dataset.sentences is not None:
        sentence = exhibits.mistakes.sentence_tags(view, name)
        show(sentence, "sentence", file=f"{dataset}-{name}-sentence", noun="tagging", rows=12)
    left, right = st.columns([2, 3], gap="large")
    with left:
        if not has_media(view.dataset) and view.dataset.sentences is None:
            st.caption("This dataset has no images, texts or sounds of its items.")
        media(dataset, number_of, LARGE)
        with st.container(horizontal=True):
            st.metric(as_text(view.reference), as_text(facts[view.reference]))
            st.metric("Most given", as_text(facts["most given"]))
            wrong = "Wrong labels" if view.truth.checked else f"Labels against {view.reference}"
            st.metric(as_text(wrong), percent(facts["wrong"], 0))
            st.metric("Entropy (nats)", number(facts["entropy"]))
            if "difficulty" in facts:
                meaning = as_text(exhibits.aggregation.of_tasks(view.reference))
                st.metric("Difficulty", number(facts["difficulty"]), help=meaning)
                if "foil" in facts:
                    st.metric("Foil", as_text(facts["foil"] or "none"), help=meaning)
        link("review", "Mark this task", by="task", task=name)
    with right:
        if not facts["annotations"]:
            st.info("No worker has labelled this task.")
            return
        answers = exhibits.tasks.task_answers(view, name).table
        shares = ["share of labels", view.reference]
        answers = answers.assign(**{share: 100 * answers[share] for share in shares})
        st.dataframe(answers, hide_index=True, column_config=dict.fromkeys(shares, SHARE), placeholder="–")
        choose_columns(view)
        show(exhibits.tasks.task_labels(view, name), "labels", file=f"{dataset}-{name}-labels", noun="label")


def links(view: View) -> None:
    """Links back to the list and the heatmap's cell, and to the sentences beside a token's."""
    true, given = state.get("true"), state.get("given")
    chosen = {key: state.get(key) for key in FILTERS}
    with st.container(horizontal=True):
        link("tasks", "All tasks", icon="arrow_back", **chosen)
        if true and given:
            link("mistakes", as_text(f"{true} labelled {given}"), true=true, given=given)
        before, after = exhibits.tasks.sentences_beside(view.dataset, state.get("task"))
        if before:
            link("tasks", "Previous sentence", icon="navigate_before", task=before, **chosen)
        if after:
            link("tasks", "Next sentence", icon="navigate_next", task=after, **chosen)


page("tasks", draw, ratings=rated_tasks.draw)
