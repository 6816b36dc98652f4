"""Tasks: the items to look at, and what the workers said about one of them."""

import streamlit as st

from dashboard import services, state
from dashboard.components.frame import hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.media import LARGE, cards, media
from dashboard.components.pickers import named, optional
from dashboard.components.table import table
from dashboard.components.text import as_text, count, number, percent

SHARE = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
FILTERS = ("show", "true", "given", "worker")


def draw() -> None:
    """The page: one task if the address names one, else the list."""
    one() if state.get("task") else listing()


@fragment
def listing() -> None:
    """Filters, gallery and table; a row of the table opens the page of its task."""
    if state.get("task"):
        st.rerun()
    st.title("Tasks")
    dataset = state.get("dataset")
    with st.container(horizontal=True):
        show = named("Show", "show", services.SHOWS, width=300)
        chosen = filters()
    found = services.task_list(dataset, state.get("reference"), show, *chosen)
    if not len(found):
        st.info("No task passes these filters. Clear one of them to see more.", icon=":material/filter_alt_off:")
        return
    st.caption(f"{count(len(found), 'task')}, the most disputed first.")
    if services.has_media(dataset):
        captions = [
            f"{most} · {percent(share, 0)}" for most, share in zip(found["most_given"], found["share"], strict=True)
        ]
        cards(dataset, found.index.tolist(), captions, "gallery", **{key: state.get(key) for key in FILTERS})

    def opened(task: int) -> None:
        state.put(task=str(services.dataset(dataset).task_ids[task]))

    table(found, "tasks", name=f"{dataset}-tasks", noun="task", rows=14, on_row=opened)


def filters() -> tuple[int | None, int | None, int | None]:
    """True class, given label and worker, as far as they are chosen."""
    classes = services.dataset(state.get("dataset")).classes
    workers = services.workers(state.get("dataset"), hidden_names())
    return (
        optional("True class", "true", classes, "Any class"),
        optional("Given label", "given", classes, "Any label"),
        optional("Worker", "worker", workers, "Anyone"),
    )


def one() -> None:
    """One task: the item, the labels it got, and who gave them."""
    dataset, reference, name = state.get("dataset"), state.get("reference"), state.get("task")
    links()
    st.title(as_text(name))
    task = services.task_number(dataset, name)
    if task is None:
        st.error(f"{as_text(dataset)} has no task {as_text(repr(name))}. Go back to all tasks and choose one.")
        return
    found = services.disagreement(dataset, reference)
    labels = services.task_labels(dataset, reference, task, hidden_names())
    left, right = st.columns([2, 3], gap="large")
    with left:
        if not services.has_media(dataset):
            st.caption("This dataset brings no image, text or sound of its items.")
        media(dataset, task, LARGE)
        classes = (*services.dataset(dataset).classes, "unknown")
        with st.container(horizontal=True):
            st.metric(as_text(reference), as_text(classes[found.reference_label[task]]))
            st.metric("Most given", as_text(classes[found.winner[task]] if len(labels) else "–"))
            st.metric("Wrong labels", percent(found.wrong[task], 0))
            st.metric("Entropy (nats)", number(found.entropy[task]))
    with right:
        if not len(labels):
            st.info("No worker has labelled this task.")
            return
        answers = services.task_answers(dataset, reference, task)
        st.dataframe(answers, hide_index=True, column_config={"share of labels": SHARE, reference: SHARE})
        table(labels, "labels", name=f"{dataset}-{name}-labels", noun="label")


def links() -> None:
    """Back to where the task came from: the cell of the heatmap, the list."""
    true, given = state.get("true"), state.get("given")
    view = {key: state.get(key) for key in FILTERS}
    back = state.address("tasks", **view)
    with st.container(horizontal=True):
        st.page_link("views/tasks.py", label="All tasks", icon=":material/arrow_back:", query_params=back)
        if true and given:
            st.page_link(
                "views/mistakes.py",
                label=as_text(f"{true} labelled {given}"),
                icon=":material/grid_on:",
                query_params=state.address("mistakes", true=true, given=given),
            )


page("tasks", draw)
